"""`bench submit`: from a measured file to the page on which it becomes a pull request.

The file is checked first, exactly as the pull request will be. Then the link to GitHub's upload
page for the right folder is printed; with `--hub REPO` a pull request is opened on a Hugging Face
dataset instead.
"""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from bench import check
from bench.check import Checked, Context, printable
from calc import measurements, repository, runs

REVIEW_KEY = "review"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `submit`."""
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="default: the newest run here"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument(
        "--hub", metavar="REPO", help="open a pull request on this Hugging Face dataset instead"
    )


def main(args: argparse.Namespace) -> int:
    """Check the file and say where it goes; 1 if it would be refused."""
    path = args.file or newest_run()
    checked = prepared(path, Context.load())
    for line in checked.findings.warnings:
        print(f"warning: {printable(line)}")
    if checked.findings.problems:
        for line in checked.findings.problems:
            print(printable(line), file=sys.stderr)
        print("The file would be refused for the reasons above; nothing was sent.", file=sys.stderr)
        return 1
    print(check.summary([checked]))
    file = runs.file_name(measurements.read_tree(path))
    return _to_hub(path, file, args.hub) if args.hub else _to_github(path, file, args.open)


def newest_run() -> Path:
    """The run that was written last; ValueError where there is none."""
    paths = list(measurements.run_paths())
    if not paths:
        raise ValueError(
            "there is no run in measurements/runs; make one with `python -m bench run`"
        )
    return max(paths, key=lambda path: path.stat().st_mtime)


def prepared(path: Path, context: Context) -> Checked:
    """The file after its checks; one outside the band is marked `review: pending` on the way."""
    checked = check.check_file(path, context)
    only_review = checked.is_outside and all(
        f": {REVIEW_KEY}: is none" in line for line in checked.findings.problems
    )
    if only_review and checked.findings.problems:
        mark_pending(path)
        print(
            f"{path.name}: some rows lie outside the band of the prediction, so it is marked "
            "`review: pending`: it will be shown, and used once a second run agrees."
        )
        return check.check_file(path, context)
    return checked


def mark_pending(path: Path) -> None:
    """Write `review: pending` into a file, in one step; its name stays the same."""
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(f"{REVIEW_KEY}:")]
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text("\n".join([*kept, f"{REVIEW_KEY}: pending", ""]), encoding="utf-8")
    os.replace(temporary, path)


def _to_github(path: Path, file: str, open_page: bool) -> int:
    link = repository.new_file_link(file, path.read_text(encoding="utf-8"))
    if link is None:
        link = repository.upload_link(file)
        print(f"\nDrop {path} on this page and press the green button:\n{link}")
    else:
        print(f"\nThis page has the file filled in; press the green button:\n{link}")
    print(f"It goes to measurements/runs/{file}, under CC0-1.0.")
    if open_page:
        webbrowser.open(link)
    return 0


def _to_hub(path: Path, file: str, repo: str) -> int:
    """Open a pull request on a dataset of the Hugging Face Hub."""
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    operation = CommitOperationAdd(path_in_repo=f"runs/{file}", path_or_fileobj=path.read_bytes())
    try:
        commit = HfApi().create_commit(
            repo_id=repo,
            repo_type="dataset",
            operations=[operation],
            commit_message=f"Add {Path(file).name}",
            create_pr=True,
        )
    except HfHubHTTPError as error:
        print(f"The Hub refused it: {printable(str(error).splitlines()[0])}", file=sys.stderr)
        print("Log in with `hf auth login`, or check the name of the dataset.", file=sys.stderr)
        return 1
    print(f"\nOpened {commit.pr_url}")
    return 0
