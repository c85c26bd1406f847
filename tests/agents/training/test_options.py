"""Options of rankers: of their type, in their range, and together; each refused by its name where it is not."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from small_topics import refused

from srd_agents.registry import RANKERS
from srd_agents.training.options import Count, CountFromZero, NotNegative, Positive, Share, check_type

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
            with pytest.raises(ValueError, match=f"^{option} must be (at least|above|finite|between)"):
                spec.configure(**{option: OUTSIDE[hint]})
        if get_origin(hint) is Literal:
            with pytest.raises(ValueError, match=f"{option}: '{get_args(hint)[0]}_'. Did you mean {get_args(hint)[0]}"):
                spec.configure(**{option: f"{get_args(hint)[0]}_"})


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("safe", {"near_duplicates": 0.0}, "near_duplicates must be above 0"),
    ("daletor", {"alpha": 1}, "alpha must be below 1, where a second document"),
    ("maskable-ppo", {"batch_size": 1}, "batch_size must be at least 2"),
    ("mcts", {"simulation": 3}, "Did you mean simulations"),
    ("mdp-div", {"batch_topics": 4}, "batch_topics must be 1 for mdp-div"),
    ("mdp-div", {"pruning": "nearest"}, "cannot read the pruning description 'nearest'"),
    ("mdp-div", {"prune_ranking": True}, 'needs a ranker that prunes; add a strategy, such as pruning="knn:0.3"'),
    ("mdp-div-ntn-d", {"pruning": "knn:0.1"}, "prunes by its own NTN-DIV, so it takes no pruning='knn:0.1'"),
    ("mo4srd", {"width": 10}, "width must be a multiple of heads, got width 10 and 4 heads"),
    ("qmix", {"n_scores": 1}, "n_scores must be at least 2, got 1"),
    ("qmix", {"attention_width": 10}, "attention_width must be a multiple of heads, got width 10 and 4 heads"),
    ("qmix", {"hidden_size": 10**30}, "hidden_size must be at most 9,223,372,036,854,775,807"),
    ("qmix", {"state": "flat"}, "state='flat' needs max_candidates"),
    ("reinforce", {"rollouts": 1}, "rollouts must be at least 2"),
    ("reinforce", {"relations_only": 1.0}, "relations_only must be"),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD)
def test_options_out_of_range_or_that_do_not_go_together_are_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    refused(lambda: RANKERS.find(name).configure(**options), re.escape(message))


def test_an_option_of_another_type_is_named_with_its_ranker() -> None:
    message = "ranker 'mcts': rank_by must be one of 'policy', 'value', 'search', got 1 (int)"
    refused(lambda: RANKERS["mcts"].configure(rank_by=1), re.escape(message), TypeError)


@pytest.mark.parametrize(("value", "hint", "message"), [
    (b"x", str | int, "x must be text or a whole number, got b'x' (bytes)"),
    ({"a": "b"}, Mapping[str, float], "'a' in x must be a number, got 'b' (str)"),
    (("a", 1), tuple[str, ...], "entry 2 of x must be text, got 1 (int)"),
    ("x" * 1000, int, f"x must be a whole number, got '{'x' * 79}... (str)"),
    (True, float, "x must be a number, got True (bool)"),
    (1, bool, "x must be true or false, got 1 (int)"),
    (1, float, None),
    (None, int | None, None),
    ("a", Literal["a", "b"] | None, None),
    ([1, 2], tuple[int, ...], None),
    ({"a": [1]}, Mapping[str, tuple[Any, ...]], None),
    (object(), Any, None),
    ({}, dict[str, Any], None),
])  # fmt: skip
def test_errors_say_where_a_value_is_wrong_and_values_of_their_type_pass(value: Any, hint: Any, message: Any) -> None:
    right = contextlib.nullcontext()
    with right if message is None else pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        check_type("x", value, hint)


@pytest.mark.parametrize(("name", "settings"), [
    ("m2div", {"horizon": 5, "simulations": 5000, "hidden_size": 5, "c_puct": 3.0, "root": "puct", "batch_topics": 1}),
    ("m2div", {"optimizer": "adagrad", "learning_rate": 0.01}),
    ("ma4div", {"n_scores": 15, "attention_width": 256, "heads": 4, "state": "flat", "batch_size": 256}),
    ("ma4div", {"learning_rate": 1e-4, "max_grad_norm": 10.0, "epsilon_start": 1.0, "epsilon_end": 0.05}),
    ("ma4div", {"rewards": ("alpha_nDCG@5", "alpha_nDCG@15")}),
])  # fmt: skip
def test_a_papers_name_has_its_settings_and_takes_others(name: str, settings: dict[str, Any]) -> None:
    config = RANKERS[name].configure(epochs=7)
    assert config.epochs == 7
    assert {option: getattr(config, option) for option in settings} == settings
