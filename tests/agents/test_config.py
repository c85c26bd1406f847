"""The types of options: checked once, for the configuration of every ranker."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Literal

import pytest

from srd_agents.config import check_type
from srd_agents.registry import RANKERS

ODD: tuple[Any, ...] = ("", "8", 1.5, -1, True, None, float("nan"), float("inf"), 10**30, [], ["a"], {"a": 1}, object())


@pytest.mark.parametrize(
    ("ranker", "option", "value", "error", "message"),
    [
        ("mcts", "hidden", "8", TypeError, "hidden must be a whole number, got '8' (str)"),
        ("reinforce", "epochs", 1.5, TypeError, "epochs must be a whole number, got 1.5 (float)"),
        ("qmix", "hidden", True, TypeError, "hidden must be a whole number, got True (bool)"),
        ("qmix", "hidden", 10**30, ValueError, "hidden must be a number of at most 64 bits, got one of 100 bits"),
        ("reinforce", "learning_rate", True, TypeError, "learning_rate must be a number, got True (bool)"),
        ("reinforce", "learning_rate", "0.1", TypeError, "learning_rate must be a number, got '0.1' (str)"),
        ("reinforce", "learning_rate", float("inf"), ValueError, "learning_rate must be a finite number, got inf"),
        ("mdp-div", "standardize", 1, TypeError, "standardize must be true or false, got 1 (int)"),
        ("reinforce", "device", 0, TypeError, "device must be text, got 0 (int)"),
        ("qmix", "max_candidates", "all", TypeError, "max_candidates must be a whole number, got 'all' (str)"),
        ("mcts", "rank_by", "search_", ValueError, "rank_by: 'search_'. Did you mean search?"),
        ("mcts", "rank_by", 1, TypeError, "rank_by must be one of 'policy', 'value', 'search', got 1 (int)"),
        ("mmr", "lambda_", None, TypeError, "lambda_ must be a number, got None (NoneType)"),
        ("mmr", "lambda_", 1.5, ValueError, "lambda_ must be a finite number from 0.0 to 1.0, got 1.5"),
        ("mmr", "lambda_", float("nan"), ValueError, "lambda_ must be a finite number, got nan"),
        ("mmr", "lambd", 0.5, ValueError, "unknown option of ranker 'mmr': 'lambd'. Did you mean lambda_?"),
        ("ntn-div", "slices", 0, ValueError, "slices must be at least 1, got 0"),
        ("ntn-div", "loss", "marginal", ValueError, "unknown loss: 'marginal'. Did you mean margin?"),
        ("ntn-div", "tensor_rate", 0.0, ValueError, "tensor_rate must be above 0"),
        ("structsvm", "regularisation", -1.0, ValueError, "regularisation must be a finite number at least 0"),
        ("pamm", "columns", "a,,b", ValueError, "columns must be names separated by commas, got 'a,,b'"),
        ("daletor", "alpha", 1, ValueError, "alpha must be below 1, where a second document"),
        ("mo4srd", "width", 10, ValueError, "width must be a multiple of heads, got width 10 and 4 heads"),
    ],
)
def test_odd_options_are_refused(ranker: str, option: str, value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        RANKERS[ranker].configure(**{option: value})
    assert f"ranker {ranker!r}" in str(caught.value) or error is ValueError


def test_whole_numbers_are_numbers() -> None:
    assert RANKERS["reinforce"].configure(learning_rate=1).learning_rate == 1
    assert RANKERS["qmix"].configure(max_candidates=None).max_candidates is None


@pytest.mark.parametrize("name", RANKERS)
def test_no_value_of_an_option_raises_anything_else(name: str) -> None:
    spec = RANKERS[name]
    for field in dataclasses.fields(spec.config_class):
        for value in ODD:
            with contextlib.suppress(TypeError, ValueError):
                spec.configure(**{field.name: value})


@pytest.mark.parametrize(
    ("value", "hint", "message"),
    [
        (b"x", str | int, "x must be text or a whole number, got b'x' (bytes)"),
        ({"a": "b"}, Mapping[str, float], "'a' in x must be a number, got 'b' (str)"),
        (("a", 1), tuple[str, ...], "entry 2 of x must be text, got 1 (int)"),
        ("x" * 1000, int, f"x must be a whole number, got '{'x' * 79}... (str)"),
    ],
)
def test_errors_say_where_a_value_is_wrong(value: Any, hint: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        check_type("x", value, hint)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (None, int | None),
        ("a", Literal["a", "b"] | None),
        ([1, 2], tuple[int, ...]),
        ({"a": [1]}, Mapping[str, tuple[Any, ...]]),
        (object(), Any),
        ({}, dict[str, Any]),
    ],
)
def test_values_of_their_type_pass(value: Any, hint: Any) -> None:
    check_type("x", value, hint)
