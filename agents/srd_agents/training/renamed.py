"""Former names of options and parameters: they work for one release, with a warning that names the new one."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

RENAMED: Mapping[str, str] = {
    "copies": "near_duplicates",
    "shown": "already_shown",
    "hidden": "hidden_size",
    "decay_epochs": "lr_decay_epochs",
    "entropy": "entropy_coef",
    "clip_norm": "max_grad_norm",
    "average": "ema_decay",
    "alone": "relations_only",
    "exploration": "c_puct",
    "without": "drop",
}
"""Former name -> new name. It holds for whatever has the new name and has nothing by the former one."""
LAYERS: Mapping[str, int] = {"units": 0, "second": 1}
"""Former options of a layer's size each -> place in `hidden_sizes`, which replaces them."""
HIDDEN_SIZES = (32, 32)
"""Units of the two layers by default."""
_PACKAGES = ("srd_gym", "srd_agents", "srd_train", "studies")


def renamed(values: Mapping[str, Any], names: Collection[str], owner: str) -> dict[str, Any]:
    """Values by their new names.

    Args:
        values: name -> value.
        names: of the fields or parameters there are.
        owner: whose these are, for the error.

    Raises:
        TypeError: a value by both its former and its new name.
    """
    given: dict[str, Any] = {}
    for name, value in _layers_joined(values, names, owner).items():
        new = RENAMED.get(name, name)
        if new != name and new in names and name not in names:
            if new in values:
                raise TypeError(f"{owner}: {name} is now called {new}, got both; give {new} alone")
            warn_renamed(name, new)
            given[new] = value
        else:
            given[name] = value
    return given


def _layers_joined(values: Mapping[str, Any], names: Collection[str], owner: str) -> Mapping[str, Any]:
    """The values with one `hidden_sizes` for the former options of a layer each."""
    former = [name for name in LAYERS if name in values and name not in names]
    if not former or "hidden_sizes" not in names:
        return values
    if "hidden_sizes" in values:
        raise TypeError(f"{owner}: {former[0]} is now part of hidden_sizes, got both; give hidden_sizes alone")
    sizes = list(HIDDEN_SIZES)
    for name in former:
        warn_renamed(name, "hidden_sizes")
        sizes[LAYERS[name]] = values[name]
    return {**{name: value for name, value in values.items() if name not in former}, "hidden_sizes": sizes}


def takes_former_names(function: Callable[P, R]) -> Callable[P, R]:
    """A function that takes its keyword parameters by their former names, too."""
    names, owner = inspect.signature(function).parameters, function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def taking(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **(kwargs if RENAMED.keys().isdisjoint(kwargs) else renamed(kwargs, names, owner)))

    return taking


def warn_renamed(former: str, new: str) -> None:
    """Warn at the first caller outside these packages, so that Python shows it there once."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"{former!r} is now called {new!r}; the former name goes with the next release",
        DeprecationWarning,
        stacklevel=level,
    )
