from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from small_topics import refused

from srd_agents.registry import RANKERS
from srd_agents.training.options import Count, CountFromZero, NotNegative, Positive, Share, as_values, check_type

ODD: tuple[Any, ...] = ("", "8", 1.5, -1, True, None, float("nan"), float("inf"), 10**30, [], ["a"], {"a": 1}, object())
OUTSIDE: dict[Any, Any] = {Count: 0, CountFromZero: -1, Positive: 0.0, NotNegative: -1.0, Share: 1.5}


@pytest.mark.parametrize("name", RANKERS)
def test_no_value_of_an_option_raises_anything_else(name: str) -> None:
    spec = RANKERS[name]
    for field in dataclasses.fields(spec.config_class):
        for value in ODD:
            with contextlib.suppress(TypeError, ValueError):
                spec.configure(**{field.name: value})


@pytest.mark.parametrize("name", RANKERS)
def test_options_hold_to_the_ranges_and_words_of_their_annotations(name: str) -> None:
    spec = RANKERS[name]
    for option, hint in get_type_hints(spec.config_class, include_extras=True).items():
        if hint in OUTSIDE:
            outside, told = OUTSIDE[hint], f"^{option} must be (at least|above|finite|between)"
        elif get_origin(hint) is Literal:
            outside, told = (
                f"{get_args(hint)[0]}_",
                f"{option}: '{get_args(hint)[0]}_'. Did you mean {get_args(hint)[0]}",
            )
        else:
            continue
        refused(lambda given={option: outside}: spec.configure(**given), told)


@pytest.mark.parametrize(("name", "options", "message"), [
    ("safe", {"near_duplicates": 0.0}, "near_duplicates must be above 0"),
    ("daletor", {"alpha": 1}, "alpha must be below 1"),
    ("maskable-ppo", {"batch_size": 1}, "batch_size must be at least 2"),
    ("mcts", {"simulation": 3}, "Did you mean simulations"),
    ("mdp-div", {"batch_topics": 4}, "batch_topics must be 1 for mdp-div"),
    ("mdp-div", {"prune_ranking": True}, "needs a ranker that prunes"),
    ("mdp-div-ntn-d", {"pruning": "knn:0.1"}, "so it takes no pruning='knn:0.1'"),
    ("mo4srd", {"width": 10}, "width must be a multiple of heads"),
    ("qmix", {"attention_width": 10}, "attention_width must be a multiple"),
    ("qmix", {"hidden_size": 10**30}, "hidden_size must be at most"),
    ("qmix", {"state": "flat"}, "state='flat' needs max_candidates"),
    ("reinforce", {"rollouts": 1}, "rollouts must be at least 2"),
    ("relational", {"hidden_sizes": (8,)}, "hidden_sizes must be two numbers"),
    ("mcts", {"rank_by": 1}, "'value', 'search', got 1 (int)"),
])  # fmt: skip
def test_options_that_cannot_be_or_do_not_go_together_are_refused(name: str, options: Any, message: str) -> None:
    error = TypeError if message.endswith("(int)") else ValueError
    refused(lambda: RANKERS.find(name).configure(**options), re.escape(message), error)


@pytest.mark.parametrize(("value", "hint", "message"), [
    (b"x", str | int, "x must be text or a whole number, got b'x' (bytes)"),
    ({"a": "b"}, Mapping[str, float], "'a' in x must be a number, got 'b' (str)"),
    (("a", 1), tuple[str, ...], "entry 2 of x must be text, got 1 (int)"),
    ("x" * 1000, int, f"x must be a whole number, got '{'x' * 80}...' (str)"),
    (True, float, "x must be a number, got True (bool)"),
    (1, bool, "x must be true or false, got 1 (int)"),
    (1, float, None),
    ("a", Literal["a", "b"] | None, None),
    ([1, 2], tuple[int, ...], None),
    ({"a": [1]}, Mapping[str, tuple[Any, ...]], None),
    (object(), Any, None),
])  # fmt: skip
def test_errors_say_where_a_value_is_wrong_and_values_of_their_type_pass(value: Any, hint: Any, message: Any) -> None:
    right = contextlib.nullcontext()
    with right if message is None else pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        check_type("x", value, hint)


def test_numbers_of_numpy_are_kept_as_those_of_python() -> None:
    given = {"epochs": np.int64(3), "learning_rate": np.float32(0.5), "hidden_sizes": list(np.arange(1, 3))}
    same = {"epochs": 3, "learning_rate": 0.5, "hidden_sizes": (1, 2)}
    spec = RANKERS["relational"]
    assert json.dumps(as_values(spec.configure(**given))) == json.dumps(as_values(spec.configure(**same)))
