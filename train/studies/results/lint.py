"""Hand-written prose that compares systems or states measured figures: generated parts are the place for both."""

from __future__ import annotations

import re
from collections.abc import Iterator

from srd_agents.registry import RANKERS

_SYSTEMS = (
    *("MMR", "MSD", "DPP", "xQuAD", "PM-2", "MDP-DIV", "M2Div", "MA4DIV", "QMIX", "NTN-DIV", "DALETOR", "MO4SRD"),
    *("R-LTR", "PAMM", "SGDMM", "ListMLE", "StructSVM", "SVM-DIV", "DESA", "REINFORCE", "PPO", "MaskablePPO"),
    *("ReturnOnly", "oracle", "pyversity", "ndeval", "Stable-Baselines3", "RLlib", "Tianshou", "TorchRL", "CleanRL"),
)
_NAME = "|".join(rf"(?<![\w-]){re.escape(one)}(?![\w-])" for one in (*_SYSTEMS, *RANKERS) if one != "safe")
_NAME += "|`safe`"
"""`safe` is a word of its own without backticks; in stored rows it has its former name."""
_NAMED = re.compile(_NAME)
_OVER = re.compile(
    r"(?i:\b(?:is|are|was|were|be|far|well|clearly|not|ends?|ended|lies?|stands?|stays?|ranks?|scores?|comes?|came|\w+ly)"
    rf" (?:above|below)\b)|\b(?:above|below) (?:`?(?:{_NAME})|(?:it|them|both|all|each|every|random|\d)\b)"
)
"""Above and below as verdicts; "the table below" is none."""
_COMPARED = re.compile(
    r"(?i)\b(better|worse|(is|are|was|were|ranks?|does|works?) (the )?(best|worst)|beats?|beaten|outperform\w*"
    r"|surpass\w*|outranks?|exceeds?|superior|inferior|ahead of|falls? behind|leads? (?!to)|trails"
    r"|level with|on a par|as good as|wins?|won|loses?|lost|higher|highest|lower|lowest|stronger|strongest|weaker"
    r"|weakest|faster|fastest|slower|slowest|(not|no|never|nor) (\w+ )?significant\w*|significantly|reproduce[sd]?)\b"
)
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w]|\.\d)")
"""A number with decimals, no part of a name or of a version with three parts."""
_ALLOWED = re.compile(
    r"(?i)\b(python|version|since|before|from|torch|numpy|gymnasium|pettingzoo|ray|section|figure|srd[-_]gym) \d+\.\d+"
    r"|\b3\.1\d\b(?! %)|\b(CC[ -]BY[-A-Z]*|CDLA-Sharing|Apache) \d\.\d|\b\d+\.\d+ [GM]B\b|^#+ \[?\d+\.\d+"
)
"""Versions, licences, sizes of downloads."""
_LEFT_OUT = (
    r"<!--.*?-->",
    r"^( *)(`{3,}|~{3,}).*?^ *\2`*$",
    r"(?<=\n\n)( {4}[^\n]*\n?)+",
    r"\$\$.*?\$\$|\$[^$\n]+\$",
    r"(?<=\])\([^)\s]*\)",
)
_SENTENCE = re.compile(r"(?<=[.;:!?])\s+(?![a-z]*\d)|\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) )|\n(?=\|)")
_MOST = 160


def faults(text: str) -> Iterator[str]:
    """Sentences that compare systems, and decimals outside code.

    Args:
        text: of a page, without its generated parts.
    """
    for pattern in _LEFT_OUT:
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    for sentence in _SENTENCE.split(text):
        words = " ".join(sentence.replace("*", "").split())
        found = _COMPARED.search(re.sub(r"`[^`]*`", " ", words)) or _OVER.search(words)
        if found and _NAMED.search(words):
            yield f'a comparison by hand ("{found[0]}"): {words[:_MOST]}'
        if number := _DECIMAL.search(_ALLOWED.sub(" ", re.sub(r"`[^`]*`", " ", words))):
            yield f"a decimal by hand ({number[0]}): {words[:_MOST]}"
