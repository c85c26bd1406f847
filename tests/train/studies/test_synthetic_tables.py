from __future__ import annotations

from dataclasses import replace

from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from studies.synthetic_tables import noise_sweep


def test_learning_helps_less_with_more_noise() -> None:
    topics = generate("serp", n_topics=400)
    judged = [replace(topic, doc_vectors=None, query_vector=None, subtopic_vectors=None) for topic in topics]
    rows = list(noise_sweep(TopicSet(judged, name="judged"), catalogue=25))
    values = [row["linear"] for row in rows]
    assert values == sorted(values, reverse=True)
    assert values[0] > rows[0]["mmr"] > rows[0]["random"]
    assert rows[0]["name"] == "judged (simulated, noise 0.5, catalogue 25)"
    private = next(noise_sweep(TopicSet(judged[:20], name="judged")))
    assert private["linear"] is None
