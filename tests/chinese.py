"""What tests of both languages look for: Chinese characters, and English that was left behind."""

from __future__ import annotations

import re

CHINESE = re.compile(r"[\u4e00-\u9fff]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_PYYAML = re.compile(r"(?<=YAML：).*")
_WORDS = re.compile(r"\b(?:[A-Za-z]{2,}|a) [a-z]{2,}")


def english_in(line: str) -> list[str]:
    """English words in a row; quoted values and what PyYAML says do not count.

    >>> english_in("实际值：'so it is'；应为：a number, or null")
    ['a number', 'or null']
    """
    return _WORDS.findall(_PYYAML.sub("", _QUOTED.sub("", line)))
