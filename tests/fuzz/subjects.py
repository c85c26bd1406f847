"""What is fuzzed: every loader of files, and every call that takes what a stranger gives.

A subject makes a case from a random generator and runs it; `judged` says how it ended. The rule is one for all: a case
is accepted, or refused with a ValueError (calls: or TypeError) of ours; of a file the message gives the path.
"""

from __future__ import annotations

import importlib.util
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
from fuzz import calls, damage, models, texts
from fuzz.damage import mutated
from fuzz.texts import HangError
from sound_files import READERS, Sound, write

from srd_agents.registry import load_ranker
from srd_agents.relational.ranker import read_weights
from srd_gym.checks import ArgumentError
from srd_gym.data import LsaVectorizer
from srd_train.experiment.recipe import load_recipe

Cases = Callable[[random.Random], Callable[[], object]]
Damage = Callable[[Path, random.Random], None]
WORST = ("raw", "no file", "memory", "hang", "crash")
"""Ways to end that are faults of ours."""


@dataclass(frozen=True)
class Subject:
    """What makes cases in a folder, and what a refusal of one is."""

    name: str
    prepare: Callable[[Path], Cases]
    kinds: tuple[type[Exception], ...] = (ValueError,)
    names_file: bool = True
    """Whether a refusal names the file."""


def call(name: str, cases: Cases, *kinds: type[Exception]) -> Subject:
    return Subject(name, lambda folder: cases, (ValueError, *kinds), names_file=False)


def files(name: str, sound: Sound, read: Callable[[Path], object], damage: Damage | None = None) -> Subject:
    """Files that a loader reads from a folder, of which a case damages one.

    Half of the cases damage on purpose, where that is given; the others do what random bytes do.
    """

    def prepare(folder: Path) -> Cases:
        write(folder, sound)
        contents = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        read(folder)

        def case(rng: random.Random) -> Callable[[], object]:
            for path in folder.rglob("*"):
                if path.is_file() and path not in contents:
                    path.unlink()
            for path, content in contents.items():
                path.write_bytes(content)
            if damage is not None and rng.random() < 0.5:
                damage(folder, rng)
            else:
                path = rng.choice(list(contents))
                path.write_bytes(mutated(contents[path], rng))
            return lambda: read(folder)

        return case

    return Subject(name, prepare)


def _read_lsa(folder: Path) -> object:
    return LsaVectorizer.load(folder).transform(["a jaguar"])


def _optional() -> Iterator[Subject]:
    if importlib.util.find_spec("pandas") is not None:
        from fuzz.frames import frames

        yield call("frames", frames, TypeError)


_DAMAGE: dict[str, Damage] = {
    "topics-xml": damage.damage_xml,
    "npy": damage.damage_npy,
    "npz": damage.damage_npz,
    **dict.fromkeys(("du-div", "rl4srd", "json-vectors"), damage.damage_json),
    **dict.fromkeys(("nuggets", "texts"), damage.damage_json_lines),
    **dict.fromkeys(("parquet-vectors", "parquet-topics", "log"), damage.damage_parquet),
}

SUBJECTS: dict[str, Subject] = {
    subject.name: subject
    for subject in (
        *(files(name, sound, read, _DAMAGE.get(name)) for name, (sound, read) in READERS.items()),
        files("lsa", models.make_lsa, _read_lsa, models.damage_lsa),
        files("weights", models.make_weights, lambda folder: read_weights(folder / "w.npz"), damage.damage_npz),
        files("recipe", models.RECIPE, lambda folder: load_recipe(str(folder / "r.toml")), models.damage_recipe),
        files("config", models.make_model, load_ranker, damage.damage_json),
        files("model", models.make_model, load_ranker, models.damage_safetensors),
        files("state", models.make_state, models.read_state, models.damage_safetensors),
        files("answers-cache", models.make_answers, models.read_answers, damage.damage_json),
        call("answers", texts.answers),
        call("notations", texts.notations, TypeError),
        call("json-lines", calls.json_lines),
        call("environments", calls.environments, TypeError, ArgumentError),
        call("actions", calls.actions, TypeError),
        *_optional(),
    )
}


def judged(subject: Subject, folder: Path, run: Callable[[], object]) -> tuple[str, BaseException | None]:
    """Run a case: "accepted", "refused" or one of `WORST`, and what was raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
    except HangError as error:
        return "hang", error
    except Exception as error:
        return _kind_of(subject, folder, error), error
    return "accepted", None


def _kind_of(subject: Subject, folder: Path, error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, OSError) and (error.filename or type(error) is FileNotFoundError):
        return "refused" if not subject.names_file or str(folder) in str(error) else "no file"
    ours = type(error) in subject.kinds or (not subject.names_file and isinstance(error, gym.error.Error))
    if not ours or not str(error):
        return "raw"
    return "refused" if not subject.names_file or str(folder) in str(error) else "no file"
