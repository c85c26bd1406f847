"""The picture of the design page: three packages and what flows between them. `python -m studies.architecture`.

One SVG serves light and dark pages.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from srd_gym.files import written_atomically
from studies.figures import svg

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "architecture.svg"
LABEL = (
    "srd_gym turns data into topics, measures and environments; srd_agents ranks; srd_train runs experiments, and "
    "writes runs, tables and reports"
)
PACKAGES = (
    ("srd_train", "experiments", ("the command srd", "benchmarks", "statistics", "reports")),
    ("srd_agents", "rankers", ("heuristics", "supervised learners", "RL agents", "diversify, pipelines")),
    ("srd_gym", "the problem", ("topics, judgments", "measures", "simulators", "environments")),
)
"""Name, what it is, and its parts, from the top down: each imports only those below it."""
FLOWS = (("rankings, models", "topics, options"), ("observations, rewards", "actions, rankings"))
"""Labels of the arrows up and down between two neighbours, from the top."""
OUTSIDE = (("runs, tables,", "reports"), ("re-ranked", "results"), ("TREC files,", "texts, embeddings"))
"""Outputs of each package to users; for the last, its inputs."""
_LEFT, _WIDTH, _HEIGHT, _GAP, _TOP = 10, 420, 116, 58, 10
_COLOURS = ("#8E4585", "#0072B2", "#00694E")


def drawn() -> str:
    """Draw the picture, as SVG text."""
    parts = [
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#7d8590"/></marker></defs>'
    ]
    for place, (name, what, inside) in enumerate(PACKAGES):
        parts += _package(place, name, what, inside)
        if place < len(FLOWS):
            parts += _flow(place, *FLOWS[place])
    return svg(_LEFT + _WIDTH + 210, _TOP + 3 * _HEIGHT + 2 * _GAP + 10, LABEL, parts)


def _package(place: int, name: str, what: str, inside: tuple[str, ...]) -> list[str]:
    """Draw a package with its parts, and its exchange with the user."""
    top, colour = _TOP + place * (_HEIGHT + _GAP), _COLOURS[place]
    made = [
        f'<rect class="page" x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>',
        f'<text class="head" x="{_LEFT + 16}" y="{top + 27}">{name}</text>',
        f'<text class="small" x="{_LEFT + 136}" y="{top + 27}">{escape(what)}</text>',
    ]
    for number, part in enumerate(inside):
        x, y = _LEFT + 16 + number % 2 * 198, top + 40 + number // 2 * 35
        made += [
            f'<rect x="{x}" y="{y}" width="190" height="28" rx="6" fill="{colour}"/>',
            f'<text x="{x + 95}" y="{y + 19}" text-anchor="middle" style="fill:#ffffff">{escape(part)}</text>',
        ]
    ends = (_LEFT + _WIDTH + 4, _LEFT + _WIDTH + 52)
    middle = top + _HEIGHT // 2
    start, end = ends if place < len(PACKAGES) - 1 else ends[::-1]
    made.append(_arrow(start, middle, end, middle))
    for number, line in enumerate(OUTSIDE[place]):
        made.append(f'<text x="{ends[1] + 12}" y="{middle - 4 + 19 * number}">{escape(line)}</text>')
    return made


def _flow(place: int, up: str, down: str) -> list[str]:
    """Draw the two arrows below a package, and what they carry."""
    top = _TOP + place * (_HEIGHT + _GAP) + _HEIGHT
    middle = top + _GAP // 2 + 5
    return [
        _arrow(_LEFT + 30, top + _GAP - 4, _LEFT + 30, top + 4),
        f'<text x="{_LEFT + 42}" y="{middle}">{escape(up)}</text>',
        _arrow(_LEFT + 228, top + 4, _LEFT + 228, top + _GAP - 4),
        f'<text x="{_LEFT + 240}" y="{middle}">{escape(down)}</text>',
    ]


def _arrow(x: int, y: int, to_x: int, to_y: int) -> str:
    """Draw a line with a tip."""
    return f'<path d="M{x} {y}L{to_x} {to_y}" stroke="#7d8590" stroke-width="2" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    with written_atomically(PICTURE) as temporary:
        temporary.write_text(drawn(), encoding="utf-8")
    sys.stdout.write(f"{PICTURE}\n")
