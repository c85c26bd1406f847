"""Why a list: what speaks for each document that `srd_agents.diversify` chose, and how diverse they are together.

Shapes: N documents of a query, K chosen, S subtopics, F vector width.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.pipeline.documents import of_each_kind
from srd_agents.pipeline.near_duplicates import BLOCK, COMPARED, ROUNDING
from srd_gym.checks import array_from, is_missing
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.measures.label_free import mean_cosines, vendi_scores
from srd_gym.topic import Topic

if TYPE_CHECKING:
    from rich.table import Table

Cosines = NDArray[np.float64]
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
"""Control characters and ends of lines."""


class Reason(NamedTuple):
    """Reasons for a document, and against it; None where that is unknown."""

    document: int
    """Position among those given."""
    relevance: float | None
    """Its score as given; without scores, its cosine with the query."""
    most_similar: float | None
    """Highest cosine with a document shown before it, in an earlier list or above it in this one; None: none was, or
    one of the two has no vector. Of a long list as many are compared as for near-duplicates."""
    most_similar_to: int | None
    """Position of the first document with that cosine."""
    near_duplicate_of: int | None
    """Position of the first document shown before it of which it is a near-duplicate."""
    subtopic: str | None
    """The subtopic that it is rated highest for; of an unrated document, the nearest one. Without texts, its number
    from 1. None: no rating or cosine is above 0, or, where no document has a rating above 0, above the lowest."""
    group: str | None
    """Its group."""
    cost: float | None
    """Its cost, as the budget counts it."""


@dataclass(frozen=True)
class Explanation:
    """Why a list of documents is shown; printed, it is a Markdown table, and a table by rich's `print`."""

    note: str
    """Sentence on what decided the ranking."""
    reasons: tuple[Reason, ...]
    """Reason of each document, best first."""
    mean_cosine: float | None
    """Mean cosine of all pairs of documents; None below two documents."""
    vendi: float
    """Vendi score (Friedman & Dieng, TMLR 2023): exponential of the entropy of the eigenvalues of the cosines / K. From
    1 (all alike) to K (all at right angles); 0 for an empty list."""

    @property
    def groups(self) -> int | None:
        """Distinct groups; None where there are no groups."""
        return len({each.group for each in self.reasons} - {None}) or None

    @property
    def cost(self) -> float | None:
        """Sum of the costs; None where there are none."""
        costs = [each.cost for each in self.reasons if each.cost is not None]
        return sum(costs) if costs else None

    @property
    def subtopics(self) -> tuple[str, ...]:
        """Subtopics that some document is nearest to, in the order of the documents."""
        return tuple(dict.fromkeys(each.subtopic for each in self.reasons if each.subtopic is not None))

    def markdown(self) -> str:
        """A Markdown table of the documents, and a line on the list."""
        heads, rows = self._table()
        lines = [heads, ["---:"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
        return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", self._summary()])

    __str__ = markdown

    def __rich__(self) -> Table:
        """The same as a table of rich, the package of the extra `cli`."""
        from rich.table import Table
        from rich.text import Text

        heads, rows = self._table()
        table = Table(*heads, caption=Text(self._summary()))
        for row in rows:
            table.add_row(*map(Text, row))
        return table

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Heads and cells; values that no document has make no column."""
        columns = zip(Reason._fields, zip(*self.reasons, strict=True), strict=False)
        known = {name: values for name, values in columns if any(value is not None for value in values)}
        rows = [[str(rank), *map(_cell, row)] for rank, row in enumerate(zip(*known.values(), strict=True), start=1)]
        return ["rank", *(name.replace("_", " ") for name in known)], rows

    def _summary(self) -> str:
        values = {"mean cosine": self.mean_cosine, "Vendi score": self.vendi, "groups": self.groups, "cost": self.cost}
        told = [f"{name} {_cell(value)}" for name, value in values.items() if value is not None]
        covered = [f"subtopics: {', '.join(self.subtopics)}"] if self.subtopics else []
        return _cell("; ".join([*told, *covered, self.note]) + ".")


class Kept(NamedTuple):
    """Copies of the documents shown of a topic; `explained` makes its explanation of them."""

    given: Any
    """A `srd_agents.pipeline.given.Given` of the P documents shown before, and then of the K chosen."""
    positions: IntArray
    """[P + K] of these among the documents given."""
    chosen: int
    """K."""
    least: float
    """Rating for a subtopic that says nothing."""
    near: float
    """Cosine from which on a document is a near-duplicate."""
    note: str
    """A sentence on what decided the ranking."""


def kept(
    given: Any, topic: Topic, costs: ScoreArray | None, rows: IntArray, positions: IntArray, chosen: int, *told: Any
) -> Kept:
    """Copies of what is shown of a topic.

    Args:
        given: a `srd_agents.pipeline.given.Given`.
        topic: the same as it was ranked.
        costs: [N] of its candidates, as the budget counts them.
        rows: [P + K] candidates of it.
        positions: as of `Kept`, as are the following.
        chosen: K.
        told: near and note.
    """
    names, least = ("scores", "subtopic_scores"), 0.0
    parts = {name: _taken(part, positions) for name in names if (part := getattr(given, name)) is not None}
    parts["costs"] = None if costs is None else costs[rows]
    parts["doc_vectors"] = topic.require_vectors("explain()").take(rows, axis=0)
    if given.without_vector:
        parts["without_vector"] = tuple(np.flatnonzero(np.isin(positions, given.without_vector)).tolist())
    if given.groups is not None:
        parts["groups"] = of_each_kind(given.groups, lambda row: _taken(row, positions))
    if given.similarity is not None:
        parts |= {"similarity": parts["doc_vectors"][:, rows].astype(np.float64), "doc_vectors": None}
    for name, part in (("query_vector", topic.query_vector), ("subtopics", topic.subtopic_vectors)):
        parts[name] = None if part is None else part.copy()
    if topic.subtopic_scores is not None and not (topic.subtopic_scores > 0).any():
        # Of ratings none of which is above 0, such as logarithms, the lowest is none.
        least = float(np.nanmin(topic.subtopic_scores, initial=0.0))
    return Kept(type(given)(given.query_id, names=given.names, **parts), positions.copy(), chosen, least, *told)


def explained(why: Kept | Explanation) -> Explanation:
    """Why these documents."""
    if isinstance(why, Explanation):
        return why
    given, before = why.given, len(why.positions) - why.chosen
    units = given.similarity if given.doc_vectors is None else _units(given.doc_vectors)
    chosen = units[before:]
    above = _above(why, units)
    relevance = given.scores
    if relevance is None and given.query_vector is not None:
        relevance = units @ _units(given.query_vector)
    nearest = _nearest(why, chosen)
    reasons = tuple(
        Reason(
            document=int(why.positions[before + i]),
            relevance=_entry(relevance, before + i, float),
            most_similar=above[i][0],
            most_similar_to=above[i][1],
            near_duplicate_of=above[i][2],
            subtopic=nearest[i],
            group=_group(given.groups, before + i),
            cost=_entry(given.costs, before + i, float),
        )
        for i in range(why.chosen)
    )
    if not reasons:
        return Explanation(why.note, (), None, 0.0)
    return Explanation(why.note, reasons, *_diversity(chosen, vectors=given.doc_vectors is not None))


def _above(why: Kept, units: Cosines) -> list[tuple[float | None, int | None, int | None]]:
    """Highest cosine with a document before each one chosen, the first such, and the first that it nearly duplicates.

    Documents are compared with as many others as near-duplicates are (`srd_agents.pipeline.near_duplicates`).
    """
    before = len(units) - why.chosen
    columns = np.arange(max(0, before - COMPARED), min(before + COMPARED, len(units)))
    bare = np.isin(np.arange(len(units)), why.given.without_vector)
    found = list[tuple[float | None, int | None, int | None]]()
    for start in range(before, len(units), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(units)))
        whole = units[rows]
        alike = whole[:, columns] if why.given.doc_vectors is None else whole @ units[columns].T
        alike[(columns >= rows[:, None]) | bare[rows, None] | bare[columns]] = -np.inf
        near, best = alike >= why.near - ROUNDING, alike.argmax(axis=1)
        similar, first = why.positions[columns[best]], why.positions[columns[near.argmax(axis=1)]]
        values = (alike[np.arange(len(rows)), best], similar, first, near.any(axis=1))
        for cosine, to, of, copied in zip(*(np.asarray(each).tolist() for each in values), strict=True):
            found.append((None, None, None) if cosine == -np.inf else (cosine, to, of if copied else None))
    return found


def _diversity(chosen: Cosines, *, vectors: bool) -> tuple[float | None, float]:
    """`Explanation.mean_cosine` and `vendi` of at least one document: K vectors of length 1 or 0, or similarities."""
    count = len(chosen)
    if vectors and chosen.shape[1] < count:
        # Products of columns have the eigenvalues of those of rows, and are fewer; each zero vector has one more, 1.
        zeros, total = count - np.count_nonzero(chosen.any(axis=1)), chosen.sum(axis=0)
        narrow = float(vendi_scores((chosen.T @ chosen)[None], np.array([count]))[0])
        return float(total @ total - count + zeros) / (count * (count - 1)), narrow * count ** float(zeros / count)
    cosines = chosen @ chosen.T if vectors else chosen[:, -count:].copy()
    np.fill_diagonal(cosines, 1.0)
    mean = float(mean_cosines(cosines[None], np.array([count]))[0]) if count > 1 else None
    return mean, float(vendi_scores(cosines[None], np.array([count]))[0])


def _taken(part: object, positions: IntArray) -> Any:
    """The entries of these documents."""
    return [part[i] for i in positions.tolist()] if isinstance(part, list | tuple) else array_from(part)[positions]


def _entry(part: Any, place: int, kind: Any) -> Any:
    """One entry; None where it is unknown."""
    return None if part is None or is_missing(part[place]) else kind(part[place])


def _group(groups: object, place: int) -> str | None:
    """A document's group; of several kinds "site: a, brand: b"."""
    if isinstance(groups, Mapping):
        told = {kind: _group(row, place) for kind, row in groups.items()}
        return ", ".join(f"{kind}: {name}" for kind, name in told.items() if name is not None) or None
    name = _entry(groups, place, lambda name: name)
    return str.__str__(name) if isinstance(name, str) else None if name is None else str(name)


def _nearest(why: Kept, chosen: Cosines) -> list[str | None]:
    """[K] the subtopic that each document is rated highest for, or if it is unrated nearest to."""
    given, nearest = why.given, list[str | None]([None] * why.chosen)
    if given.subtopics is not None:
        nearest = _highest(given.names, chosen @ _units(given.subtopics).T, 0.0)
    if given.subtopic_scores is None or not np.size(given.subtopic_scores):
        return nearest
    rated = array_from(given.subtopic_scores).astype(np.float64)[len(why.positions) - why.chosen :]
    unrated = np.isnan(rated)
    rated[unrated] = -np.inf
    highest = _highest(given.names, rated, why.least)
    return [nearest[i] if unrated[i].all() else highest[i] for i in range(why.chosen)]


def _highest(names: Sequence[str], values: Cosines, least: float) -> list[str | None]:
    """[K] the subtopic, or its number, of the highest value of each row of [K, S]; None: it is not above the least."""
    best = [(row, int(row.argmax())) for row in values]
    return [(names[s] if names else str(s + 1)) if row[s] > least else None for row, s in best]


def _units(vectors: object) -> Cosines:
    """Scaled to length 1: [..., F] float64."""
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return wide / np.where(lengths > 0, lengths, 1.0)


def _cell(value: object) -> str:
    """A value in one line, without the characters that would steer a terminal."""
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return _UNSAFE.sub(" ", text)
