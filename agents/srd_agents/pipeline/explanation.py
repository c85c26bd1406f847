"""Why a list: what speaks for each document that `srd_agents.diversify` chose, and how diverse they are together.

Shapes: N documents of a query, K chosen, S subtopics, F vector width.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.pipeline.limits import group_ids
from srd_agents.pipeline.safe import EQUAL
from srd_gym.checks import array_from

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
    """Highest cosine with a document shown before it, in an earlier list or above it in this one; None: none was."""
    near_duplicate_of: int | None
    """Position of the first document shown before it of which it is a near-duplicate."""
    subtopic: str | None
    """The subtopic that it is rated highest for, or else is nearest to (above 0; ratings without any above 0: above the
    lowest); without texts, its number from 1."""
    group: str | None
    """Its group."""
    cost: float | None
    """Its cost."""


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


def explained(indices: Any, given: Any, names: list[str], copies: float, note: str) -> Explanation:
    """Why these documents.

    Args:
        indices: [K] positions of the documents chosen, best first.
        given: a `srd_agents.pipeline.diversify.Given`: the topic as the caller has it, not changed since.
        names: of the subtopics; none of them are numbered.
        copies: cosine from which on a document is a near-duplicate.
        note: what decided the ranking.
    """
    if not len(indices):
        return Explanation(note, (), None, 0.0)
    vectors = array_from(given.doc_vectors)
    seen = np.empty(0, np.int64) if given.already_shown is None else array_from(given.already_shown).astype(np.int64)
    chosen, earlier = _units(vectors[indices]), np.concatenate([seen, indices])
    cosines: Cosines = chosen @ chosen.T
    np.fill_diagonal(cosines, 1.0)
    above = np.hstack([chosen @ _units(vectors[seen]).T, np.where(np.tri(len(chosen), k=-1), cosines, -np.inf)])
    near = above >= min(copies, EQUAL)
    relevance = None if given.scores is None else array_from(given.scores)[indices]
    if relevance is None and given.query_vector is not None:
        relevance = chosen @ _units(array_from(given.query_vector).reshape(-1))
    groups = None if given.groups is None else group_ids(given.query_id, given.groups, len(vectors))
    costs = None if given.costs is None else array_from(given.costs)[indices]
    nearest = _nearest(indices, given, chosen, names)
    reasons = tuple(
        Reason(
            document=int(document),
            relevance=None if relevance is None else float(relevance[i]),
            most_similar=float(above[i].max()) if i or len(seen) else None,
            near_duplicate_of=int(earlier[near[i].argmax()]) if near[i].any() else None,
            subtopic=nearest[i],
            group=None if groups is None else str(groups[document]),
            cost=None if costs is None else float(costs[i]),
        )
        for i, document in enumerate(indices)
    )
    pairs = cosines[np.tril_indices(len(cosines), -1)]
    shares = np.linalg.eigvalsh(cosines / len(cosines))
    shares = shares[shares > 0]
    vendi = float(np.exp(-np.sum(shares * np.log(shares))))
    return Explanation(note, reasons, float(pairs.mean()) if len(pairs) else None, vendi)


def _nearest(indices: Any, given: Any, chosen: Cosines, names: list[str]) -> list[str | None]:
    """[K] the subtopic that each document is rated highest for, or is nearest to."""
    if given.subtopic_scores is not None:
        ratings = array_from(given.subtopic_scores).astype(np.float64)
        rated = ratings[~np.isnan(ratings)]
        # Of ratings none of which is above 0, such as logarithms, the lowest is none.
        least = 0.0 if (rated > 0).any() else rated.min(initial=0.0)
        near = np.where(np.isnan(ratings), -np.inf, ratings)[indices]
    elif given.subtopics is not None and len(given.subtopics):
        near, least = chosen @ _units(array_from(given.subtopics)).T, 0.0
    else:
        return [None] * len(chosen)
    return [
        (names[s] if names else str(s + 1)) if row[s] > least else None for row in near for s in [int(row.argmax())]
    ]


def _units(vectors: Any) -> Cosines:
    """Scaled to length 1: [..., F] float64."""
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return wide / np.where(lengths > 0, lengths, 1.0)


def _cell(value: object) -> str:
    """A value in one line, without the characters that would steer a terminal."""
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    return _UNSAFE.sub(" ", text)
