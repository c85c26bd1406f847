"""Diversifying what a retrieval pipeline holds: vectors in, indices and scores out.

Shapes: B topics, N documents of a topic, S subtopics of a topic, F vector width, K documents chosen.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srd_agents.pipeline.capabilities import (
    check_uses_subtopics,
    puts_copies_last,
    with_diversity,
    with_relevance,
)
from srd_agents.pipeline.documents import Gaps, lacking, warn_lacking
from srd_agents.pipeline.explanation import Explanation, Kept, explained, kept
from srd_agents.pipeline.limits import COPIES, Limits, array_of, scores_of, show
from srd_agents.pipeline.naming import Named, Namer, Names, named_by
from srd_agents.pipeline.per_cost import PerCost, per_cost_of
from srd_agents.pipeline.subtopics import Lookup, check_embed, embedded, no_embed, texts_of, weights_apart
from srd_agents.pipeline.words import with_vectors
from srd_agents.registry import RANKERS, load_ranker
from srd_gym.checks import check_integer, name_of, refuse_class, rows_of_column
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker
from srd_gym.reading import kind_of
from srd_gym.reading import shown as as_text
from srd_gym.topic import Topic
from srd_gym.topic_fields import PlainIds

SubtopicsLike = ArrayLike | Sequence[str] | Mapping[str, float]
"""Subtopics of a topic: vectors, texts, or texts with their weights."""
DEFAULT_RANKER = "safe"
"""Ranker where none is named. It needs no labels, query vector, scores or subtopics."""


class _Chosen(NamedTuple):
    """The tuple of a result."""

    indices: IntArray
    """[K] or [B, K] int64, positions among the documents given; -1 where fewer than K of a batch's topic are shown."""
    scores: ScoreArray
    """[K] or [B, K] float64, 1 / rank (ranks from 1), and 0 beside -1. They fall along the ranking, so that whatever
    sorts by score keeps it; a ranker says which document comes next, not how good it is, and no more do they."""


class Diversified(_Chosen):
    """Documents chosen, best first: of one topic, or of the topics of a batch, one a row.

    Args:
        indices: [K] or [B, K].
        scores: [K] or [B, K].
        notes: a sentence on each topic: what decided its ranking.
        filled: [K] or [B, K] documents above `max_per_group`, which `fill=True` takes; None: none.
    """

    notes: tuple[str, ...]
    filled: BoolArray
    _why: tuple[Kept | Explanation, ...] = ()
    """Copies of the documents shown, one for each topic, which explain its ranking; nothing else that was given."""

    def __new__(
        cls, indices: IntArray, scores: ScoreArray, notes: Sequence[str] = (), filled: BoolArray | None = None
    ) -> Diversified:
        """A tuple of two, with its notes and what filled it up beside them."""
        made = super().__new__(cls, indices, scores)
        made.notes = tuple(notes)
        made.filled = np.zeros(indices.shape, np.bool_) if filled is None else filled
        return made

    @property
    def note(self) -> str:
        """Reason for the ranking in a sentence; of a batch, each sentence once."""
        return "; ".join(dict.fromkeys(self.notes))

    def __repr__(self) -> str:
        return f"Diversified(indices={np.array2string(self.indices, separator=', ', threshold=20)}, scores=1/rank)"

    def topics(self) -> list[Diversified]:
        """The rows of a batch without -1, each a result of its own; of one topic, itself alone."""
        if self.indices.ndim == 1:
            return [self]
        lengths = (self.indices >= 0).sum(axis=1).tolist()
        rows = [
            Diversified(self.indices[b, :n], self.scores[b, :n], self.notes[b : b + 1], self.filled[b, :n])
            for b, n in enumerate(lengths)
        ]
        for b, row in enumerate(rows):
            row._why = self._why[b : b + 1]
        return rows

    def explain(self) -> Explanation:
        """Why these documents: relevance, similarity, subtopics, groups and costs of each, and diversity of the list.

        It is computed here, of copies of what is shown: arrays given to `diversify` may have changed since.

        Raises:
            ValueError: of a batch, or of a result that `diversify` did not make.
        """
        if self.indices.ndim != 1 or not self._why:
            raise ValueError("explain() is of one query: expected a result of diversify, or one of a batch's topics()")
        return explained(self._why[0])

    def to_dict(self) -> dict[str, Any]:
        """Plain lists for JSON: `indices`, `scores`, `notes` and `filled`."""
        arrays = {"indices": self.indices, "scores": self.scores, "filled": self.filled}
        return {name: array.tolist() for name, array in arrays.items()} | {"notes": list(self.notes)}

    def __eq__(self, other: object) -> bool:
        """Whether both show the same documents for the same reasons."""
        return isinstance(other, Diversified) and self.to_dict() == other.to_dict()

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """The content of a pickle: explanations in place of vectors."""
        return self.__dict__ | {"_why": tuple(map(explained, self._why))}


def diversify(
    query_vector: ArrayLike | Sequence[ArrayLike | None] | None = None,
    doc_vectors: ArrayLike | Sequence[ArrayLike | None] | None = None,
    k: int = 10,
    ranker: PathLike | Ranker | None = None,
    scores: ArrayLike | Sequence[ArrayLike | None] | None = None,
    *,
    subtopics: SubtopicsLike | Sequence[SubtopicsLike | None] | Names | None = None,
    subtopic_weights: ArrayLike | Sequence[ArrayLike | None] | None = None,
    subtopic_scores: ArrayLike | Sequence[ArrayLike | None] | None = None,
    embed: Lookup | None = None,
    query_text: str | Sequence[str | None] | None = None,
    texts: Sequence[str] | Sequence[Sequence[str] | None] | None = None,
    diversity: float | None = None,
    relevance: str | None = None,
    near_duplicates: float | None = COPIES,
    groups: Any = None,
    max_per_group: int | None = None,
    costs: ArrayLike | Sequence[ArrayLike | None] | None = None,
    budget: float | None = None,
    per_cost: bool = False,
    already_shown: ArrayLike | Sequence[ArrayLike | None] | None = None,
    fill: bool = False,
    strict: bool = False,
) -> Diversified:
    """The k documents to show of those retrieved: relevant, and different from one another.

    Vectors are whatever numpy can read as numbers: arrays of any float or integer type, lists, tensors in main memory,
    a column of a data frame that holds them. They are worked on as float32.

    | | one topic | a batch |
    |---|---|---|
    | doc_vectors | [N, F], N of [F] or None, or None | [B, N, F], or B of them whose N may differ |
    | query_vector | [F], [1, F] or None | [B, F], or B arrays [F] or None, or None |
    | scores | [N] or None | [B, N], or B arrays [N] or None, or None |
    | subtopics | [S, F], S texts, a function, or None | [B, S, F], B of [S, F], S texts or None, a function, or None |
    | subtopic_weights | [S] or None | B of them, or None |
    | subtopic_scores | [N, S] or None | [B, N, S], or B of [N, S] or None, or None |
    | query_text | a text or None | B texts or None, or None |
    | texts | N texts or None | B of N texts or None, or None |
    | groups, costs | [N] or None | B of them, or None |
    | already_shown | [P] or None | B of them, or None |
    | result | [at most min(k, N)] | [B, at most min(k, largest N)] |

    Where nothing was retrieved (N = 0), nothing is shown. Fewer than min(k, N) are shown only where `groups`, `costs`
    or `already_shown` leave fewer. A batch gives the same rankings as its topics one by one.

    Args:
        query_vector: of the query, in the documents' vector space; None where there is none.
        doc_vectors: of the documents retrieved; their dimensions say whether this is one topic or a batch. Without
            them the texts and the query's text are embedded by `embed`, or else compared by their words (TF-IDF; the
            extra `text`). A document that has none (None) among others is embedded by `embed`, or else ranked by its
            score alone, with a warning (`srd_agents.pipeline.words.with_vectors`).
        k: documents wanted, at least 1; where a topic has fewer, all of them are ranked.
        ranker: None for `DEFAULT_RANKER`, another name that needs no training ("mmr"), the folder of a trained ranker,
            or a `Ranker`. A folder is read at every call: to call often, pass `load_ranker(folder)`.
        scores: of the first stage, higher is better, on any scale and in any order; None where there are none: the
            documents' order then says nothing, but that the earlier one wins a tie. They are sorted as given; rankers
            see them as float32 (`Topic.retrieval_scores`). A document without (None or NaN) counts as the lowest, and
            comes last.
        subtopics: what the query may mean or ask about (query suggestions, facets, senses, aspects that a language
            model lists): vectors in the documents' space, or texts (also {text: weight}) and `embed`; None, or none of
            them, where nobody knows. Or a function that gives either for the query's text, and is given the documents'
            `texts` too if it has a parameter of that name; `srd_agents.pipeline.naming.Namer` asks a language model. A
            query for which it gives none is ranked by `DEFAULT_RANKER`.
        subtopic_weights: how much each of them counts, above 0; None: all alike.
        subtopic_scores: how far each document speaks of each of them, as a cross-encoder or a language model says
            (ratings, probabilities): any scale, higher is more, NaN or None if unrated. They count for each subtopic in
            comparison with its other ratings, and go before vectors. With them, `subtopics` may be texts without
            `embed`, or be left out.
        embed: makes vectors [n, F] of a list of n texts, such as a model's `encode`; for subtopics it is asked once.
        query_text: the query as typed, for a function as `subtopics`, and beside texts without vectors. Subtopics that
            are texts and hold none of its words are embedded as "query: subtopic"
            (`srd_agents.pipeline.naming.about`).
        texts: of the documents, in their order, in place of `doc_vectors`, or for a function that asks for them.
        diversity: from 0 (exactly the order of relevance, near-duplicates included) to 1 (difference only), for the
            rankers that take it (`srd_agents.pipeline.capabilities`); None lets the ranker decide.
        relevance: kind of relevance, which `diversity` weighs against the cosines of documents: "matched" (the scores,
            on the scale of the cosines with the query), "scores" (as they are), "scaled" (scores scaled to [0, 1] in
            the topic), "cosine" (of query and document), or "rank". None: "matched" for rankers by name and wherever a
            diversity is given; other rankers rank as they were made.
        near_duplicates: cosine from which on a document is a near-duplicate of one shown before it; unless
            diversity is 0, near-duplicates come last. None: they come wherever the ranker puts them.
        groups: an id of each document (text, a whole number or anything else that can be hashed): its site, its author,
            the text it is a passage of. One without (None or NaN) is a group of its own.
        max_per_group: documents that may be shown of each group, those in `already_shown` among them.
        costs: of each document, at least 0, such as its tokens. One without (None or NaN) counts as the largest.
        budget: what the documents chosen may cost in all, rounding (1 part in 10 million) apart; a document that no
            longer fits is passed over.
        per_cost: choose what is worth most within the budget, by value per cost, in place of a ranker; diversity says
            how much a document counts for those like it (None: 0.5). See `srd_agents.pipeline.per_cost.PerCost`.
        already_shown: positions of documents that were shown before: they are not shown again, what is chosen
            differs from them as from documents chosen earlier, and they cost nothing.
        fill: where `max_per_group` leaves fewer than k, fill up with the best of the documents above it, within the
            budget and without those in `already_shown`; they come last, and `filled` of the result marks them.
        strict: refuse missing scores, groups and costs, and groups of several types, of which there is one warning per
            call otherwise.

    Returns:
        Indices and scores, best first; `note` says what decided the ranking, and `filled` which documents fill it up.

    Raises:
        TypeError: k is no whole number, something holds no numbers, or ranker is none of the above.
        ImportError: texts without vectors where scikit-learn is not installed.
        ValueError: k below 1, shapes that do not match, numbers that are not finite, an unknown ranker or kind of
            relevance (near names are suggested), subtopics, relevance or diversity for a ranker that cannot use them, a
            document with neither a vector nor a text or score in its place, subtopics that are texts without embed, a
            function without a query's text or one that answers with something else, groups, costs or already_shown that
            do not fit the documents, or what the ranker itself refuses (vectors of another width, no query vector).
    """
    if isinstance(k, list | tuple | np.ndarray):
        raise TypeError("k must be a whole number (documents wanted), got an array; scores go by name: scores=...")
    check_integer("k", k, 1)
    check_embed(embed)
    capped: dict[str, Any] = {"groups": groups, "max_per_group": max_per_group, "fill": fill}
    limits = Limits.asked(near_duplicates=near_duplicates, costs=costs, budget=budget, **capped)
    named = subtopics is not None or subtopic_scores is not None
    weighed: dict[str, Any] = {"diversity": diversity, "relevance": relevance, "per_cost": per_cost}
    chooser = Chooser(ranker, limits, subtopics=named, costs=costs, strict=strict, **weighed)
    doc_vectors = rows_of_column(doc_vectors)
    if isinstance(doc_vectors, list | tuple) and doc_vectors and all(each is None for each in doc_vectors):
        doc_vectors = None
    alone = _is_alone(doc_vectors, texts)
    parts: dict[str, Any] = {
        "query_vector": query_vector,
        "doc_vectors": doc_vectors,
        "scores": scores,
        "subtopics": None if callable(subtopics) else subtopics,
        "subtopic_weights": subtopic_weights,
        "subtopic_scores": subtopic_scores,
        "groups": groups,
        "costs": costs,
        "already_shown": already_shown,
        "query_text": query_text,
        "doc_texts": texts,
    }
    every = [Given("0", **parts)] if alone else _taken_apart(parts)
    try:
        given = [with_weights(one) for one in every if _has_documents(one)]
        if callable(subtopics):
            if isinstance(subtopics, Namer) and embed is None and doc_vectors is not None and subtopic_scores is None:
                raise no_embed("that a model names")
            ids, typed, read = (
                [getattr(one, part) for one in given] for part in ("query_id", "query_text", "doc_texts")
            )
            given = with_subtopics(given, named_by(subtopics, typed, read, ids))
        given = [one._replace(names=texts_of(one.subtopics)) for one in given] if named else given
        given = ready_to_rank(given, embed, named=named, alone=alone)
        chosen = chooser.diversified(given, k, alone=alone, near=near_duplicates or COPIES or 1.0)
    except (TypeError, ValueError) as error:
        if alone:
            plainly(error)
        raise
    found = {one.query_id: row for one, row in zip(given, chosen, strict=True)}
    rows = [found.get(one.query_id) or _nothing() for one in every]
    return rows[0] if alone else _stacked(rows)


class Given(NamedTuple):
    """A topic as a caller has it; what nobody knows is None."""

    query_id: str
    """For rankers' messages."""
    doc_ids: tuple[str, ...] | None = None
    """N ids; None numbers the documents."""
    query_vector: Any = None
    """[F]."""
    doc_vectors: Any = None
    """[N, F]."""
    scores: Any = None
    """[N]; None: the candidates stay as they are and have no retrieval order."""
    subtopics: Any = None
    """[S, F], or S texts beside scores."""
    subtopic_weights: Any = None
    """[S]."""
    subtopic_scores: Any = None
    """[N, S]."""
    groups: Any = None
    """[N]."""
    costs: Any = None
    """[N]."""
    already_shown: Any = None
    """[P]."""
    query_text: str | None = None
    """As typed."""
    doc_texts: Any = None
    """N texts."""
    note: str = ""
    """Where the vectors come from, if not from the caller, and why a model named no subtopics."""
    names: Sequence[str] = ()
    """S texts of the subtopics, where they have any."""


class Chooser:
    """A ranker and what limits its rankings.

    Args:
        ranker: as for `diversify`.
        limits: of all topics; rankings at diversity 0 are left as they are, near-duplicates included.
        diversity: as for `diversify`.
        relevance: as for `diversify`.
        per_cost: as for `diversify`.
        subtopics: whether any are named.
        costs: what the caller says of costs; None: there are none.
        option: what the caller calls the diversity, for errors.
        strict: as for `diversify`.

    Raises:
        TypeError: no ranker, or diversity is no number.
        ValueError: an unknown ranker, one that cannot use subtopics or diversity, or diversity out of range.
    """

    def __init__(
        self,
        ranker: PathLike | Ranker | None,
        limits: Limits,
        *,
        diversity: float | None = None,
        relevance: str | None = None,
        per_cost: object = False,
        subtopics: bool = False,
        costs: Any = None,
        option: str = "diversity",
        strict: bool = False,
    ) -> None:
        self.relevance, self.strict = relevance, strict
        self._unnamed: Chooser | None = None
        if not isinstance(per_cost, bool | None):
            raise TypeError(f"per_cost must be True or False, got {as_text(per_cost)}")
        if per_cost:
            self.ranker, self.limits = per_cost_of(ranker, limits, costs, diversity, relevance)
            return
        alone = limits.near_duplicates is None
        weighed = (relevance, diversity, option)
        if _is_kept(ranker, *weighed):
            self.ranker = _of_a_name(ranker, alone, subtopics, *weighed)
        else:
            self.ranker = _weighed(as_ranker(ranker), alone, subtopics, *weighed)
        # The order of relevance holds copies too.
        self.limits = replace(limits, near_duplicates=None) if diversity == 0 else limits
        if subtopics and ranker is not None:  # which may rank no topic without subtopics
            self._unnamed = Chooser(
                None, limits, diversity=diversity, relevance=relevance, option=option, strict=strict
            )

    def diversified(
        self, given: Sequence[Given], k: int, *, alone: bool = False, near: float | None = None
    ) -> list[Diversified]:
        """The documents to show of each topic, with what decided: the ranker's `explain(topic)`, or its name.

        A topic for which a function or a model named no subtopics is ranked by `DEFAULT_RANKER`.

        Args:
            given: the topics.
            k: documents wanted.
            alone: whether there is one topic, which a warning then need not name.
            near: cosine of near-duplicates in explanations; None: results keep nothing to explain them.

        Raises:
            TypeError: something holds no numbers.
            ValueError: shapes that do not match, no documents, numbers that are not finite, or what the ranker refuses.
        """
        if self._unnamed is not None and any(map(_is_unnamed, given)):
            choosers = [self._unnamed if _is_unnamed(one) else self for one in given]
            return [
                own.diversified([one], k, alone=alone, near=near)[0] for own, one in zip(choosers, given, strict=True)
            ]
        topics, orders, limits, notes, lost = [], [], [], [], Counter[str]()
        for one in given:
            gaps: Gaps = None if self.strict else {}
            topic, order = _retrieved(one, gaps)
            topics.append(topic)
            orders.append(order)
            limits.append(self.limits.of(topic, order, one, gaps, alone=alone))
            notes.append([one.note, *lacking(gaps)])
            if gaps:
                lost.update(gaps)
        warn_lacking(lost)
        rankings = self.show(topics, k, limits)
        explain = getattr(self.ranker, "explain", lambda topic: f"ranked by {name_of(self.ranker)}")
        results = []
        for place, (ranking, order, topic, limit) in enumerate(zip(rankings, orders, topics, limits, strict=True)):
            note, seen = "; ".join(filter(None, [explain(topic), *notes[place]])), limit.already_shown
            rows = np.array([*seen, *ranking], np.int64) if seen else ranking
            positions = rows.copy() if order is None else order[rows]
            found = Diversified(positions[len(seen) :], _falling(len(ranking)), [note], limit.filled(ranking))
            if near is not None:
                found._why = (kept(given[place], topic, rows, positions, len(ranking), near, note),)
            results.append(found)
        return results

    def show(self, topics: Sequence[Topic], k: int, limits: Sequence[Limits]) -> list[IntArray]:
        """Rankings of topics within their limits, as of `srd_agents.pipeline.limits.show`."""
        if isinstance(self.ranker, PerCost):
            return self.ranker.show(topics, k, limits)
        return show(self.ranker, topics, k, limits)


def as_ranker(ranker: PathLike | Ranker | None) -> Ranker:
    """A ranker that can rank at once, from its name, its folder, or itself; None is `DEFAULT_RANKER`.

    MMR and its like, by name, take scores on the scale of the cosines ("matched").

    Raises:
        TypeError: something else.
        ValueError: an unknown name, a learner's name without a folder, or a folder without a trained ranker.
    """
    if ranker is None or isinstance(ranker, str | os.PathLike):
        loaded = load_ranker(DEFAULT_RANKER if ranker is None else ranker)
        of_a_name = ranker is None or not os.path.isdir(ranker)
        return with_relevance(loaded, "matched") if of_a_name and getattr(loaded, "weighs_cosines", False) else loaded
    refuse_class("ranker", ranker)
    if isinstance(ranker, Ranker):
        return ranker
    raise TypeError(
        'ranker must be a name such as "mmr", the folder of a trained ranker, or an object with rank(topic, k) and '
        f"rank_batch(topics, k), got {kind_of(ranker)}; scores go by name: scores=..."
    )


def _is_unnamed(given: Given) -> bool:
    """Whether a function or a model named no subtopics of the topic."""
    return isinstance(given.subtopics, Named) and not given.subtopics and given.subtopic_scores is None


def _is_kept(ranker: object, *values: object) -> TypeGuard[str | None]:
    """Whether the ranker of this name is made once: one of ours without a folder, as nothing of it can change."""
    if ranker is not None and not (
        isinstance(ranker, str) and ranker in RANKERS.built_in and ":" not in ranker and not os.path.isdir(ranker)
    ):
        return False
    return all(isinstance(value, str | float | None) for value in values)


@lru_cache(maxsize=256, typed=True)
def _of_a_name(
    name: str | None, alone: bool, subtopics: bool, relevance: str | None, diversity: float | None, option: str
) -> Ranker:
    return _weighed(as_ranker(name), alone, subtopics, relevance, diversity, option)


def _weighed(
    ranker: Ranker, alone: bool, subtopics: bool, relevance: str | None, diversity: float | None, option: str
) -> Ranker:
    """The ranker as a caller wants it.

    Args:
        ranker: that is to rank.
        alone: whether near-duplicates come wherever it puts them.
        subtopics: whether any are named.
        relevance: as for `diversify`.
        diversity: as for `diversify`.
        option: what the caller calls the diversity, for errors.
    """
    ranker = with_relevance(ranker, relevance)
    if subtopics:
        check_uses_subtopics(ranker)
    if alone and puts_copies_last(ranker):
        ranker = ranker.with_copies(None)
    return with_diversity(ranker, diversity, option)


def _retrieved(given: Given, gaps: Gaps) -> tuple[Topic, IntArray | None]:
    """The topic that a ranker is to see: an unlabelled one, its candidates in the order of their scores.

    Args:
        given: the topic as a caller has it.
        gaps: takes note of missing scores.

    Returns:
        The topic, and for each of its candidates its position among the documents given (None: the same).
    """
    documents = array_of(given.query_id, "doc_vectors", given.doc_vectors, may_lack=True)
    ids = _numbered(len(documents)) if given.doc_ids is None else given.doc_ids
    order = first_stage = None
    if given.scores is not None:
        first_stage, order = scores_of(given.query_id, "scores", given.scores, len(documents), gaps)
        if first_stage is not None and order is not None:
            # The topic checks them sorted, where a row in an error would be another one.
            documents = array_of(given.query_id, "doc_vectors", documents).take(order, axis=0)
            first_stage = first_stage[order]
    if order is not None and given.doc_ids is not None:
        ids = tuple([ids[i] for i in order.tolist()])
    told = texts_of(given.subtopics)
    named, rated = None if told else _named(given), _rated(given, len(documents))
    count = len(told) or (len(named) if named is not None else 0 if rated is None else rated.shape[1])
    weights = given.subtopic_weights
    if weights is not None:
        weights = array_of(given.query_id, "subtopic_weights", weights, may_lack=True)
    if not count and weights is not None and weights.size:
        raise ValueError(
            f"topic {as_text(given.query_id)}: subtopic_weights weigh subtopics, got none; give subtopics or "
            "subtopic_scores, or leave subtopic_weights out"
        )
    texts = given.doc_texts
    if texts is not None and order is not None:
        texts = [texts[i] for i in order.tolist()]
    topic = Topic(
        query_id=given.query_id,
        query_text=given.query_text,
        doc_ids=ids,
        query_vector=_row(given.query_id, given.query_vector),
        doc_texts=texts,
        doc_vectors=documents,
        retrieval_scores=first_stage,
        subtopic_ids=_numbered(count),
        subtopic_texts=tuple(told) or None,
        subtopic_vectors=named,
        subtopic_weights=weights,
        subtopic_scores=rated if rated is None or order is None else rated[order],
    )
    return topic, order


def _named(given: Given) -> NDArray[Any] | None:
    """[S, F] vectors of the subtopics, if there are any."""
    if given.subtopics is None:
        return None
    vectors = array_of(given.query_id, "subtopics", given.subtopics, what="texts, or vectors of numbers")
    if vectors.ndim == 2 or vectors.shape == (0,):
        return vectors if len(vectors) else None
    raise ValueError(
        f"topic {as_text(given.query_id)}: subtopics must be [S, F], a vector (or a text) each, got shape "
        f"{vectors.shape}; one subtopic alone is a list of one: [vector]"
    )


def _rated(given: Given, count: int) -> NDArray[Any] | None:
    """[N, S] scores of the subtopics, a row a document given."""
    if given.subtopic_scores is None:
        return None
    rated = array_of(given.query_id, "subtopic_scores", given.subtopic_scores, may_lack=True)
    if rated.ndim != 2 or len(rated) != count:
        raise ValueError(
            f"topic {as_text(given.query_id)}: subtopic_scores have shape {rated.shape}, expected ({count}, S): a row "
            "per document, a column per subtopic"
        )
    return rated


def _row(query_id: str, query: Any) -> Any:
    """A query's vector [F], which encoders often give as [1, F]."""
    if query is None:
        return None
    vector = array_of(query_id, "query_vector", query, may_lack=True)
    return vector[0] if vector.ndim == 2 and len(vector) == 1 else vector


def _is_empty(documents: Any) -> bool:
    """Whether these are no documents: [], or an array [0] or [0, F]."""
    return not documents if isinstance(documents, list | tuple) else np.shape(documents)[:1] == (0,)


def _dimensions(value: Any) -> int:
    """Dimensions of an array, or of lists of lists judged by their first entries that hold something.

    Others may be ragged. No documents, however written, count as [0, F].
    """
    depth = 0
    while isinstance(value, list | tuple) and value:
        told = (entry for entry in value if entry is not None and not _is_empty(entry))
        value, depth = next(told, value[0]), depth + 1
    dimensions = int(np.ndim(value))
    return depth + (2 if dimensions == 1 and _is_empty(value) else dimensions)


def _is_alone(doc_vectors: Any, texts: Any) -> bool:
    """Whether this is one topic, not a batch.

    Raises:
        ValueError: neither vectors nor texts, or something of other dimensions.
    """
    if doc_vectors is None:
        if texts is None:
            raise ValueError("there are no documents; give doc_vectors ([N, F]), or texts (N of them)")
        each_lists = hasattr(texts, "__len__") and all(isinstance(each, Sized | None) for each in texts)
        return not each_lists or not len(texts) or any(isinstance(each, str | bytes | Mapping) for each in texts)
    dimensions = _dimensions(doc_vectors)
    if dimensions not in (2, 3):
        raise ValueError(
            "doc_vectors must be [N, F] (one topic), or [B, N, F] or B arrays [N, F] (a batch), "
            f"got {dimensions} dimension{'' if dimensions == 1 else 's'}; np.stack makes one array of many vectors"
        )
    return dimensions == 2


def _taken_apart(parts: dict[str, Any]) -> list[Given]:
    """The topics of a batch."""
    documents = parts["doc_texts"] if parts["doc_vectors"] is None else parts["doc_vectors"]
    each = [_each(name, part, len(documents)) for name, part in parts.items()]
    return [Given(str(b), **dict(zip(parts, own, strict=True))) for b, own in enumerate(zip(*each, strict=True))]


def _has_documents(given: Given) -> bool:
    """Whether something was retrieved for the topic.

    Raises:
        ValueError: something is given of documents where there are none.
    """
    if not _is_empty(given.doc_texts if given.doc_vectors is None else given.doc_vectors):
        return True
    for name in ("scores", "subtopic_scores", "groups", "costs", "already_shown", "doc_texts"):
        if (part := getattr(given, name)) is not None and np.size(part):
            raise ValueError(
                f"topic '{given.query_id}': there are no documents, got {name}; give doc_vectors, or leave it out"
            )
    return False


def _nothing() -> Diversified:
    """The result for a topic for which nothing was retrieved."""
    nothing = Diversified(np.empty(0, np.int64), _falling(0), ["nothing was retrieved"])
    nothing._why = (Explanation(nothing.note, (), None, 0.0),)
    return nothing


def with_subtopics(given: Sequence[Given], subtopics: Sequence[Any]) -> list[Given]:
    """The topics with these subtopics, and with the reason where a model named none."""
    notes = [told.note if isinstance(told, Named) else "" for told in subtopics]
    return [one._replace(subtopics=told, note=note) for one, told, note in zip(given, subtopics, notes, strict=True)]


def with_weights(given: Given) -> Given:
    """The topic with the weights of its subtopics apart, where they have come together: {text: weight}."""
    subtopics, weights = weights_apart(given.subtopics, given.subtopic_weights)
    return given if subtopics is given.subtopics else given._replace(subtopics=subtopics, subtopic_weights=weights)


def ready_to_rank(given: Sequence[Given], embed: Lookup | None, *, named: bool, alone: bool = False) -> list[Given]:
    """Topics with vectors of their documents and subtopics where they have texts instead; `embed` is asked once.

    Args:
        given: the topics.
        embed: makes vectors of texts; None: texts are compared by their words.
        named: whether subtopics are named, which may be texts.
        alone: as of `srd_agents.pipeline.words.with_vectors`.

    Raises:
        ImportError, TypeError, ValueError: as `srd_agents.pipeline.words.with_vectors`.
    """
    if named and embed is not None and given:
        names, rated, asked = zip(*[(one.subtopics, one.subtopic_scores, one.query_text) for one in given], strict=True)
        given = with_subtopics(given, embedded(names, embed, rated, asked))
    ready = list[Given]()
    for each in given:
        one, by, note = with_vectors(each, embed, named=named, alone=alone)
        if named and embed is None:
            one = one._replace(subtopics=embedded([one.subtopics], by, [one.subtopic_scores], [one.query_text])[0])
        ready.append(one._replace(note="; ".join(filter(None, [each.note, note]))) if note else one)
    return ready


def plainly(error: Exception) -> None:
    """Let an error about the one query of a call not call it topic '0'."""
    if "topic '0'" in str(error):
        error.args = (str(error).removeprefix("topic '0': ").replace("topic '0'", "this query"),)


def _each(name: str, value: Any, count: int) -> Sequence[Any]:
    """A batch's argument taken apart, one entry a topic; None is None for each."""
    if value is None:
        return [None] * count
    if isinstance(value, str):
        raise TypeError(
            f"doc_vectors are a batch of {count} topics, so {name} must be {count} texts, got one: {as_text(value)}"
        )
    came: object
    try:
        entries = list(value)
        came = str(len(entries))
    except TypeError:
        entries, came = [], as_text(value)
    if len(entries) != count:
        raise ValueError(
            f"doc_vectors are a batch of {count} topics, so {name} must have {count} entries, one per topic, got {came}"
        )
    return entries


def _stacked(topics: Sequence[Diversified]) -> Diversified:
    """Results of a batch one below the other: [B, K], padded with -1."""
    lengths = np.array([len(topic.indices) for topic in topics], dtype=np.int64)
    width = int(lengths.max(initial=0))
    held = np.arange(width) < lengths[:, None]
    indices, filled = np.full(held.shape, -1, dtype=np.int64), np.zeros(held.shape, np.bool_)
    if topics:
        indices[held] = np.concatenate([topic.indices for topic in topics])
        filled[held] = np.concatenate([topic.filled for topic in topics])
    notes = [note for topic in topics for note in topic.notes]
    stacked = Diversified(indices, np.where(held, _falling(width), 0.0), notes, filled)
    stacked._why = tuple(why for topic in topics for why in topic._why)
    return stacked


def _falling(count: int) -> ScoreArray:
    """[K] float64: 1, 1/2, 1/3, ..."""
    return 1.0 / np.arange(1, count + 1)


@lru_cache(maxsize=64)
def _numbered(count: int) -> PlainIds:
    """Ids for documents that came without: "0", "1", ...; kept, since making and comparing text is slow."""
    return PlainIds(map(str, range(count)))
