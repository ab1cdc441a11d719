"""Where ClipFit lives, and the links by which a measurement gets there. A fork changes it here."""

from __future__ import annotations

from urllib.parse import quote, urlencode

REPOSITORY = "https://github.com/clipfit/clipfit"
"""The one place with the repository's address; everything else is made from it."""

BRANCH = "main"
LINK_LIMIT = 7_000
"""GitHub answers longer addresses with an error (8 kB with its own headers); measured in bytes."""


def upload_link(file: str) -> str:
    """GitHub's upload page for the folder of a run; `file` is `<card>/<name>.yaml`.

    >>> upload_link("rtx-4090-24gb/a.yaml")
    'https://github.com/clipfit/clipfit/upload/main/measurements/runs/rtx-4090-24gb'
    """
    return f"{REPOSITORY}/upload/{BRANCH}/measurements/runs/{quote(file.rpartition('/')[0])}"


def new_file_link(file: str, text: str) -> str | None:
    """GitHub's page with the file filled in, or None where the link would be too long for it."""
    folder, _, name = file.rpartition("/")
    query = urlencode({"filename": name, "value": text}, quote_via=quote)
    link = f"{REPOSITORY}/new/{BRANCH}/measurements/runs/{quote(folder)}?{query}"
    return link if len(link) <= LINK_LIMIT else None


def issue_link(template: str, **fields: str) -> str:
    """A new issue on one of the forms of .github/ISSUE_TEMPLATE, with some fields filled in.

    >>> issue_link("wrong-figure.yml", page="memory of a 4090")
    'https://github.com/clipfit/clipfit/issues/new?template=wrong-figure.yml&page=memory%20of%20a%204090'
    """
    query = urlencode({"template": template, **fields}, quote_via=quote)
    link = f"{REPOSITORY}/issues/new?{query}"
    return link if len(link) <= LINK_LIMIT else f"{REPOSITORY}/issues/new?template={template}"


def file_link(path: str) -> str:
    """A file of the repository as GitHub shows it.

    >>> file_link("measurements/README.md")
    'https://github.com/clipfit/clipfit/blob/main/measurements/README.md'
    """
    return f"{REPOSITORY}/blob/{BRANCH}/{quote(path)}"
