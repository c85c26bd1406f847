"""The ten commonest mistakes, and all that is said of them.

Other tests quote the few words that tell an error from others, so that a sentence may be improved.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from srd_agents import diversify, make_ranker
from srd_gym import Topic, TopicSet, load_topics, parse_measure
from srd_gym.envs import SelectionEnv
from srd_gym.installing import how_to_install

BARE = Topic(query_id="jaguar", doc_ids=("a", "b"))
QUERY, DOCUMENTS = [1.0, 0.0, 0.0], np.eye(3)

MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "an unknown ranker": (
        lambda: make_ranker("facility_location"),
        ValueError,
        "unknown ranker 'facility_location'. Did you mean facility-location?",
    ),
    "vectors of another shape": (
        lambda: diversify(QUERY, DOCUMENTS[:, :2], 2),
        ValueError,
        "query_vector has shape (3,), expected (2,)",
    ),
    "k out of range": (
        lambda: diversify(QUERY, DOCUMENTS, 0),
        ValueError,
        "k must be at least 1, got 0",
    ),
    "no vectors": (
        lambda: make_ranker("mmr").rank(BARE, 1),
        ValueError,
        "topic 'jaguar' has no document vectors, which ranker 'mmr' needs; make them from texts (`srd data build ... "
        "--vectors lsa`, in Python srd_gym.data.LsaVectorizer) or from judgments (srd_gym.data.simulate_vectors), or "
        "give your own (doc_vectors, `--vectors FILE`)",
    ),
    "no judgments": (
        lambda: make_ranker("r-ltr").fit(TopicSet([BARE], name="mine")),  # type: ignore[attr-defined]
        ValueError,
        "ranker 'r-ltr': 1 of 1 training topics have no judgments (jaguar); learning needs judged topics: leave the "
        "others out with TopicSet.select",
    ),
    "no such file": (
        lambda: load_topics("my-topics.parquet"),
        FileNotFoundError,
        'topics: no file at my-topics.parquet; give the path of a Parquet file, "words" for the collection that comes '
        'with the package, or "synthetic:serp" for generated topics',
    ),
    "an extra that is not installed": (
        lambda: SelectionEnv("synthetic:tiny:1", render_mode="human").reset(seed=0),
        ImportError,
        f'rendering pictures needs matplotlib: {how_to_install("render")}; render_mode="ansi" needs nothing',
    ),
    "an unknown option": (
        lambda: make_ranker("mmr", lambd=0.5),
        ValueError,
        "unknown option of ranker 'mmr': 'lambd'. Did you mean lambda_? Known: clip, lambda_, metric, relevance.",
    ),
    "not a number": (
        lambda: diversify([np.nan, 0.0, 0.0], DOCUMENTS, 2),
        ValueError,
        "query_vector holds NaN or infinity (first at row 0); expected finite numbers",
    ),
    "an unknown measure": (
        lambda: parse_measure("alpha_nDGC@10"),
        ValueError,
        "unknown measure 'alpha_nDGC'. Did you mean alpha_nDCG or alpha_DCG or Dsharp_nDCG? Write it as NAME@k, e.g. "
        "alpha_nDCG@10.",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_ten_commonest_mistakes(mistake: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    call, error, message = MISTAKES[mistake]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message
