"""Makes the topic files of a recipe where they are not there yet, and runs the recipe.

    python -m studies.sources composed|composed-trec|texts-dev|texts-tuned [OPTIONS of srd benchmark]

The files are written below `topics/` here, from the real files below SRD_DATA_DIR: `du-div/`, `trec-web/` and
`texts/key-points/` for `composed` and `composed-trec`, the files of WordNet's database in `wordnet/` (with
`minilm-384.npz` and `e5-384.npz`, vectors of its synsets, words and senses) for the others.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from srd_gym.data import DataNotice, load_texts, write_topics
from srd_gym.topic import TopicSet
from srd_train.cli import main as srd
from srd_train.experiment.recipe import load_recipe
from srd_train.experiment.sources import TopicsEntry, data_root, load_entry
from studies.sources import RECIPES
from studies.sources.composition import compose_topics
from studies.sources.wordnet import load_wordnet

FOLDS = 5


def composed_of_arguments(source: str, *, recur: bool = False) -> TopicSet:
    """The judged topics of a source, composed of the arguments of `key-points`; parts are the folds of recipes."""
    topics = load_entry(TopicsEntry(name=source, source=source))
    topics = topics.replace(topic for topic in topics if topic.labelled)
    folder = data_root() / "texts" / "key-points"
    texts = load_texts(folder, vectors=folder / "minilm-384.npz", retrieve="none")
    test_sets = [fold.test.query_ids for fold in topics.folds(FOLDS, 0)]
    return compose_topics(topics, texts, test_sets, recur=recur)


def nouns(vectors: str | None) -> TopicSet:
    """WordNet's ambiguous nouns, candidates by BM25, with the vectors of a file beside the database's."""
    folder = data_root() / "wordnet"
    return load_wordnet(folder, vectors=None if vectors is None else folder / vectors)


MADE: Mapping[str, Callable[[], TopicSet]] = {
    "topics/du-div-composed.parquet": partial(composed_of_arguments, "du-div"),
    "topics/du-div-composed-recur.parquet": partial(composed_of_arguments, "du-div", recur=True),
    "topics/trec-indri-composed.parquet": partial(composed_of_arguments, "trec-indri"),
    "topics/wordnet.parquet": partial(nouns, None),
    "topics/wordnet-minilm.parquet": partial(nouns, "minilm-384.npz"),
    "topics/wordnet-e5.parquet": partial(nouns, "e5-384.npz"),
}
"""What recipes call a topic file -> what makes it."""


def main(words: Sequence[str]) -> int:
    """Make the topic files, and run the recipe."""
    names = sorted(path.stem for path in RECIPES.glob("*.toml"))
    if not words or words[0] not in names:
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    path = RECIPES / f"{words[0]}.toml"
    for entry in load_recipe(str(path)).topics:
        if entry.source in MADE and not Path(entry.source).exists():
            with warnings.catch_warnings(action="ignore", category=DataNotice):
                write_topics(entry.source, MADE[entry.source]())
    return srd(["benchmark", str(path), *words[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
