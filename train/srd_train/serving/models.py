"""Model folders as `srd train` writes and `srd rank` reads them: the ranker, its metadata and its vectoriser."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from srd_agents.own_code import import_own
from srd_agents.registry import RANKERS, RankerSpec, find_untrained, load_trained, model_folder
from srd_agents.training.files import CONFIG_FILE, STATE_FILE, ModelInfo
from srd_agents.training.options import check_type, config_from
from srd_gym.core.own import called
from srd_gym.data.lsa import LsaVectorizer
from srd_gym.protocols import Ranker
from srd_gym.showing import short_repr

_WITH_OPTIONS = re.compile(r"(?P<ranker>[^()]+)\((?P<options>.*)\)", re.DOTALL)
VECTORIZER_FOLDER = "vectorizer"
"""Inside a model folder: the vectoriser that was fitted on the training topics' texts."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A ranker as `srd rank` takes it."""

    __repr__ = short_repr

    ranker: Ranker
    """Ready to rank."""
    name: str
    """For the run's tag."""
    test_query_ids: tuple[str, ...] | None = None
    """The topics of the fold's test part, which training never saw; None where no fold is recorded."""
    vectorizer: LsaVectorizer | None = None
    """Makes the vectors the ranker was trained on."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Record of its training in its folder."""
    compares_words: bool = False
    """Whether documents that have texts and no vectors may be compared by their words: rankers by name."""
    finished: bool = True
    """Whether its training has ended; an interrupted one leaves its best weights so far."""


def digest_of(query_ids: Collection[str]) -> str:
    """A digest of the ids of topics in any order, by which a model knows those that it was trained on."""
    return hashlib.blake2b("\n".join(sorted(query_ids)).encode(), digest_size=8).hexdigest()


def load_model(
    name_or_folder: str, config: Mapping[str, object] | None = None, seed: int = 0, *, trust: bool = False
) -> Model:
    """A trained ranker from its folder or as "pretrained:NAME", or a heuristic by name.

    Args:
        name_or_folder: what `srd rank` was given.
        config: options of a heuristic by name, or those of a trained ranker's ranking (`Learner.ranking_with`).
        seed: of a heuristic that draws.
        trust: let a ranker by name, or code of one's own that a folder names ("module:NAME"), run.

    Raises:
        ValueError: neither a model folder nor a ranker that needs no training, or one that is not trusted; the message
            says what to do.
    """
    folder = model_folder(name_or_folder)
    if folder is None:
        import_own([name_or_folder, config or {}], trust=trust)
        spec = find_untrained(name_or_folder)
        return Model(
            ranker=spec.build(spec.configure(**(config or {})), seed=seed, trust=trust),
            name=spec.name,
            compares_words="vectors" in spec.needs and "model file" not in spec.needs,
        )
    if not (folder / CONFIG_FILE).is_file():
        unfinished = (folder / STATE_FILE).is_file()
        what = "an unfinished training run; finish it with --resume" if unfinished else "no trained ranker; train one"
        raise ValueError(f"{folder} holds {what}: `srd train`")
    info = _info(folder, config or {}, trust=trust)
    ranker: Any = load_trained(folder)
    if config:
        ranker = ranker.ranking_with(**config)
    recorded = info.metadata.get("test_query_ids")
    check_type(f"{folder / CONFIG_FILE}: test_query_ids", recorded, list[str] | None)
    return Model(
        ranker=ranker,
        name=info.ranker,
        test_query_ids=None if recorded is None else tuple(recorded),
        vectorizer=saved_vectorizer(folder),
        metadata=info.metadata,
        finished=info.history is None or info.history.get("stopped_by") is not None,
    )


def load_with_options(text: str, seed: int = 0, *, trust: bool = False) -> Model:
    """`load_model` of a name or a folder, alone or with options in brackets: "mmr(lambda_=0.3)".

    Args:
        text: what the command was given.
        seed: as of `load_model`.
        trust: as of `load_model`.

    Raises:
        ValueError: as `load_model`, or options that cannot be read.
    """
    match = None if Path(text).is_dir() else _WITH_OPTIONS.fullmatch(text.strip())
    if match is None:
        return load_model(text, {}, seed, trust=trust)
    options: dict[str, object] = called(dict, match["ranker"], match["options"])
    return load_model(match["ranker"], options, seed, trust=trust)


def ranking_options(folder: Path, *, trust: bool = False) -> tuple[Any, tuple[str, ...]]:
    """The options that a trained ranker may rank with.

    Args:
        folder: a model folder.
        trust: let code of one's own that the folder names run.

    Returns:
        (its options as it was trained, the names of those that may differ); (None, ()) where there are no such options.

    Raises:
        FileNotFoundError, ValueError: no folder of a trained ranker, or one that is not trusted.
    """
    info = _info(folder, {}, trust=trust)
    if info.ranker not in RANKERS or not (names := RANKERS[info.ranker].ranking_options):
        return None, ()
    return config_from(RANKERS[info.ranker].config_class, info.config, f"ranker {info.ranker!r} in {folder}"), names


def _info(folder: Path, ranking: Mapping[str, object], *, trust: bool) -> ModelInfo:
    """Content of a model folder's config; whatever ranking with these options needs is imported.

    A model ranks without what its training was paid, chosen or pruned by.
    """
    info = ModelInfo.read(folder)
    options = {**info.config, **ranking}
    import_own([info.ranker, options.get("pruning") if options.get("prune_ranking") else None], trust=trust)
    return info


def saved_vectorizer(folder: Path) -> LsaVectorizer | None:
    """The vectoriser in a model folder, or None."""
    where = folder / VECTORIZER_FOLDER
    return LsaVectorizer.load(where) if where.is_dir() else None


def write_heuristic(
    folder: Path,
    spec: RankerSpec,
    config: Mapping[str, object],
    vector_width: int | None,
    metadata: Mapping[str, object],
) -> None:
    """Write a heuristic with the options chosen for it as a model folder.

    Args:
        folder: created where missing.
        spec: the heuristic.
        config: all its options.
        vector_width: F of the topics they were chosen on.
        metadata: what is recorded of the choice.
    """
    ModelInfo(ranker=spec.name, config=dict(config), vector_width=vector_width, metadata=dict(metadata)).write(folder)
    load_trained(folder)  # what was written must be readable
