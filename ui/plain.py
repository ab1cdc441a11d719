"""Text from outside, shown as it is: never read as Markdown or HTML."""

from __future__ import annotations


def code(value: object, limit: int = 120) -> str:
    """A value as one Markdown code span: no link, image, colour or formula can come out of it.

    >>> code("![x](http://example.com/a.png)")
    '`![x](http://example.com/a.png)`'
    >>> code("a`b\\nc")
    "`a'b c`"
    >>> code("")
    '` `'
    """
    text = " ".join(str(value).replace("`", "'").split()) or " "
    return f"`{text[: limit - 1]}…`" if len(text) > limit else f"`{text}`"
