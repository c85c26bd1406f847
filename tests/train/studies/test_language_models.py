"""A tiny language model that learns to cover, as far as no trainer is needed (tests/third_party/trl has it)."""

from __future__ import annotations

import numpy as np
from small_topics import refused

from studies.language_models.run import LanguageModels
from studies.language_models.tiny import CANDIDATES, SENSES, make_reward, make_topics


def test_topics_are_words_whose_senses_are_judged() -> None:
    topics = make_topics(3)
    reward = make_reward(topics)
    for topic in topics:
        judged = [SENSES[row.argmax()] if row.any() else "spam" for row in np.asarray(topic.judgments)]
        assert list(topic.doc_texts or ()) == judged
        assert reward.ask(topic.query_id).split()[0] == topic.query_id
        assert len(reward.ask(topic.query_id).split()) == 1 + 2 * CANDIDATES
    assert make_topics(3)[2].doc_texts == topics[2].doc_texts


def test_no_updates_or_topics_are_refused() -> None:
    refused(lambda: LanguageModels(updates=0).execute(None), "expected at least one update and topic")  # type: ignore[arg-type]
