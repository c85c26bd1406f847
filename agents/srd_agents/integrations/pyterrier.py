"""PyTerrier: a transformer of result frames. It starts no Java and downloads nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import Adapter, default_of
from srd_agents.pipeline.frames import FrameRanker
from srd_agents.pipeline.naming import as_names, wants_texts
from srd_agents.pipeline.subtopics import Lookup

with library("pyterrier", "python-terrier"):
    import pyterrier as pt

if TYPE_CHECKING:
    import pandas as pd


@dataclass(kw_only=True, eq=False, repr=False)
class DiverseReranker(pt.Transformer, Adapter):
    """Re-ranks each query's documents so that the first ones differ: `first_stage >> DiverseReranker(k=10)`.

    It ranks as `srd_agents.pipeline.frames.FrameRanker`: `score` is what rankers take for relevance, `rank` counts
    from 0, the new `score` is 1 / (rank + 1), and all other columns are kept. Without `Lambda` the order of the scores
    stays and repeats come last (`srd_agents.pipeline.safe`), unless another ranker is named.

    Args:
        ranker: a ranker, its name such as "mmr" or the folder of a trained one, which is read at every call
            (`load_ranker(folder)` reads it once); None is MMR where Lambda is given, else
            "safe".
        k: documents kept of each query; None keeps (and ranks) all.
        Lambda: weight of relevance, from 1 (only relevance) to 0 (only difference), as in pyterrier_dr; None lets the
            ranker decide.
        doc_vectors: the column that holds each document's vector (`pt.apply.doc_vec` makes one); None: the column
            `text` is embedded by `embed`, or else compared by its words (TF-IDF; scikit-learn).
        query_vectors: the column that holds the query's vector, for rankers that look at it; None where there are none.
        embed: makes vectors of a list of texts: of subtopics, and without `doc_vectors` of documents and the query.
        relevance: kind of relevance, as `srd_agents.diversify` takes it; None: the scores on the scale of the cosines,
            "scores" is what pyterrier_dr's `MmrScorer` takes, and "minmax" its `norm_rel=True`; it takes cosines below
            0 as 0, as MMR with `clip=True`, and leaves near-duplicates where they are.
        **options: those of `srd_agents.integrations.ranking.Adapter`; keys and `subtopics` are columns (of lists of
            texts or vectors), functions are given the columns `query` and `text`, and a column `filled`
            marks what fills up.

    Raises:
        TypeError: an argument of another type.
        ValueError: k below 1, Lambda outside [0, 1], an unknown ranker, one that takes no Lambda or no subtopics, or
            names of a model without embed.
    """

    ranker: Any = field(default=None, kw_only=False)
    k: int | None = field(default=None, kw_only=False)
    Lambda: float | None = None
    doc_vectors: str | None = "doc_vec"
    query_vectors: str | None = None
    embed: Lookup | None = None

    def __post_init__(self) -> None:
        self._frame_ranker()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ranker!r}, k={self.k}, Lambda={self.Lambda})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The frame re-ranked; the one given is left as it is.

        Raises:
            KeyError: a column is missing (`pt.validate.InputValidationError`).
            TypeError: query or document numbers that are not text, or vectors that are no numbers.
            ValueError: a document without a vector, vectors of two widths, numbers that are not finite, what `strict`
                or the ranker refuses.
        """
        ranker = self._frame_ranker()
        pt.validate.columns(inp, includes=ranker.columns, context=self)
        return ranker.transform(inp)

    def _frame_ranker(self) -> FrameRanker:
        """Build the ranker, at every call: `pt.GridSearch` and its like set parameters as attributes."""
        if self.subtopics is not None and self.namer is not None:
            raise ValueError("subtopics and namer were both given; give one of them")
        names = self.subtopics if self.namer is None else as_names(self.namer)
        asks = callable(names) and wants_texts(names)
        self.request(lambda_=self.Lambda, called="Lambda")  # errors call things what they are called here
        return FrameRanker(
            self.ranker if self.per_cost else default_of(self.ranker, self.Lambda is not None, names is not None),
            self.k,
            diversity=None if self.Lambda is None else 1.0 - self.Lambda,
            doc_vectors=self.doc_vectors,
            query_vectors=self.query_vectors,
            subtopics=names,
            embed=self.embed,
            doc_texts="text" if asks or self.doc_vectors is None else None,
            groups=self.group_key,
            costs=self.cost_key,
            already_shown=self.shown_key,
            pinned=self.pinned_key,
            **self.knobs(),
        )
