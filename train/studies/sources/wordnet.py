"""WordNet (Miller 1995; Princeton University) as a collection of texts: ambiguous words, and glosses about them.

The folder is the database's own (`data.noun`, `index.noun`, `data.verb`, ...; Debian: package wordnet-base, folder
/usr/share/wordnet; the format is wndb(5WN)). Every synset of every part of speech is a document, its text the synset's
words and gloss. A query is a noun, its subtopics are the word's senses, with their texts. A
document is relevant to a sense if it is the sense, or WordNet links the two directly (hypernyms, hyponyms, parts,
wholes, derivations, ...; a link of single words counts for these words only).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from srd_gym.checks import check_integer
from srd_gym.data.attach import Embedding
from srd_gym.data.collection import Collection, topics_of, with_vectors
from srd_gym.data.folders import existing_folder
from srd_gym.data.lsa import LsaVectorizer
from srd_gym.data.notices import tell
from srd_gym.files import PathLike
from srd_gym.reading import numbered_lines, shown
from srd_gym.topic import Topic, TopicSet
from srd_gym.trec_files import TopicQrels

T = TypeVar("T")

_WHAT = "WordNet"
_FILES = ("noun", "verb", "adj", "adv")
_HYPERNYMS = ("@", "@i")
_COVERED, _CANDIDATES = 2, 20
"""Senses that must have a relevant candidate, and candidates that there must be: fewer leave nothing to choose."""
_DATA = re.compile(r"(\d{8}) \d\d ([nvasr]) ([0-9a-f]{2}) (.*?) ?\| ?(.*)")
_INDEX = re.compile(r"(\S+) ([nvar]) \d+ .*?((?: \d{8})+) *")
_PLAIN = re.compile(r"[a-z]{3,}")
"""Queries are single words: a collocation is hardly ever ambiguous."""


@dataclass(frozen=True, kw_only=True)
class _Synset:
    """An entry of the database."""

    words: tuple[str, ...]
    gloss: str
    pointers: tuple[tuple[str, str, int], ...]
    """Symbol, id of the other synset, and number of the word that it is a link of (from 1 on; 0: of all)."""


def load_wordnet(
    folder: PathLike,
    *,
    words: int = 600,
    skip: int = 0,
    senses: int = 3,
    vectors: PathLike | LsaVectorizer | Embedding | None = None,
    depth: int = 100,
) -> TopicSet:
    """Topics of ambiguous words, whose candidates BM25 finds.

    Words stand in an order that their spelling alone fixes (a hash), so that sets with other `skip` share no word.
    Those with fewer than 20 candidates, or with fewer than two senses that have a relevant one, are left out, with a
    `DataNotice`.

    Args:
        folder: holds the database's files.
        words: how many to draw; a third to a half of them become topics.
        skip: how many to pass over first.
        senses: of a word, at least.
        vectors: as for `load_texts`.
        depth: candidates of a word, at most.

    Raises:
        FileNotFoundError: no such folder, or a file is not in it.
        ImportError: bm25s or scikit-learn is not installed.
        ValueError: a malformed line (file and line are named), no such words, or as `load_texts`.
    """
    for name, value, low in (("words", words, 1), ("skip", skip, 0), ("senses", senses, 2)):
        check_integer(name, value, low)
    place = existing_folder(folder, _WHAT)
    synsets = dict(entry for name in _FILES for entry in _entries(place / f"data.{name}", _DATA, _synset))
    drawn = _words(place, senses)[skip : skip + words]
    if not drawn:
        raise ValueError(f"{_WHAT}: {place}: no nouns of {senses} senses or more are left behind the first {skip}")
    collection = _collection(place, synsets, dict(drawn))
    indexed = replace(collection, documents={own_id: _indexed(synsets, synset) for own_id, synset in synsets.items()})
    candidates = topics_of(indexed, vectors=None, retrieve="bm25", depth=depth, missing="error")
    topics = candidates.replace(
        (
            replace(topic, doc_texts=tuple(collection.documents[doc_id] for doc_id in topic.doc_ids))
            for topic in candidates
            if _is_ambiguous(topic)
        ),
        name="wordnet nouns",
    )
    left_out = sorted({word for word, _ in drawn} - set(topics.query_ids))
    rule = f"fewer than {_CANDIDATES} candidates, or fewer than {_COVERED} senses among them"
    tell(place, f"of {len(drawn)} words have {rule}: left out", left_out)
    if not len(topics):
        raise ValueError(f"{_WHAT}: {place}: all of {len(drawn)} words have {rule}; draw more of them")
    return with_vectors(topics, collection, vectors, "error")


def _is_ambiguous(topic: Topic) -> bool:
    """Whether there is something to choose among its candidates."""
    covered = 0 if topic.judgments is None else int(topic.judgments.any(axis=0).sum())
    return covered >= _COVERED and topic.n_candidates >= _CANDIDATES


def _entries(path: Path, form: re.Pattern[str], entry: Callable[..., T]) -> Iterator[T]:
    """What `entry` makes of the parts of each line."""
    for number, line in numbered_lines(path, _WHAT):
        if line.startswith("  ") or not line.strip():
            continue  # the licence
        try:
            match = form.fullmatch(line.rstrip())
            if match is None:
                raise ValueError
            yield entry(*match.groups())
        except (ValueError, IndexError) as error:
            raise ValueError(f"{_WHAT}: {path}:{number}: no entry as wndb(5WN) has them: {shown(line)}") from error


def _synset(offset: str, kind: str, count: str, rest: str, gloss: str) -> tuple[str, _Synset]:
    """An entry of a data file, and its id, such as "00001740-n".

    Raises:
        ValueError, IndexError: there is none.
    """
    fields, n = rest.split(" "), int(count, 16)
    words = tuple(re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in fields[: 2 * n : 2])
    wanted = 4 * int(fields[2 * n])
    pointers = fields[2 * n + 1 : 2 * n + 1 + wanted]
    if len(pointers) != wanted:
        raise ValueError
    return f"{offset}-{_part(kind)}", _Synset(
        words=words,
        gloss=gloss.strip(),
        pointers=tuple(
            (symbol, f"{other}-{_part(kind)}", int(numbers[:2], 16))
            for symbol, other, kind, numbers in zip(*(pointers[i::4] for i in range(4)), strict=True)
        ),
    )


def _part(kind: str) -> str:
    """The part of speech; satellites stand in the file of adjectives."""
    return "a" if kind == "s" else kind


def _words(folder: Path, senses: int) -> list[tuple[str, list[str]]]:
    """Plain nouns with so many senses and the ids of these, in the order of their hashes."""

    def entry(word: str, kind: str, offsets: str) -> tuple[str, list[str]]:
        # Numbers of fields before the offsets look like counts, never like offsets: these have eight digits.
        return word, [f"{offset}-{kind}" for offset in offsets.split()]

    entries = _entries(folder / "index.noun", _INDEX, entry)
    plain = [(word, ids) for word, ids in entries if _PLAIN.fullmatch(word) and len(ids) >= senses]
    return sorted(plain, key=lambda entry: hashlib.sha256(entry[0].encode()).digest())


def _collection(folder: Path, synsets: dict[str, _Synset], senses: dict[str, list[str]]) -> Collection:
    """Documents, and the words with their senses and judgments."""
    for word, ids in senses.items():
        unknown = [own_id for own_id in ids if own_id not in synsets]
        if unknown:
            raise ValueError(
                f"{_WHAT}: {folder}: sense {unknown[0]} of {shown(word)} in index.noun is in no data file; the files "
                "must be of one version"
            )
    texts = {own_id: f"{', '.join(synset.words)}: {synset.gloss}" for own_id, synset in synsets.items()}
    return Collection(
        folder=folder,
        documents=texts,
        queries={word: word for word in senses},
        subtopics={word: {own_id: texts[own_id] for own_id in ids} for word, ids in senses.items()},
        judged={word: _judged(synsets, word, ids) for word, ids in senses.items()},
    )


def _indexed(synsets: dict[str, _Synset], synset: _Synset) -> str:
    """What BM25 finds a document by: the gloss and the words of the hypernyms."""
    above = [synsets[other].words for symbol, other, _ in synset.pointers if symbol in _HYPERNYMS and other in synsets]
    return " ".join([synset.gloss, *(word for words in above for word in words)])


def _judged(synsets: dict[str, _Synset], word: str, senses: list[str]) -> TopicQrels:
    """The senses of a word and all that WordNet links to them."""
    linked: dict[str, set[str]] = {}
    for sense in senses:
        synset = synsets[sense]
        number = next((i for i, own in enumerate(synset.words, start=1) if own.lower() == word), 0)
        others = {other for _, other, of in synset.pointers if of in (0, number) and other in synsets}
        linked[sense] = {sense, *others}
    doc_ids = tuple(sorted(set().union(*linked.values())))
    judgments = np.array([[doc_id in linked[sense] for sense in senses] for doc_id in doc_ids], dtype=np.int8)
    return TopicQrels(doc_ids=doc_ids, subtopic_ids=tuple(senses), judgments=judgments)
