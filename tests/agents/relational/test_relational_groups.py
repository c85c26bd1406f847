"""Relations left out of the relational ranker: which they are, and that leaving them out is what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srd_agents.config import as_values, config_from
from srd_agents.registry import make_ranker
from srd_agents.reinforce.config import ReinforceConfig
from srd_agents.relational import forward, ranker
from srd_agents.relational.forward import Weights, weight_shapes
from srd_agents.relational.groups import BLOCKS, GROUPS, rows_kept
from srd_agents.relational.relations import DYNAMIC, STATIC, Ranked, Relations
from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet

SMALL = {"init": "random", "epochs": 2, "batch_topics": 4, "units": 6, "second": 4, "average": 0.9}


@pytest.fixture(scope="module")
def topics() -> TopicSet:
    return generate("wide", n_topics=8, seed=2, width=24, largest=24)


def test_groups_name_relations_that_exist_and_cover_all() -> None:
    for blocks in GROUPS.values():
        for block, names in blocks.items():
            assert names
            assert set(names) <= set(BLOCKS[block])
    everything = rows_kept(tuple(GROUPS))
    assert not any(rows.any() for rows in everything.values())
    assert rows_kept(()) == {}


@pytest.mark.parametrize("group", GROUPS)
def test_rows_left_out_stay_zero_and_all_others_learn(group: str, topics: TopicSet) -> None:
    learner: Any = make_ranker("relational", without=[group], **SMALL)
    learner.fit(topics, seed=0)
    kept = rows_kept((group,))
    for block, names in BLOCKS.items():
        rows = kept.get(block, np.ones((len(names), 1)))[:, 0] == 1
        weights = getattr(learner.relational_weights(), block)
        assert not weights[~rows].any()
        assert weights[rows].any(axis=1).all()


def test_fine_tuning_can_leave_relations_out_too(topics: TopicSet) -> None:
    learner: Any = make_ranker("relational", epochs=1, without=("query", "ahead"))
    learner.fit(topics, seed=0)
    for block, rows in rows_kept(("query", "ahead")).items():
        assert not getattr(learner.relational_weights(), block)[rows[:, 0] == 0].any()


def test_ranking_is_as_if_the_relations_were_zero(topics: TopicSet, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = ("order", "ranked")
    rng, kept = np.random.default_rng(3), rows_kept(groups)
    drawn = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in weight_shapes(8, 6).items()}
    masked = Weights.of({name: array * kept.get(name, np.float32(1)) for name, array in drawn.items()})
    found = ranker.rank_topics(masked, topics, 10)
    unmasked = ranker.rank_topics(Weights.of(drawn), topics, 10)
    assert any(a.tolist() != b.tolist() for a, b in zip(found, unmasked, strict=True))

    class Blind(Ranked):
        def add(self, chosen: np.ndarray[Any, Any]) -> None:
            super().add(chosen)
            self.features *= kept["dynamic"][:, :, None]

    whole = ranker.relations_of

    def blind(given: Any) -> Relations:
        relations = whole(given)
        static, context = relations.static * kept["static"][:, 0], relations.context * kept["context"][:, 0]
        return relations._replace(static=static, context=context)

    assert kept["static"].shape == (len(STATIC), 1)
    assert kept["dynamic"].shape == (len(DYNAMIC), 1)
    monkeypatch.setattr(ranker, "relations_of", blind)
    monkeypatch.setattr(forward, "Ranked", Blind)
    for expected, ranking in zip(ranker.rank_topics(Weights.of(drawn), topics, 10), found, strict=True):
        assert ranking.tolist() == expected.tolist()


def test_wrong_groups_are_named() -> None:
    with pytest.raises(ValueError, match="unknown group of relations: 'neighbors'"):
        ReinforceConfig(without=("neighbors",))
    with pytest.raises(ValueError, match="names a group of relations twice: order, order"):
        ReinforceConfig(without=("order", "order"))
    with pytest.raises(TypeError, match=r"without must be a list, as \['order'\], got 'order'"):
        make_ranker("relational", without="order")
    given = ReinforceConfig(without=("order",))
    assert as_values(given)["without"] == ["order"]
    assert config_from(ReinforceConfig, as_values(given), "ranker") == given
