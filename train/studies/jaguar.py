"""The picture of the first page: "jaguar" before and after. `python -m studies.jaguar` writes it.

The candidates are those of the collection `words`. One SVG serves light and dark pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from srd_agents import diversify
from srd_gym import load_topics
from srd_train.report.markup import write_text

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "jaguar.svg"
NAMES = (
    "Jaguar cars",
    "jaguar, the big cat",
    "Jacksonville Jaguars football",
    "Atari Jaguar console",
    "Fender Jaguar guitar",
    "Mac OS X Jaguar",
    "SEPECAT Jaguar aircraft",
)
"""What the query may mean, as a user or a language model would name it."""
_SHOWN, _LINE, _WIDTH, _TOP = 8, 30, 460, 74
_CHIPS = ("#0072B2", "#A04000", "#00694E", "#8E4585", "#7A5C00", "#1F6F8B", "#595959")
"""Colours of the subtopics, dark enough for white letters."""
_STYLE = """text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.head { font-weight: 600; font-size: 16px } .small { font-size: 12px; fill: #59636e }
.chip { font-size: 11px; font-weight: 600; fill: #ffffff } .page { fill: #ffffff; stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .small { fill: #9198a1 } .chip { fill: #ffffff }
.page { fill: #0d1117; stroke: #3d444d } }"""


def drawn() -> str:
    """Draw the first results before and after `diversify`, as SVG text."""
    topic = load_topics("words").select(["jaguar"])[0]
    after = diversify(
        texts=topic.doc_texts, query_text=topic.query_text, scores=topic.retrieval_scores, subtopics=NAMES, k=_SHOWN
    )
    lists = (("Initial ranking", range(_SHOWN)), ("Diversified", after.indices.tolist()))
    parts = [part for place, (head, ranking) in enumerate(lists) for part in _column(place, head, topic, ranking)]
    width, height = 2 * _WIDTH + 60, _TOP + _SHOWN * _LINE + 20
    label = "Results for jaguar before and after diversification"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>\n"])


def _column(place: int, head: str, topic: Any, ranking: Sequence[int]) -> list[str]:
    """Draw one list: a head with its coverage, then a line per result with a chip per subtopic."""
    left = 20 + place * (_WIDTH + 20)
    covered = np.flatnonzero(topic.judgments[list(ranking)].any(axis=0))
    found = [
        f'<rect class="page" x="{left}" y="10" width="{_WIDTH}" height="{_TOP + _SHOWN * _LINE}" rx="8"/>',
        f'<text class="head" x="{left + 16}" y="38">{head}</text>',
        f'<text class="small" x="{left + 16}" y="58">the first {_SHOWN} results for "jaguar" cover '
        f"{len(covered)} of {len(topic.subtopic_ids)} meanings</text>",
    ]
    for rank, index in enumerate(ranking):
        y = _TOP + 16 + rank * _LINE
        title = shorten(topic.doc_texts[index].split("\n", 1)[0], 44, placeholder=" …")
        found.append(f'<text x="{left + 98}" y="{y}">{escape(title)}</text>')
        for subtopic in np.flatnonzero(topic.judgments[index])[:1]:
            found.append(
                f'<rect x="{left + 16}" y="{y - 14}" width="70" height="19" rx="9" fill="{_CHIPS[subtopic]}"/>'
                f'<text class="chip" x="{left + 51}" y="{y - 1}" text-anchor="middle">'
                f"{escape(topic.subtopic_ids[subtopic])}</text>"
            )
    return found


if __name__ == "__main__":
    write_text(PICTURE, drawn())
