"""Topics of given sizes, for what is measured.

Shapes: N documents, F vector width.
"""

from __future__ import annotations

import numpy as np

from srd_gym.topic import Topic, TopicSet


def web(count: int, candidates: int, width: int = 100) -> TopicSet:
    """Generated topics of one size, like those of the TREC Web Track."""
    from srd_gym.data.synthetic import generate  # here, as memory is measured of what does not need it

    return generate("web", n_topics=count, seed=0, width=width, candidates=(candidates, candidates))


def alike(count: int, documents: int, width: int, groups: int = 20) -> list[Topic]:
    """Topics with random vectors and falling random scores.

    Args:
        count: how many.
        documents: N.
        width: F.
        groups: documents share a direction with all, and another with those of their cluster, as texts on one query
            do; their cosines are about 0.5 and 0.85. This is how many clusters; 0: random vectors.
    """
    rng = np.random.default_rng(0)
    topics = []
    for index in range(count):
        vectors = rng.standard_normal((documents, width), dtype=np.float32)
        if groups:
            centres = rng.standard_normal((groups, width), dtype=np.float32)
            shared = rng.standard_normal(width, dtype=np.float32)
            vectors = (0.6 * vectors + 0.8 * centres[rng.integers(groups, size=documents)] + shared).astype(np.float32)
        scores = np.sort(rng.random(documents, dtype=np.float32))[::-1]
        ids = tuple(map(str, range(documents)))
        topics.append(Topic(query_id=str(index), doc_ids=ids, doc_vectors=vectors, retrieval_scores=scores))
    return topics


def judged(count: int, documents: int, width: int) -> TopicSet:
    """Topics with vectors and judgments that mean nothing: the cost of a pass does not depend on them."""
    rng = np.random.default_rng(0)
    return TopicSet(
        [
            Topic(
                query_id=str(index),
                doc_ids=tuple(map(str, range(documents))),
                doc_vectors=rng.standard_normal((documents, width), dtype=np.float32),
                query_vector=rng.standard_normal(width, dtype=np.float32),
                subtopic_ids=tuple("abcdef"),
                judgments=(rng.random((documents, 6)) < 0.2).astype(np.int8),
            )
            for index in range(count)
        ],
        name="judged",
    )
