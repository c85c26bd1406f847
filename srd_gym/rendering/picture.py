"""The picture of an episode: the ranking, what it covers, what each rank gained, and a map of the candidates.

Colours are Okabe and Ito's and one ramp of blues, which people with any colour vision tell apart; no colour stands
alone: cells hold counts, bars hold numbers, and the map's kinds of documents differ in shape or size too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from srd_gym.protocols import ScoreArray
from srd_gym.rendering.scene import Scene, map_of
from srd_gym.rendering.sheet import Box, Frame, Sheet
from srd_gym.rendering.text import clipped, first_line
from srd_gym.topic import Topic

WIDTH, HEIGHT = 1280, 720
MAX_ROWS = 20
"""Ranks shown at once; of a longer list its end."""
MAX_COLUMNS = 30
"""Subtopics shown."""

_INK, _GREY, _PALE, _FAINT, _RULE = "#1a1a1a", "#6b6b6b", "#c4c4c4", "#f4f6f8", "#e6eaee"
_BLUE, _ORANGE, _GREEN, _RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
_CELLS = ("#08519c", "#6baed6", "#c6dbef")
_CELL_INKS = ("#ffffff", "#0b2545", "#0b2545")
_MARKS: dict[str, tuple[float, dict[str, Any]]] = {
    "ranked": (1, {"facecolors": _BLUE, "edgecolors": "#ffffff"}),
    "ranked, not relevant": (1, {"facecolors": "#ffffff", "edgecolors": _BLUE}),
    "relevant": (1, {"facecolors": _ORANGE, "edgecolors": "#8a5f00", "alpha": 0.85}),
    "candidate": (1, {"facecolors": "none", "edgecolors": "#8c8c8c"}),
    "not relevant": (1, {"facecolors": "none", "edgecolors": "#8c8c8c"}),
    "off offer": (0.6, {"marker": "x", "color": "#9a9a9a"}),
    "query": (2, {"marker": "*", "facecolors": _INK, "edgecolors": "#ffffff"}),
}
"""How the map shows each kind of document: size and style."""
_LABEL: Box = (24, 176, 380, 460)
_GRID: Box = (412, 176, 330, 460)
_GAIN: Box = (762, 176, 130, 460)
_MAP: Box = (928, 176, 328, 380)
_FOOT = 684


@dataclass(frozen=True)
class _Layout:
    """Where the rows and columns of one topic's picture are."""

    rows: int
    columns: int
    row: float
    """Height of a row."""
    column: float
    """Width of a column."""

    @classmethod
    def of(cls, scene: Scene) -> _Layout:
        """The layout that fits the topic."""
        rows = min(max(scene.slots, 1), MAX_ROWS)
        columns = 0 if scene.covers is None else min(scene.topic.n_subtopics, MAX_COLUMNS)
        return cls(rows, columns, min(44.0, _GRID[3] / rows), min(34.0, _GRID[2] / max(columns, 1)))

    def top(self, row: int) -> float:
        """Where a visible row begins."""
        return _GRID[1] + row * self.row

    def middle(self, row: int) -> float:
        """The middle of a visible row."""
        return self.top(row) + self.row / 2

    def cell(self, row: int, column: int) -> Box:
        """A cell, with a gap to its neighbours."""
        return (_GRID[0] + column * self.column + 1, self.top(row) + 1, self.column - 2, self.row - 2)


class Picture:
    """Draws scenes; what stays the same within an episode is drawn once.

    Raises:
        ImportError: matplotlib is not installed.
    """

    def __init__(self) -> None:
        self._sheet = Sheet(WIDTH, HEIGHT)
        self._of: tuple[Topic, int] | None = None
        self._layout = _Layout(0, 0, 0, 0)
        self._places: tuple[ScoreArray, ScoreArray | None] | None = None

    def frame(self, scene: Scene) -> Frame:
        """[720, 1280, 3] uint8, the scene as a picture."""
        if self._of is None or self._of[0] is not scene.topic or self._of[1] != scene.slots:
            self._begin(scene)
        self._status(scene)
        first = max(0, len(scene.rows) - self._layout.rows)
        self._rows(scene, first)
        if self._layout.columns:
            self._cells(scene, first)
        self._gains(scene, first)
        self._map(scene)
        return self._sheet.frame()

    def _begin(self, scene: Scene) -> None:
        """Draw what does not change within an episode."""
        sheet, topic = self._sheet, scene.topic
        self._of = (topic, scene.slots)
        self._layout, self._places = layout, _ = _Layout.of(scene), _placed(topic)
        name = topic.query_id if topic.query_text is None else topic.query_text
        sheet.text(24, 38, _line(name, 48), size=26, fontweight="bold", within=(24, 10, 860, 56))
        told = f"query {clipped(topic.query_id, 24)}, {topic.n_candidates} candidates"
        told += f", {topic.n_subtopics} subtopics" if topic.labelled else ", unlabelled: no coverage, no gains"
        sheet.text(24, 74, told, size=15, color=_GREY)
        sheet.text(24, 158, "ranking", color=_GREY)
        sheet.boxes([(24.0, layout.top(row), 868.0, layout.row) for row in range(0, layout.rows, 2)], _FAINT)
        if layout.columns:
            self._columns(topic)
            self._cell_legend()
        self._map_frame(topic)
        sheet.keep()

    def _columns(self, topic: Topic) -> None:
        """Name the subtopics above their columns."""
        layout, names = self._layout, topic.subtopic_texts or topic.subtopic_ids
        size = min(13.0, layout.column - 1)
        for column in range(layout.columns):
            x, name = _GRID[0] + (column + 0.5) * layout.column + size / 3, _line(names[column], 15)
            self._sheet.text(x, 172, name, size=size, color=_GREY, turned=50, within=(400, 84, 500, 92))
        if topic.n_subtopics > layout.columns:
            self._sheet.text(400, 158, f"+{topic.n_subtopics - layout.columns}", size=12, color=_GREY, ha="right")
        cells = [layout.cell(row, column) for row in range(layout.rows) for column in range(layout.columns)]
        self._sheet.boxes(cells, "#ffffff", edge=_RULE)
        self._sheet.text(_GAIN[0], 158, "gain", color=_GREY)

    def _cell_legend(self) -> None:
        """Say what the cells mean."""
        x = float(_GRID[0])
        for shade, ink, count, means in zip(_CELLS, _CELL_INKS, "123", ("new", "again", "and more"), strict=True):
            self._sheet.boxes([(x, _FOOT - 9, 18, 18)], shade)
            self._sheet.text(x + 9, _FOOT, count, size=12, color=ink, ha="center")
            self._sheet.text(x + 24, _FOOT, means, size=12, color=_GREY)
            x += 36 + 8 * len(means)
        self._sheet.text(_LABEL[0], _FOOT, "cells count the documents on a subtopic so far:", size=12, color=_GREY)

    def _status(self, scene: Scene) -> None:
        """How far the list is, and what it is worth."""
        self._sheet.text(1256, 30, f"rank {len(scene.rows)} of {scene.slots}", size=18, ha="right")
        for place, (name, value) in enumerate(list(scene.measures.items())[:2]):
            said = _short(name)
            self._sheet.text(
                1256,
                60 + 26 * place,
                f"{said} = {value:.4f}",
                size=18,
                ha="right",
                fontweight="normal" if place else "bold",
            )

    def _rows(self, scene: Scene, first: int) -> None:
        """Ranks, scores and documents."""
        sheet, layout = self._sheet, self._layout
        if scene.waiting:
            sheet.text(_LABEL[0] + 34, layout.middle(0), scene.waiting, color=_GREY)
        if scene.rows and not scene.waiting:
            last = layout.top(len(scene.rows) - first - 1)
            sheet.boxes([(_LABEL[0] - 8, last + 3, 4, layout.row - 6)], _BLUE)
        for place, row in enumerate(scene.rows[first:]):
            y = layout.middle(place)
            sheet.text(_LABEL[0] + 24, y, str(first + place + 1), size=min(15, layout.row * 0.7), ha="right")
            if row.candidate < 0:
                sheet.text(_LABEL[0] + 36, y, "wasted: the document was not on offer", size=13, color=_RED)
                continue
            left = _LABEL[0] + 36
            if row.score is not None:
                sheet.text(left + 26, y, str(row.score), size=13, color=_BLUE, ha="right", fontweight="bold")
                left += 36
            self._document(scene.topic, row.candidate, left, place)

    def _document(self, topic: Topic, candidate: int, left: float, place: int) -> None:
        """A document's text above its id, or one of them where rows are low."""
        layout = self._layout
        y, box = layout.middle(place), (left, layout.top(place), _GRID[0] - 10 - left, layout.row)
        size = min(14, layout.row * 0.62)
        if topic.doc_texts is None:
            self._sheet.text(left, y, clipped(topic.doc_ids[candidate], 48), size=size, within=box)
            return
        text = _line(first_line(topic.doc_texts[candidate]), 64)
        if layout.row < 34:
            self._sheet.text(left, y, text, size=size, within=box)
            return
        self._sheet.text(left, y - 8, text, size=13, within=box)
        self._sheet.text(left, y + 10, clipped(topic.doc_ids[candidate], 48), size=11, color=_GREY, within=box)

    def _cells(self, scene: Scene, first: int) -> None:
        """What each document covers, and below how often each subtopic is covered."""
        layout, sheet, every = self._layout, self._sheet, scene.counts()
        size = min(13.0, layout.column - 3, layout.row * 0.62)
        for (row, column), count in np.ndenumerate(every[first:, : layout.columns]):
            if count:
                shade = min(int(count), 3) - 1
                sheet.boxes([layout.cell(row, column)], _CELLS[shade])
                x = _GRID[0] + (column + 0.5) * layout.column
                sheet.text(x, layout.middle(row), str(count), size=size, color=_CELL_INKS[shade], ha="center")
        covered = (every > 0).any(axis=0)
        told = f"{int(covered.sum())} of {scene.topic.n_subtopics} subtopics covered"
        sheet.text(_GRID[0], layout.top(layout.rows) + 18, told, fontweight="bold")

    def _gains(self, scene: Scene, first: int) -> None:
        """A bar a rank, as long as its gain is against the largest so far."""
        gains = [row.gain for row in scene.rows if row.gain is not None]
        if not gains:
            return
        layout, scale = self._layout, max(map(abs, gains)) or 1.0
        for place, row in enumerate(scene.rows[first:]):
            if row.gain is None:
                continue
            y, length = layout.middle(place), (_GAIN[2] - 48) * abs(row.gain) / scale
            self._sheet.boxes(
                [(_GAIN[0], y - layout.row / 4, length, layout.row / 2)], _GREEN if row.gain >= 0 else _RED
            )
            told, ink, gap = (f"{row.gain:.3f}", _INK, 6) if row.gain else ("0", _GREY, 0)
            self._sheet.text(_GAIN[0] + length + gap, y, told, size=min(13, layout.row * 0.62), color=ink)

    def _map_frame(self, topic: Topic) -> None:
        """The map's frame, title and legend."""
        left, top, width, height = _MAP
        sheet = self._sheet
        sheet.text(left, 158, "candidates, their vectors in two dimensions", color=_GREY)
        sheet.boxes([(left, top, width, height)], "#ffffff", edge=_PALE)
        if self._places is None:
            sheet.text(left + width / 2, top + height / 2, "no vectors", color=_GREY, ha="center")
            return
        kinds = ["ranked", "relevant", "ranked, not relevant", "not relevant", "query", "off offer"]
        if not topic.labelled:
            kinds = ["ranked", "candidate", "query", "off offer"]
        for place, kind in enumerate(kinds):
            x, y = left + 12 + 172 * (place % 2), top + height + 26 + 26 * (place // 2)
            self._marks(kind, np.array([[x, y]]), 7.0)
            sheet.text(x + 16, y, kind, size=13, color=_GREY)

    def _marks(self, kind: str, points: ScoreArray, radius: float | ScoreArray) -> None:
        """Documents of one kind on the map."""
        share, style = _MARKS[kind]
        self._sheet.dots(points, share * np.asarray(radius), **style)

    def _map(self, scene: Scene) -> None:
        """All candidates, the ranked ones numbered in their order, and the query."""
        if self._places is None:
            return
        points, query = self._places
        size = 5.0 if len(points) <= 60 else 4.0 if len(points) <= 200 else 3.0
        many = np.zeros(len(points)) if scene.covers is None else scene.covers.sum(axis=1)
        ranked = [row.candidate for row in scene.rows if row.candidate >= 0]
        rest = np.ones(len(points), np.bool_)
        rest[ranked] = False
        # What matters most comes last, on top.
        on_offer, relevant = rest & scene.offered, many > 0
        self._marks("not relevant", points[on_offer & ~relevant], size)
        self._marks("relevant", points[on_offer & relevant], size + np.minimum(many[on_offer & relevant], 4))
        self._marks("off offer", points[rest & ~scene.offered], size)
        if query is not None:
            self._marks("query", query[None], 7.0)
        self._ranked_marks(scene, points)

    def _ranked_marks(self, scene: Scene, points: ScoreArray) -> None:
        """The ranked documents, first ranks on top; long lists have numbers on the first ranks only."""
        ranked = [(rank, row.candidate) for rank, row in enumerate(scene.rows, start=1) if row.candidate >= 0]
        shown = ranked[:MAX_ROWS]
        self._sheet.line(points[[candidate for _, candidate in shown]], _BLUE, 0.8)
        self._marks("ranked", points[[candidate for _, candidate in ranked[MAX_ROWS:]]], 3.0)
        for rank, candidate in reversed(shown):
            relevant = scene.covers is None or scene.covers[candidate].any()
            self._marks("ranked" if relevant else "ranked, not relevant", points[[candidate]], 10.0)
            x, y = points[candidate].tolist()
            ink = "#ffffff" if relevant else _BLUE
            self._sheet.text(x, y, str(rank), size=12, color=ink, ha="center", fontweight="bold")


def _placed(topic: Topic) -> tuple[ScoreArray, ScoreArray | None] | None:
    """Candidates [N, 2] and query [2] as pixels on the map, to one scale in both directions."""
    found = map_of(topic)
    if found is None:
        return None
    points, query = found
    every = points if query is None else np.vstack([points, query])
    low, high = every.min(axis=0), every.max(axis=0)
    left, top, width, height = _MAP
    margin = 18.0
    reach = np.maximum(high - low, 1e-9)
    scale = float(((np.array([width, height]) - 2 * margin) / reach).min())
    centre = np.array([left + width / 2, top + height / 2])

    def on_sheet(given: ScoreArray) -> ScoreArray:
        placed: ScoreArray = centre + (given - (low + high) / 2) * scale * np.array([1.0, -1.0])
        return placed

    return on_sheet(points.astype(np.float64)), None if query is None else on_sheet(query.astype(np.float64))


def _line(text: str, width: int) -> str:
    """A text as one line that fits: runs of white space are one space."""
    return clipped(" ".join(text[: 8 * width].split()), width)


def _short(name: str) -> str:
    """A measure's name without what it assumes: "alpha_DCG(alpha=0.9)@10" is shown as "alpha_DCG@10"."""
    head, _, tail = name.partition("(")
    return clipped(head + tail.rpartition(")")[2], 28)
