"""PyTerrier: a transformer of result frames. It starts no Java and downloads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from srd_agents.integrations import library
from srd_agents.integrations.ranking import LimitKeys, chooser_of, default_of
from srd_agents.pipeline.frames import FrameRanker
from srd_agents.pipeline.limits import COPIES
from srd_agents.pipeline.naming import Names, as_names, wants_texts
from srd_agents.pipeline.subtopics import Lookup
from srd_gym.files import PathLike
from srd_gym.protocols import Ranker

with library("pyterrier", "python-terrier"):
    import pyterrier as pt

if TYPE_CHECKING:
    import pandas as pd


class DiverseReranker(pt.Transformer, LimitKeys):
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
        subtopics: what each query may mean or ask about: the column that holds a list of texts or vectors, or a
            function of the query's text (column `query`) and of the documents' `texts` (column `text`), if it has a
            parameter of that name.
        namer: a language model that names the subtopics, as `srd_agents.pipeline.naming.Namer` takes it, or a `Namer`.
        embed: makes vectors of a list of texts: of subtopics, and without `doc_vectors` of documents and the query.
        relevance: kind of relevance, as `srd_agents.diversify` takes it; None: the scores on the scale of the cosines,
            "scores" is what pyterrier_dr's `MmrScorer` takes, and "scaled" its `norm_rel=True`; it takes cosines below
            0 as 0, as MMR with `clip=True`, and leaves near-duplicates where they are.
        group_key: column of each document's group, such as its source.
        max_per_group: documents shown of each group at most, those shown before among them.
        cost_key: column of each document's cost, such as its tokens.
        budget: what the documents shown may cost in all.
        shown_key: column that is true for documents shown before, which are not shown again.
        fill: whether to fill up, marked in a column `filled`, where `max_per_group` leaves too few.
        per_cost: whether to choose what is worth most for the budget, in place of a ranker.
        near_duplicates: cosine from which on a document is a near-duplicate of one shown before it, and comes last;
            None: never.
        strict: whether to refuse missing values and documents that come twice, as `FrameRanker`.

    Raises:
        TypeError: an argument of another type.
        ValueError: k below 1, Lambda outside [0, 1], an unknown ranker, one that takes no Lambda or no subtopics, or
            names of a model without embed.
    """

    def __init__(
        self,
        ranker: PathLike | Ranker | None = None,
        k: int | None = None,
        *,
        Lambda: float | None = None,
        doc_vectors: str | None = "doc_vec",
        query_vectors: str | None = None,
        subtopics: str | Names | None = None,
        namer: Any = None,
        embed: Lookup | None = None,
        relevance: str | None = None,
        group_key: str | None = None,
        max_per_group: int | None = None,
        cost_key: str | None = None,
        budget: float | None = None,
        shown_key: str | None = None,
        fill: bool = False,
        per_cost: bool = False,
        near_duplicates: float | None = COPIES,
        strict: bool = False,
    ) -> None:
        super().__init__()
        limits: dict[str, Any] = {"group_key": group_key, "max_per_group": max_per_group, "cost_key": cost_key}
        limits |= {"budget": budget, "shown_key": shown_key, "fill": fill, "per_cost": per_cost}
        limits |= {"near_duplicates": near_duplicates, "strict": strict}
        LimitKeys.__init__(self, **limits)
        self.ranker = ranker
        self.k = k
        self.Lambda = Lambda
        self.doc_vectors = doc_vectors
        self.query_vectors = query_vectors
        self.subtopics = subtopics
        self.namer = namer
        self.embed = embed
        self.relevance = relevance
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
        named, weighed = names is not None, self.Lambda is not None
        # Errors call the weight what it is called here.
        chooser_of(self.ranker, lambda_=self.Lambda, option="Lambda", named=named, keys=self)
        return FrameRanker(
            self.ranker if self.per_cost else default_of(self.ranker, weighed, named),
            self.k,
            diversity=None if self.Lambda is None else 1.0 - self.Lambda,
            doc_vectors=self.doc_vectors,
            query_vectors=self.query_vectors,
            subtopics=names,
            embed=self.embed,
            doc_texts="text" if asks or self.doc_vectors is None else None,
            relevance=self.relevance,
            groups=self.group_key,
            max_per_group=self.max_per_group,
            costs=self.cost_key,
            budget=self.budget,
            already_shown=self.shown_key,
            fill=self.fill,
            per_cost=self.per_cost,
            near_duplicates=self.near_duplicates,
            strict=self.strict,
        )
