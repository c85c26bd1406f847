"""The topics that learners are checked on: odd ones, and ones that are easy to learn."""

from __future__ import annotations

import numpy as np

from srd_gym.topic import Topic, TopicSet


def ragged_topics() -> TopicSet:
    """Topics of 1 to 23 candidates with all that learners look at; the last has no query."""
    generator, made, words = np.random.default_rng(0), [], [f"word{i}" for i in range(200)]
    for index, n in enumerate((1, 2, 5, 9, 23, 12, 7, 11)):
        covered = np.maximum(generator.integers(0, 2, (n, 3)), np.eye(n, 3, dtype=np.int64))
        made.append(
            Topic(
                query_id=f"q{index}",
                query_vector=None if index == 7 else generator.normal(size=7).astype(np.float32),
                doc_ids=tuple(f"d{i}" for i in range(n)),
                doc_vectors=generator.normal(size=(n, 7)).astype(np.float32),
                doc_texts=tuple(" ".join(generator.choice(words, size=5 + i)) for i in range(n)),
                retrieval_scores=np.sort(generator.random(n).astype(np.float32))[::-1],
                subtopic_ids=("a", "b", "c"),
                judgments=covered,
            )
        )
    return TopicSet(made, name="ragged")


def toy_topics() -> TopicSet:
    """Four topics of six documents: the farther from the query, the better, which no first weights know."""
    cosines = np.array([-0.9, -0.7, -0.5, 0.3, 0.6, 0.9])
    texts = ("good alpha beta", "good gamma", "good alpha", "", "", "")
    judgments = np.zeros((6, 3), dtype=np.int8)
    judgments[[0, 0, 1, 2], [0, 1, 2, 0]] = 1
    made = []
    for index in range(4):
        generator = np.random.default_rng([4, index])
        aside = generator.normal(size=(6, 7))
        aside *= np.sqrt(1 - cosines**2)[:, None] / np.linalg.norm(aside, axis=1, keepdims=True)
        order = generator.permutation(6)
        made.append(
            Topic(
                query_id=f"toy{index}",
                query_vector=np.eye(8)[0],
                doc_ids=tuple("abcdef"),
                doc_vectors=np.column_stack([cosines, aside])[order],
                doc_texts=tuple(texts[i] for i in order),
                subtopic_ids=("0", "1", "2"),
                judgments=judgments[order],
            )
        )
    return TopicSet(made, name="toy")
