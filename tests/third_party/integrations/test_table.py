"""The page's table of arguments, and those of `diversify`, held against the adapters and data frames.

Knobs have one name everywhere, which the docstring of `diversify` explains, so the table need not name each of them.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import pandas as pd
import pytest
from doors import CASES, K, N
from markdown_code import THIRD_PARTY

from srd_agents import diversify
from srd_agents.frames import FrameRanker
from srd_agents.integrations.haystack import DiverseRanker
from srd_agents.integrations.langchain import DiverseCompressor
from srd_agents.integrations.llama_index import DiversePostprocessor
from srd_agents.integrations.pyterrier import DiverseReranker
from srd_agents.integrations.sklearn import DiverseNeighbors
from srd_agents.pipeline.arguments import ARGUMENTS, KNOBS

PAGE = (THIRD_PARTY / "retrieval.md").read_text(encoding="utf-8")
TABLE = [line.split("|")[2:-1] for line in PAGE.splitlines() if line.startswith("| ")]


TAKEN: list[Any] = [
    DiverseCompressor.model_fields,
    inspect.signature(DiverseRanker.__init__).parameters,
    set(DiversePostprocessor.model_fields) - {"callback_manager"},
    inspect.signature(DiverseReranker.__init__).parameters,
    inspect.signature(DiverseNeighbors.__init__).parameters,
]
WORDS = {
    "k": ["k", "top_k", "top_n", "k", "n_neighbors"],
    "diversity": ["lambda_mult", "diversity", "mmr_threshold", "Lambda", "diversity"],
    "ranker": ["ranker"] * 5,
    "embed": ["embeddings", "embedder", "embed_model", "embed", None],
    "subtopics": ["subtopics"] * 4 + [None],
    "groups": ["group_key"] * 4 + [None],
    "costs": ["cost_key"] * 4 + [None],
    "already_shown": ["shown_key"] * 4 + [None],
    "pinned": ["pinned_key"] * 4 + [None],
} | {name: [name] * 5 for name in KNOBS}
"""Each argument in the libraries' words; None: given to `fit` or `predict`."""
BY_THE_LIBRARY = {"query_text", "texts", "query_vector", "doc_vectors", "scores"}
"""Arguments that are in the documents, or in the call."""
NOT_TAKEN = {"subtopic_weights", "subtopic_scores", "similarity"}
"""Arguments of data frames, `diversify`, lines and the tool alone."""


def test_every_adapter_takes_every_argument_in_its_words() -> None:
    assert set(ARGUMENTS) == {*WORDS, *BY_THE_LIBRARY, *NOT_TAKEN}
    for words in WORDS.values():
        assert [word for word, taken in zip(words, TAKEN, strict=True) if word is not None and word not in taken] == []


def by_frame(case: dict[str, Any]) -> list[int]:
    """Positions that a `FrameRanker` chooses, each argument in a column of its name."""
    options: dict[str, Any] = {"k": K, "doc_vectors": None, "query_vectors": None}
    frame: dict[str, Any] = {"qid": ["q"] * N, "docno": [str(i) for i in range(N)], "query": ["jaguar"] * N}
    words = {"query_vector": "query_vectors", "texts": "doc_texts", "query_text": "query_texts", "scores": "score"}
    for name, value in case.items():
        column = words.get(name, name)
        if not ARGUMENTS[name].shape:
            options[name] = value
            continue
        if name == "already_shown":
            frame[column] = [i in value for i in range(N)]
        elif name == "pinned":
            frame[column] = [value.index(i) if i in value else None for i in range(N)]
        else:
            frame[column] = value if "N" in ARGUMENTS[name].shape else [value] * N
        if name != "scores":
            options[column] = column
    return FrameRanker(**options).transform(pd.DataFrame(frame))["docno"].astype(int).tolist()


@pytest.mark.parametrize("name", CASES)
def test_frames_are_ranked_as_by_diversify(name: str) -> None:
    assert by_frame(CASES[name]) == diversify(**{"k": K} | CASES[name]).indices.tolist()


@pytest.mark.parametrize(("column", "arguments"), enumerate(TAKEN))
def test_the_table_names_every_argument_of_a_librarys_own(column: int, arguments: Any) -> None:
    named = {word for row in TABLE for word in re.findall(r"`([A-Za-z_]+)`", row[column])}
    assert set(arguments) - {"self", *KNOBS} <= named
