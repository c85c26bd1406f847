from __future__ import annotations

from dataclasses import replace

from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from studies.synthetic_tables import noise_sweep


def test_mmr_comes_down_to_a_random_order_with_more_noise() -> None:
    topics = generate("serp", n_topics=100)
    judged = [replace(topic, doc_vectors=None, query_vector=None, subtopic_vectors=None) for topic in topics]
    rows = list(noise_sweep(TopicSet(judged, name="judged")))
    leads = [float(mmr) - float(random) for _, random, mmr, _ in rows]
    assert leads[0] > 0.03
    assert abs(leads[-1]) < 0.02
    assert rows[0][0] == "0.5"
