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
from fuzz import calls, files, models
from fuzz.mutations import mutated

WORST = ("raw", "no file", "memory", "hang", "crash")
"""Ways to end that are faults of ours."""


class HangError(BaseException):
    """A case that took too long; no Exception, so that nobody takes it for a fault of the file."""


@dataclass(frozen=True)
class FileSubject:
    """Files that a loader reads, of which a case damages one."""

    name: str
    make: Callable[[Path], None]
    """Writes sound files into a folder."""
    read: Callable[[Path], object]
    """Reads them."""
    damage: Callable[[Path, random.Random], None] | None = None
    """Damages one on purpose, beside what random bytes do; used in half of the cases."""
    kinds: tuple[type[Exception], ...] = (ValueError,)
    """What a refusal is."""
    names_file = True

    def prepare(self, folder: Path) -> Callable[[random.Random], Callable[[], object]]:
        """Write the sound files, read them once, and give what makes cases."""
        self.make(folder)
        sound = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        self.read(folder)

        def case(rng: random.Random) -> Callable[[], object]:
            for path in folder.rglob("*"):
                if path.is_file() and path not in sound:
                    path.unlink()
            for path, content in sound.items():
                path.write_bytes(content)
            if self.damage is not None and rng.random() < 0.5:
                self.damage(folder, rng)
            else:
                path = rng.choice(list(sound))
                path.write_bytes(mutated(sound[path], rng))
            return lambda: self.read(folder)

        return case


@dataclass(frozen=True)
class CallSubject:
    """A call whose arguments a case makes up."""

    name: str
    case: Callable[[random.Random], Callable[[], object]]
    kinds: tuple[type[Exception], ...] = (ValueError, TypeError)
    names_file = False

    def prepare(self, folder: Path) -> Callable[[random.Random], Callable[[], object]]:
        """What makes cases."""
        return self.case


Subject = FileSubject | CallSubject


def _optional() -> Iterator[Subject]:
    """What needs libraries that may not be installed."""
    if importlib.util.find_spec("bm25s") is not None:
        yield FileSubject("wordnet", files.make_wordnet, files.read_wordnet)
    if importlib.util.find_spec("pandas") is not None:
        from fuzz.frames import frames

        yield CallSubject("frames", frames)


SUBJECTS: dict[str, Subject] = {
    subject.name: subject
    for subject in (
        FileSubject("qrels", files.make_qrels, files.read_the_qrels),
        FileSubject("run", files.make_run, files.read_the_run),
        FileSubject("topics-xml", files.make_xml, files.read_xml, files.damage_xml),
        FileSubject("trec", files.make_trec, files.read_trec),
        FileSubject("ambient", files.make_ambient, files.read_ambient),
        FileSubject("texts", files.make_texts, files.read_texts),
        FileSubject("du-div", files.make_du_div, files.read_du_div, files.damage_json),
        FileSubject("rl4srd", files.make_rl4srd, files.read_rl4srd, files.damage_json),
        FileSubject("json-vectors", files.make_json_vectors, files.read_json_vectors, files.damage_json),
        FileSubject("npy", files.make_npy, files.read_npy, files.damage_npy),
        FileSubject("npz", files.make_npz, files.read_npz, files.damage_npz),
        FileSubject("tsv", files.make_tsv, files.read_tsv),
        FileSubject("parquet-vectors", files.make_parquet_vectors, files.read_parquet_vectors, files.damage_vectors),
        FileSubject("parquet-topics", files.make_topics, files.read_the_topics, files.damage_topics),
        FileSubject("folds", files.make_folds, files.read_the_folds, files.damage_json),
        FileSubject("lsa", models.make_lsa, models.read_lsa, models.damage_lsa),
        FileSubject("weights", models.make_weights, models.read_the_weights, files.damage_npz),
        FileSubject("recipe", models.make_recipe, models.read_recipe, models.damage_recipe),
        FileSubject("config", models.make_config, models.read_model, files.damage_json),
        FileSubject("model", models.make_model, models.read_model, models.damage_safetensors),
        FileSubject("state", models.make_state, models.read_state, models.damage_safetensors),
        CallSubject("json-lines", calls.json_lines, kinds=(ValueError,)),
        CallSubject("environments", calls.environments),
        CallSubject("actions", calls.actions),
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
    """What to think of an error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return "memory"
        cause = cause.__cause__
    if isinstance(error, OSError) and (error.filename or type(error) is FileNotFoundError):
        return "refused" if not subject.names_file or str(folder) in str(error) else "no file"
    ours = type(error) in subject.kinds or (not subject.names_file and isinstance(error, gym.error.Error))
    if not ours or not str(error):
        return "raw"
    return "refused" if not subject.names_file or str(folder) in str(error) else "no file"
