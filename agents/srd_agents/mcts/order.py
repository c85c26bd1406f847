"""The order in which equal candidates come: drawn from their ids, never from where they stand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from srd_gym.protocols import IntArray
from srd_gym.topic import FloatArray, Topic


def seeded_order(topic: Topic, seed: int) -> IntArray:
    """A shuffle of the candidates that depends on the seed and on ids alone.

    The published code breaks ties by index on files in ideal order, which leaks the labels; with this order a
    permutation of the candidates changes nothing.

    Args:
        topic: with N candidates.
        seed: any integer from 0.

    Returns:
        [N] int64, candidate indices in the new order.
    """
    key = hashlib.blake2b(f"{seed} {topic.query_id}".encode(), digest_size=16).digest()
    digests = [hashlib.blake2b(name.encode(), key=key, digest_size=8).digest() for name in topic.doc_ids]
    return np.argsort(np.frombuffer(b"".join(digests), ">u8"), kind="stable").astype(np.int64)


@dataclass(frozen=True, slots=True)
class OrderedTopic:
    """A topic's vectors with its candidates in seeded order."""

    order: IntArray
    """[N], place -> candidate."""
    documents: FloatArray
    """[N, F] in that order."""
    query: FloatArray
    """[F]; zeros where there is none."""

    @classmethod
    def of(cls, topic: Topic, seed: int) -> OrderedTopic:
        """The topic as networks and trees see it.

        Raises:
            ValueError: it has no vectors.
        """
        if topic.doc_vectors is None:
            raise ValueError(f"topic {topic.query_id!r} has no document vectors; make some before ranking or training")
        order = seeded_order(topic, seed)
        documents = np.ascontiguousarray(topic.doc_vectors[order])
        query = np.zeros(documents.shape[1], np.float32) if topic.query_vector is None else topic.query_vector
        return cls(order, documents, query)
