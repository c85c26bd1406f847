"""The prose of Markdown pages: what is left without code, generated parts, comments and formulas."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from studies.claims.claim import DECIMAL

_LEFT_OUT = (
    r"<!--.*?-->",
    r"^( *)(`{3,}|~{3,}).*?^ *\2`*$",
    r"\$\$.*?\$\$|\$[^$\n]+\$",
)
_AROUND = 40


def prose(text: str, parts: Collection[str]) -> str:
    """A page as one line: without code blocks, generated parts, comments and formulas; of links the words.

    Code within lines and the bars of tables stay.

    Args:
        text: of the page.
        parts: names of the parts that are generated; what stands between other marks is prose.
    """
    for name in parts:
        text = re.sub(
            rf"<!-- {re.escape(name)}: begin -->.*?<!-- {re.escape(name)}: end -->", " ", text, flags=re.DOTALL
        )
    for pattern in _LEFT_OUT:
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    return plain(text)


def plain(text: str) -> str:
    """Text without emphasis, addresses of links and line ends: how a sentence is looked for."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    return " ".join(text.replace("*", "").split())


def decimals(text: str, sentences: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """The numbers with decimals that stand in a page's prose alone, each with the words around it.

    Args:
        text: the page's prose.
        sentences: of claims, and texts that are allowed.
        patterns: regular expressions of what is allowed besides.
    """
    for sentence in sorted(map(plain, sentences), key=len, reverse=True):
        text = text.replace(sentence, " ... ")
    text = re.sub(r"`[^`]*`", " ", text)
    for pattern in patterns:
        text = re.sub(pattern, " ", text)
    for number in DECIMAL.finditer(text):
        start = max(0, number.start() - _AROUND)
        yield f'{number[0]} in "...{text[start : number.end() + _AROUND]}..."'
