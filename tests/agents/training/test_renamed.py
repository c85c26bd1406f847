import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_topics import refused

from srd_agents import RANKERS, diversify, load_ranker, make_ranker
from srd_agents.frames import FrameRanker
from srd_agents.pipeline.safe import SafeConfig
from srd_agents.training.options import CONFIG_FILE, model_config
from srd_agents.training.renamed import RENAMED

VECTORS = np.float32([[1, 0], [1, 0], [0, 1]])
GIVEN: dict[str, Any] = {"query_vector": None, "doc_vectors": VECTORS, "scores": [3, 2, 1]}


@pytest.mark.parametrize(("former", "value", "expected"), [("copies", None, [0, 1, 2]), ("shown", [0], [2, 1])])
def test_parameters_by_their_former_names_warn_and_do_as_by_the_new_ones(
    former: str, value: Any, expected: list[int]
) -> None:
    with pytest.warns(DeprecationWarning, match=f"'{former}' is now called '{RENAMED[former]}'") as caught:
        assert diversify(**GIVEN, **{former: value}).indices.tolist() == expected
    assert (len(caught), caught[0].filename) == (1, __file__)
    assert diversify(**GIVEN, **{RENAMED[former]: value}).indices.tolist() == expected
    message = f"diversify: {former} is now called {RENAMED[former]}, got both"
    refused(lambda: diversify(**GIVEN, **{former: value, RENAMED[former]: value}), message, TypeError)


@pytest.mark.parametrize("make", [
    lambda **given: SafeConfig(**given).near_duplicates,
    lambda **given: make_ranker("safe", **given).config.near_duplicates,  # type: ignore[attr-defined]
    lambda **given: FrameRanker(**given)._chooser.limits.near_duplicates,
])  # fmt: skip
def test_options_have_their_former_names_too(make: Any) -> None:
    with pytest.warns(DeprecationWarning, match="'copies' is now called 'near_duplicates'"):
        assert make(copies=0.5) == 0.5
    message = "copies is now called near_duplicates, got both"
    refused(lambda: make(copies=0.5, near_duplicates=0.5), message, TypeError)


@pytest.mark.parametrize(("ranker", "former", "value"), [
    ("mdp-div", "hidden", 7), ("m2div", "exploration", 2.0), ("reinforce", "decay_epochs", 3),
    ("reinforce", "entropy", 0.5), ("reinforce", "clip_norm", 2.0), ("reinforce", "average", 0.5),
    ("reinforce", "alone", 0.25),
])  # fmt: skip
def test_options_of_learners_have_their_former_names_too(ranker: str, former: str, value: float) -> None:
    with pytest.warns(DeprecationWarning, match=f"'{former}' is now called '{RENAMED[former]}'"):
        assert getattr(RANKERS[ranker].configure(**{former: value}), RENAMED[former]) == value


@pytest.mark.parametrize(("given", "sizes"), [
    ({"units": 8}, [8, 32]), ({"second": 4}, [32, 4]), ({"units": 8, "second": 4}, [8, 4]),
])  # fmt: skip
def test_former_sizes_of_layers_make_one_option(given: dict[str, int], sizes: list[int]) -> None:
    with pytest.warns(DeprecationWarning, match="is now called 'hidden_sizes'") as caught:
        assert list(RANKERS["relational"].configure(**given).hidden_sizes) == sizes
    assert [str(each.message).split("'")[1] for each in caught] == list(given)
    message = "is now part of hidden_sizes, got both"
    refused(lambda: make_ranker("relational", hidden_sizes=[1, 1], **given), message, TypeError)


@pytest.mark.parametrize("sizes", [(8,), (8, 4, 2), (0, 4)])
def test_sizes_of_layers_are_two_numbers_above_zero(sizes: tuple[int, ...]) -> None:
    refused(lambda: make_ranker("relational", hidden_sizes=sizes), r"hidden_sizes must be (two numbers|at least 1)")


def test_a_saved_ranker_with_former_names_loads(tmp_path: Path) -> None:
    (tmp_path / CONFIG_FILE).write_text(json.dumps(model_config("safe", {"copies": 0.5}, None, {})))
    with pytest.warns(DeprecationWarning, match="near_duplicates"):
        loaded: Any = load_ranker(tmp_path)
    assert loaded.config.near_duplicates == 0.5


@pytest.mark.filterwarnings("error")
def test_packaged_weights_load_without_a_warning() -> None:
    load_ranker("relational-pretrained").rank_batch([], 3)
