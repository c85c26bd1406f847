"""Checks of arguments and rankings: each raises an error that says what was expected and what came."""

from __future__ import annotations

import contextlib
import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srd_gym.dtypes import AnyArray
from srd_gym.reading import few, kind_of, shown, shown_text, with_type

_FEW = 5
"""Names that are listed even where near ones are suggested."""
_LISTED = 40
"""Names that are listed where none is near."""
_LONGEST_NAME = 100
"""Letters that are compared with names."""
_LONGEST = 1_500
"""Characters of an error."""
_LONG = 1_000
"""Numbers above which a product is faster than looking at each."""
_NARROW = 0.1
"""Range of scores, as a part of the largest, below which float32 rounds too much of their differences away."""


def unknown(kind: str, given: object, known: Iterable[str], hint: str = "") -> ValueError:
    """The error for a name that is not in a registry; it suggests the nearest names, or lists all.

    Args:
        kind: what the name stands for, as the user calls it ("measure", "ranker").
        given: the name that came.
        known: the names that exist.
        hint: a last sentence saying what to do.

    Returns:
        A `ValueError` to raise.
    """
    names = sorted(known)
    alike = near(given, names) if isinstance(given, str) else []
    advice = [f"Did you mean {' or '.join(map(shown_text, alike))}?"] if alike else []
    if not alike or len(names) <= _FEW:
        advice.append(f"Known: {few(names, _LISTED)}.")
    return ValueError(" ".join(filter(None, [f"unknown {kind} {shown(given)}.", *advice, hint])))


def near(given: str, known: Iterable[str]) -> list[str]:
    """Up to three of the known names that somebody may have meant: those it abbreviates, then those spelt alike.

    A name is abbreviated by the beginnings of its words, as `learning_rate` by "lr" and "learn-rate", and by one word,
    as `maskable-ppo` by "ppo".
    """
    folded = {name.casefold().strip("-"): name for name in known}
    asked = given.casefold().strip("-")[:_LONGEST_NAME]
    letters = re.sub(r"[\W_]", "", asked)
    words = {name: re.split(r"[\W_]+", name) for name in folded if len(letters) > 1}
    shorter = [name for name, own in words.items() if letters in own or _abbreviates(letters, own)]
    alike = difflib.get_close_matches(asked, folded, n=3, cutoff=0.5)
    return [folded[match] for match in dict.fromkeys([*sorted(shorter, key=len), *alike])][:3]


def _abbreviates(letters: str, words: list[str]) -> bool:
    """Whether the letters are the beginnings of the words, one after the other; the last words may lack."""
    if not letters:
        return True
    if not words:
        return False
    begun = (size for size in range(len(words[0]), 0, -1) if letters.startswith(words[0][:size]))
    return any(_abbreviates(letters[size:], words[1:]) for size in begun)


def check_option(name: str, given: object, known: Iterable[str]) -> None:
    """Refuse a word that is none of those known; the error is that of `unknown`.

    Raises:
        ValueError: another word.
    """
    words = tuple(known)
    if not isinstance(given, str) or given not in words:
        raise unknown(name, given, words)


def check_integer(name: str, value: object, least: int, most: int = 2**63 - 1) -> None:
    """Refuse what is no whole number from `least` to `most`.

    Raises:
        TypeError: no whole number.
        ValueError: one out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, got {with_type(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(int(value))}")
    if value > most:
        raise ValueError(f"{name} must be at most {most:,}, got {shown(int(value))}")


def holds_truth(values: Iterable[object]) -> bool:
    """Whether some value is True or False, Python's or numpy's: neither is a number here."""
    return any(isinstance(value, bool) or getattr(value, "dtype", None) == np.bool_ for value in values)


def check_number(name: str, value: object, least: float, most: float = sys.float_info.max) -> None:
    """Refuse what is no finite number from `least` to `most`.

    Raises:
        TypeError: no number.
        ValueError: one out of range, infinity or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, got {with_type(value)}")
    given = value.item() if isinstance(value, np.generic) else value  # float32 would overflow in the comparison
    if not least <= given <= most:
        wanted = f"between {least:g} and {most:g}" if most < sys.float_info.max else f"finite and at least {least:g}"
        raise ValueError(f"{name} must be {wanted}, got {shown(given)}")


def check_positive(name: str, value: object, most: float = sys.float_info.max) -> None:
    """Refuse what is no finite number above 0, up to `most`.

    Raises:
        TypeError: no number.
        ValueError: zero, negative, infinity, NaN or a larger number.
    """
    check_number(name, value, 0.0, most)
    if value == 0:
        raise ValueError(f"{name} must be above 0, got {value}")


def finite_numbers(who: str, given: object, shape: tuple[int, ...]) -> AnyArray:
    """Convert the answer of a user's own code to an array.

    Args:
        who: what gave it, for the error.
        given: what came.
        shape: that it must have.

    Raises:
        ValueError: no numbers, another shape, NaN or infinity.
    """
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" or array.shape != shape:
        came = with_type(array if array.ndim else given)
    elif np.count_nonzero(finite := np.isfinite(array)) < array.size:
        came = f"{array[~finite][0]} at {tuple(np.argwhere(~finite)[0].tolist())}"
    else:
        return array
    raise ValueError(f"{who}: expected finite numbers of shape {shape}, got {came}")


def refuse_class(name: str, value: object) -> None:
    """Refuse a class where an object of it is wanted.

    Raises:
        TypeError: a class; the message says to call it.
    """
    if isinstance(value, type):
        raise TypeError(f"{name} must be an object, got the class {value.__name__}: write {value.__name__}(...)")


class ArgumentError(TypeError):
    """An argument of the wrong kind; its text stays short where Gymnasium adds all arguments to it."""

    def __init__(self, text: str) -> None:
        super().__init__(shown_text(text, _LONGEST))


@contextlib.contextmanager
def argument_errors() -> Iterator[None]:
    """Turn every TypeError of a constructor into an `ArgumentError`."""
    try:
        yield
    except TypeError as error:
        raise ArgumentError(str(error)) from error


def name_of(ranker: object) -> str:
    """Name of a ranker in errors: its name in the registry where it is there, else its class."""
    return str(ranker if isinstance(ranker, str) else getattr(ranker, "name", kind_of(ranker)))


def array_from(values: Any) -> AnyArray:
    """The values as an array; tensors of bfloat16 become float32.

    Raises:
        ValueError: no array, or some are masked: an array would show what their mask hides.
    """
    # Importing it takes long, and nothing is masked before; another thread may just be importing it.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    rows = values if isinstance(values, list | tuple) else (values,)
    if masked is not None and any(isinstance(row, masked) and np.any(row.mask) for row in rows):
        raise ValueError("some values are masked; fill them, or leave them out")
    try:
        return np.asarray(values)
    except TypeError as error:
        if "BFloat16" not in str(error):  # of which numpy knows nothing
            raise
        return np.asarray(values.float() if hasattr(values, "float") else [array_from(row) for row in values])


def numbers_of(name: str, values: Any, kinds: str = "fiub", what: str = "numbers", lacks: bool = False) -> AnyArray:
    """An argument as an array of numbers.

    A column of a data frame may be of objects and hold numbers or rows of them; whole numbers beyond 64 bits become
    float64.

    Args:
        name: of the argument, for errors.
        values: any numbers in rows.
        kinds: letters of the types that it may have (`numpy.dtype.kind`).
        what: what these are called.
        lacks: whether None among the numbers is NaN, and no error.

    Raises:
        TypeError: something of another type.
        ValueError: no array, masked values, rows of several lengths, or a number beyond float64.
    """
    if type(values) is np.ndarray and values.dtype.kind in kinds:  # most are, and none of these is masked
        return values
    try:
        array = array_from(values)
        if array.dtype == object and array.ndim:
            array = array_from(array.tolist())
        if array.dtype == object and all(isinstance(each, Real) or (each is None and lacks) for each in array.flat):
            array = array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        if "inhomogeneous" in str(error):
            check_even(name, values)
        raise ValueError(f"{name} cannot be read as an array of {what}: {error}") from error
    if array.size and array.dtype.kind not in kinds:
        odd = next((each for each in np.asarray(values, object).flat if not isinstance(each, Real)), array.flat[0])
        advice = "convert them first" if array.ndim else "give a list or an array (of a sparse matrix: toarray())"
        if array.ndim and array.dtype == object:
            advice = "is one of them missing, or are they of different lengths?"
        raise TypeError(f"{name} must hold {what}, got {with_type(odd)}; {advice}")
    return array


def rows_of_column(values: Any) -> Any:
    """The vectors in a column of a data frame as a list, None for a missing one; anything else as it is."""
    if values is None or isinstance(values, list | tuple) or np.ndim(values) != 1:
        return values
    rows = array_from(values)
    return [None if is_missing(row) else row for row in rows.tolist()] if rows.dtype == object else values


def is_missing(value: object) -> bool:
    """Whether a value says that there is none: None, NaN, or NA and NaT of a data frame."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and bool(np.isnan(value)))
    )


def check_even(name: str, rows: Sequence[object]) -> None:
    """Refuse rows of several lengths.

    Args:
        name: of what is given, for errors.
        rows: lists or arrays; what has no length is passed over.

    Raises:
        ValueError: a row is longer or shorter than the first.
    """
    lengths = [(place, len(row)) for place, row in enumerate(rows) if hasattr(row, "__len__")]
    for place, length in lengths:
        if length != lengths[0][1]:
            first = f"{lengths[0][1]} numbers in row {lengths[0][0]}"
            raise ValueError(f"{name} must have rows of one length, got {first} and {length} in row {place}")


def all_finite(array: AnyArray) -> bool:
    """Whether no number is NaN or infinite."""
    if array.dtype.kind != "f":
        return True
    if array.dtype.char in "fd" and array.size > _LONG:
        # One pass of the fastest kind, and nothing is written; squares may leave the range of the numbers.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.vdot(array, array)):
                return True
    return int(np.count_nonzero(np.isfinite(array))) == array.size  # `all` takes longer to begin


def falling(scores: AnyArray) -> NDArray[np.int64] | None:
    """The order in which scores [N] fall, equal ones as they came: [N] int64; None where they never rise."""
    if not np.count_nonzero(scores[1:] > scores[:-1]):
        return None
    # Reversed twice, as unsigned numbers cannot be negated.
    return np.asarray(len(scores) - 1 - np.argsort(scores[::-1], kind="stable")[::-1], np.int64)


def as_scores(scores: AnyArray) -> NDArray[np.float32]:
    """Finite scores of any type as float32, in the same order: those that float32 cannot tell apart become equal.

    Where they differ by less than a tenth of the largest, the lowest is taken off all, as float32 would round their
    differences away. Where the largest is more than float32 holds, or less, all are scaled by one power of two, which
    brings it to between 0.5 and 1.
    """
    if scores.dtype == np.float32 or not scores.size:
        return scores.astype(np.float32, copy=False)
    if scores.dtype.kind != "f":
        scores = scores.astype(np.float64)
    low, high, float32 = scores.min(), scores.max(), np.finfo(np.float32)
    if 0.0 < float(high) - float(low) < _NARROW * max(abs(float(high)), abs(float(low))):
        scores, low, high = scores - low, low - low, high - low
    largest = max(high, -low)
    if largest and not float32.tiny <= largest <= float32.max:
        scores = np.ldexp(scores, -int(np.frexp(largest)[1]))
    with np.errstate(under="ignore"):
        return scores.astype(np.float32)


def checked_ranking(ranking: object, topic: Any, ranker: object, k: int | None = None) -> NDArray[np.int64]:
    """Check that a ranker returned a ranking of the topic, and give it.

    Args:
        ranking: of the topic.
        topic: the `Topic` that was ranked.
        ranker: it or its name, for the error.
        k: documents that were asked for; None: it may have any length.

    Raises:
        ValueError: no row of whole numbers, a document that the topic does not have, one that is duplicated, or more or
            fewer than min(k, N).
    """
    row: AnyArray = np.asarray(ranking)
    documents, wrong = row.tolist(), ""
    if row.ndim != 1 or (documents and row.dtype.kind not in "iu"):
        wrong = f"returned {with_type(ranking)} for topic {shown(topic.query_id)}; expected whole numbers [K]"
    elif len(distinct := set(documents)) < len(documents):
        wrong = (
            f"ranks a document of topic {shown(topic.query_id)} twice, as happens where scores are NaN: are its "
            "vectors too large? Scale them as in training"
        )
    elif documents and (min(distinct) < 0 or max(distinct) >= topic.n_candidates):
        wrong = (
            f"ranks a document that topic {shown(topic.query_id)} does not have; they are 0 to {topic.n_candidates - 1}"
        )
    elif k is not None and len(documents) != (wanted := min(k, topic.n_candidates)):
        wrong = f"ranked {len(documents)} documents of topic {shown(topic.query_id)}, expected {wanted}"
    if wrong:
        raise ValueError(f"ranker {shown(name_of(ranker))} {wrong}")
    return row.astype(np.int64, copy=False)


def checked_rankings(
    rankings: Any, topics: Sequence[object], ranker: object, k: int | None = None
) -> list[NDArray[np.int64]]:
    """`checked_ranking` of each topic's ranking.

    Raises:
        ValueError: more or fewer rankings than topics, or as `checked_ranking`.
    """
    came = len(rankings) if hasattr(rankings, "__len__") else kind_of(rankings)
    if came != len(topics):
        raise ValueError(
            f"ranker {shown(name_of(ranker))} returned {came} for {len(topics)} topics; expected a list of one ranking "
            "each"
        )
    return [checked_ranking(ranking, topic, ranker, k) for ranking, topic in zip(rankings, topics, strict=True)]
