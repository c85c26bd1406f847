"""Diversifying what a retrieval pipeline holds: vectors in, indices and scores out.

Shapes: B topics, N documents of a topic, S subtopics of a topic, F vector width, K documents chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from srd_agents.pipeline.diversified import Diversified, nothing, stacked
from srd_agents.pipeline.given import has_documents, plainly, ready_to_rank, taken_apart
from srd_agents.pipeline.limits import COPIES
from srd_agents.pipeline.naming import Names
from srd_agents.pipeline.request import is_ours, requested
from srd_agents.pipeline.subtopics import Lookup, check_embed
from srd_gym.checks import check_integer
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker

SubtopicsLike = ArrayLike | Sequence[str] | Mapping[str, float]
"""Subtopics of a topic: vectors, texts, or texts with their weights."""


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
    groups: object = None,
    max_per_group: int | Mapping[Any, object] | None = None,
    min_per_group: int | Mapping[Any, object] | None = None,
    costs: ArrayLike | Sequence[ArrayLike | None] | None = None,
    budget: float | None = None,
    per_cost: bool = False,
    already_shown: ArrayLike | Sequence[ArrayLike | None] | None = None,
    pinned: Sequence[object] | None = None,
    fill: bool = False,
    strict: bool = False,
    similarity: ArrayLike | Sequence[ArrayLike | None] | None = None,
    metric: str | None = None,
) -> Diversified:
    """The k documents to show of those retrieved: relevant, and different from one another.

    Vectors are whatever numpy can read as numbers: arrays of any float or integer type, lists, tensors in main memory,
    a column of a data frame that holds them. They are worked on as float32.

    | | one topic | a batch |
    |---|---|---|
    | doc_vectors | [N, F], N of [F] or None, or None | [B, N, F], or B of them whose N may differ |
    | query_vector | [F], [1, F] or None | [B, F], or B arrays [F] or None, or None |
    | similarity | [N, N] or None | [B, N, N], or B of them, or None |
    | scores | [N] or None | [B, N], or B arrays [N] or None, or None |
    | subtopics | [S, F], S texts, a function, or None | [B, S, F], B of [S, F], S texts or None, a function, or None |
    | subtopic_weights | [S] or None | B of them, or None |
    | subtopic_scores | [N, S] or None | [B, N, S], or B of [N, S] or None, or None |
    | query_text | a text or None | B texts or None, or None |
    | texts | N texts or None | B of N texts or None, or None |
    | groups, costs | [N] or None (groups: also {kind: [N]}) | B of them, or None |
    | already_shown | [P] or None | B of them, or None |
    | pinned | [R] or None | B of them, or None |
    | result | [at most min(k, N)] | [B, at most min(k, largest N)] |

    Where nothing was retrieved (N = 0), nothing is shown. Fewer than min(k, N) are shown only where `groups`, `costs`
    or `already_shown` leave fewer. A batch gives the same rankings as its topics one by one. Those of
    "random" depend on a topic's place in the batch.

    Args:
        query_vector: of the query, in the documents' vector space; None where there is none.
        doc_vectors: of the documents retrieved; their dimensions say whether this is one topic or a batch. Without
            them the texts and the query's text are embedded by `embed`, or else compared by their words (TF-IDF; the
            extra `text`). A document that has none (None) among others is embedded by `embed`, or else ranked by its
            score alone, with a warning (`srd_agents.pipeline.words.with_vectors`).
        k: documents wanted, at least 1; where a topic has fewer, all of them are ranked.
        ranker: None for "safe", another name that needs no training ("mmr"), the folder of a trained ranker,
            or a `Ranker`. A folder is read at every call: to call often, pass `load_ranker(folder)`.
        scores: of the first stage, higher is better, on any scale and in any order; None where there are none: the
            documents' order then says nothing, but that the earlier one wins a tie. They are sorted as given; rankers
            see them as float32 (`Topic.retrieval_scores`). A document without (None or NaN) counts as the lowest, and
            comes last.
        subtopics: what the query may mean or ask about (query suggestions, facets, senses, aspects that a language
            model lists): vectors in the documents' space, or texts (also {text: weight}) and `embed`; None, or none of
            them, where nobody knows. Or a function that gives either for the query's text, and is given the documents'
            `texts` too if it has a parameter of that name; `srd_agents.pipeline.naming.Namer` asks a language model.
            A query with none of them ([], None in a batch, nothing from a function) is ranked by "safe".
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
            on the scale of the cosines with the query), "scores" (as they are), "minmax" (scores scaled to [0, 1] in
            the topic), "cosine" (of query and document), or "rank". None: "matched" for rankers by name and wherever a
            diversity is given (xQuAD: the order, weighed by what subtopics tell); other rankers rank as they were made.
        metric: similarity of vectors, of the query's too: "cosine" or "dot" (their product, lengths included), for the
            rankers that take it ("mmr"; "safe" with scores or a query, without subtopics); None: "cosine".
            Near-duplicates are found by the cosine.
        near_duplicates: cosine from which on a document is a near-duplicate of one shown before it; unless
            diversity is 0, near-duplicates come last. None: they come wherever the ranker puts them. Of a long list
            only the first 1,000 documents, and the last 1,000 of `already_shown`, have near-duplicates
            (`srd_agents.pipeline.near_duplicates`).
        groups: an id of each document (text, a whole number or anything else that can be hashed): its site, its author,
            the text it is a passage of. One without (None or NaN) is a group of its own. Or groups of several kinds, by
            name: `{"site": [...], "brand": [...]}`.
        max_per_group: documents that may be shown of each group, those in `already_shown` and `pinned` among them: a
            number, `{group: number}` (of others any), or `{"site": 2, "brand": {"acme": 1}}`, by the kinds of groups.
        min_per_group: documents that must be shown of each group, counted and written the same way; of two kinds of
            groups at most. At each step only documents are chosen after which it can still be met, so that it is met
            wherever `k`, `max_per_group`, `budget` and the documents there are allow it; where they do not, as far as
            they do, with a warning (of the first kind and of the best documents' groups first).
        costs: of each document, at least 0, such as its tokens. One without (None or NaN) counts as the largest.
        budget: what the documents chosen may cost in all, rounding (1 part in 10 million) apart; a document that no
            longer fits is passed over.
        per_cost: choose what is worth most within the budget, by value per cost, in place of a ranker; diversity says
            how much a document counts for those like it (None: 0.5). See `srd_agents.pipeline.per_cost.PerCost`.
        already_shown: positions of documents that were shown before: they are not shown again, what is chosen
            differs from them as from documents chosen earlier, and they cost nothing.
        pinned: position of the document that stands in each of the first places, None where the ranker chooses:
            `[7, None, 3]` puts document 7 first and 3 third. They are shown whatever other limits say, count for
            groups, near-duplicates and the budget, and what is chosen differs from them, above them as below. Where
            too few documents are left to fill the places between, they move up.
        fill: where `max_per_group` leaves fewer than k, fill up with the best of the documents above it, within the
            budget and without those in `already_shown`; they come last, and `filled` of the result marks them.
        similarity: of all pairs of documents, symmetric, on the scale of cosines (1: alike), in place of doc_vectors:
            from another model, or of whole documents (`srd_agents.pipeline.chunks`). Relevance is then `scores`; for
            the rankers that take a metric.
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
            function without a query's text or one that answers with something else, groups, costs, already_shown or
            pinned that do not fit the documents, pinned documents beyond k or the budget, a similarity without
            scores, or what the ranker itself refuses (vectors of another width, no query vector).
    """
    if isinstance(k, list | tuple | np.ndarray):
        raise TypeError("k must be a whole number (documents wanted), got an array; scores go by name: scores=...")
    check_integer("k", k, 1)
    check_embed(embed)
    named = subtopics is not None or subtopic_scores is not None
    request = requested(
        ranker,
        diversity=diversity,
        relevance=relevance,
        metric=metric,
        near_duplicates=near_duplicates,
        max_per_group=max_per_group,
        min_per_group=min_per_group,
        budget=budget,
        fill=fill,
        per_cost=per_cost,
        strict=strict,
        subtopics=named,
        similarity=similarity is not None,
        groups=groups is not None,
        costs=costs is not None,
    )
    names = subtopics if callable(subtopics) else None
    every, alone = taken_apart(
        thin=is_ours(ranker) and names is None,
        query_vector=query_vector,
        doc_vectors=doc_vectors,
        similarity=similarity,
        scores=scores,
        subtopics=None if names is not None else subtopics,
        subtopic_weights=subtopic_weights,
        subtopic_scores=subtopic_scores,
        groups=groups,
        costs=costs,
        already_shown=already_shown,
        pinned=pinned,
        query_text=query_text,
        doc_texts=texts,
    )
    try:
        given = ready_to_rank(list(filter(has_documents, every)), embed, named=named, names=names, alone=alone)
        chosen = request.diversified(given, k, alone=alone, explain=True)
    except (TypeError, ValueError) as error:
        if alone:
            plainly(error)
        raise
    if alone:
        return chosen[0] if chosen else nothing()
    found = {one.query_id: row for one, row in zip(given, chosen, strict=True)}
    return stacked([found.get(one.query_id) or nothing() for one in every])
