"""Latent semantic analysis: vectors of texts that are fitted on some texts and applied to others.

TF-IDF, then a truncated singular value decomposition (Deerwester et al., JASIS 1990). Fitted on the training fold only
and saved with the model it is inductive; put into a topic set beforehand it has seen all folds, and the set is marked
transductive.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from srd_gym.checks import check_integer
from srd_gym.data.attach import doc_texts, embed_topics
from srd_gym.data.folders import existing_folder
from srd_gym.files import PathLike, written_atomically
from srd_gym.installing import how_to_install
from srd_gym.reading import open_npz, read_json_object, reading, refuse_pickle, shown
from srd_gym.showing import repr_of
from srd_gym.topic import FloatArray, Topic, TopicSet, as_topic_set

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

FORMAT_VERSION = 1
"""Rises when the saved files change their meaning."""

_WHAT = "LSA vectoriser"
_ARRAYS = "lsa.npz"
_ABOUT = "lsa.json"
_ADVICE = "fit it again and save it"
_MAX_TERMS = 50_000


class LsaVectorizer:
    """Texts to vectors of length 1.

    Words are runs of two or more letters or digits, folded to lower case; term counts are damped (1 + log) and
    weighted by inverse document frequency; the decomposition is randomised with a fixed seed, so that the same texts
    give the same vectors on one machine. Where the texts have fewer dimensions than asked for, the rest are 0. A text
    without a known word is the zero vector.

    Args:
        width: F, the number of dimensions.
    """

    __repr__ = repr_of("width", "encoder")

    def __init__(self, width: int = 100) -> None:
        check_integer(f"{_WHAT}: width", width, 1)
        self.width = int(width)
        self._weigher: TfidfVectorizer | None = None
        self._components = np.empty((self.width, 0), dtype=np.float32)
        self._encoder: str | None = None

    @property
    def fitted(self) -> bool:
        """Whether `fit` (or `load`) has given it a vocabulary."""
        return self._weigher is not None

    @property
    def encoder(self) -> str | None:
        """Name for `TopicSet.encoder`: "lsa" and a digest of the fitted parts; None before fitting."""
        if self._encoder is None and self.fitted:
            self._encoder = f"lsa-{hashlib.blake2b(self._components.tobytes(), digest_size=4).hexdigest()}"
        return self._encoder

    def fit(self, texts: Iterable[str]) -> Self:
        """Learn vocabulary, document frequencies and dimensions.

        Args:
            texts: with two different words at least; the 50,000 most frequent words are kept.

        Returns:
            Itself.

        Raises:
            ImportError: scikit-learn is not installed.
            ValueError: fewer words.
        """
        weigher = _new_weigher(max_features=_MAX_TERMS)
        listed = list(texts)
        from sklearn.decomposition import TruncatedSVD

        try:
            counts = weigher.fit_transform(listed)
            rank = min(self.width, *counts.shape)
            svd = TruncatedSVD(n_components=rank, algorithm="randomized", n_iter=7, random_state=0).fit(counts)
        except ValueError as error:
            raise ValueError(
                f"{_WHAT}: {len(listed)} texts hold too few words to learn from ({error}); give texts, or vectors by "
                "document id instead (--vectors FILE)"
            ) from error
        components = np.zeros((self.width, counts.shape[1]), dtype=np.float32)
        components[:rank] = svd.components_
        self._weigher, self._components, self._encoder = weigher, components, None
        return self

    def fit_topics(self, topics: TopicSet | Iterable[Topic]) -> Self:
        """`fit` on the document texts of these topics: the training fold, and nothing else.

        Raises:
            ValueError: a topic without document texts.
        """
        topics = as_topic_set(topics)
        return self.fit(text for topic in topics for text in doc_texts(topic, topics))

    def transform(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of texts.

        Returns:
            [n, F] float32; rows of length 1, or 0 for a text without a known word.

        Raises:
            RuntimeError: not fitted.
        """
        if self._weigher is None:
            raise RuntimeError(f"{_WHAT}: not fitted; call fit(texts) or load(folder) first")
        return unit_rows(np.asarray(self._weigher.transform(list(texts)) @ self._components.T, dtype=np.float32))

    def apply(self, topics: TopicSet | Iterable[Topic], *, transductive: bool = False) -> TopicSet:
        """The topics with vectors of their documents, queries and subtopics.

        Args:
            topics: topics with `doc_texts`.
            transductive: say True where the vectoriser was fitted on texts of topics that will be tested on.

        Raises:
            ValueError: a topic without document texts.
            RuntimeError: not fitted.
        """
        return embed_topics(topics, self.transform, transductive=transductive, encoder=self.encoder)

    def save(self, folder: PathLike) -> None:
        """Write `lsa.json` (the vocabulary) and `lsa.npz` (numbers), each whole or not at all.

        Raises:
            RuntimeError: not fitted.
        """
        if self._weigher is None:
            raise RuntimeError(f"{_WHAT}: nothing to save before fit(texts)")
        about = {"format_version": FORMAT_VERSION, "terms": self._weigher.get_feature_names_out().tolist()}
        with written_atomically(Path(folder) / _ARRAYS) as temporary, temporary.open("wb") as stream:
            np.savez(stream, idf=self._weigher.idf_, components=self._components)
        with written_atomically(Path(folder) / _ABOUT) as temporary:
            temporary.write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Read what `save` wrote; no pickle is ever read.

        Raises:
            FileNotFoundError: the folder or one of the files is not there.
            ImportError: scikit-learn is not installed.
            ValueError: files of another form or of a later version, or that do not belong together.
        """
        place = existing_folder(folder, _WHAT)
        about = read_json_object(place / _ABOUT, _WHAT, _ADVICE)
        refuse_pickle(place / _ARRAYS, _WHAT, _ADVICE)
        with open_npz(place / _ARRAYS, _WHAT, _ADVICE) as arrays:
            idf, components = arrays["idf"], arrays["components"]
        with reading(place, _WHAT, "a saved vectoriser", _ADVICE):
            version, terms = about["format_version"], about["terms"]
            if version != FORMAT_VERSION:
                raise ValueError(f"format version {shown(str(version))}, expected {FORMAT_VERSION}: upgrade srd_gym")
            if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
                raise ValueError(f"terms of {_ABOUT} must be a list of texts")
            if components.shape[1:] != idf.shape or not (np.isfinite(idf).all() and np.isfinite(components).all()):
                raise ValueError(f"{_ARRAYS} must hold finite numbers, idf [terms] and components [width, terms]")
            loaded = cls(len(components))
            loaded._weigher, loaded._components = _new_weigher(vocabulary=terms), components
            loaded._weigher.idf_ = idf  # scikit-learn compares them with the terms
        return loaded


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: FloatArray = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


def _new_weigher(**settings: object) -> TfidfVectorizer:
    """scikit-learn's TF-IDF with our settings."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise ImportError(
            f"vectors of texts by LSA need scikit-learn, which is not installed: {how_to_install('text')}"
        ) from error
    return TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w\w+\b", **settings)
