"""Options of learners that lie out of range or do not go together are refused, each by its name."""

from __future__ import annotations

import re
from typing import Any

import pytest

from srd_agents.registry import RANKERS

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("mcts", {"simulations": 0}, "simulations must be at least 1, got 0"),
    ("mcts", {"rank_by": "searching"}, "Did you mean search"),
    ("mcts", {"root": "gumbel", "dirichlet_fraction": 0.25}, "draws its own noise"),
    ("mcts", {"attention": 5, "heads": 2}, "multiple of heads"),
    ("mcts", {"root": "puct", "dirichlet_fraction": 1.5}, "dirichlet_fraction must be a finite number from 0.0 to 1.0"),
    ("mcts", {"simulation": 3}, "unknown option of ranker 'mcts'"),
    ("mcts", {"considered": 3}, "Did you mean max_num_considered_actions"),
    ("mdp-div", {"batch_topics": 4}, "batch_topics must be 1 for mdp-div"),
    ("mdp-div", {"gamma": 1.5}, "gamma must be a finite number from 0.0 to 1.0, got 1.5"),
    ("mdp-div", {"init": "papper"}, "Did you mean paper"),
    ("mdp-div", {"learning_rat": 0.1}, "unknown option of ranker 'mdp-div'"),
    ("mdp-div-batched", {"rollouts": 1}, "rollouts must be at least 2, got 1"),
    ("mdp-div", {"pruning": "knn:1.5"}, "fraction must be between 0 and 1, got 1.5"),
    ("mdp-div", {"pruning": "nearest"}, "cannot read the pruning description 'nearest'"),
    ("mdp-div", {"prune_ranking": True}, 'needs a ranker that prunes; add a strategy, such as pruning="knn:0.3"'),
    ("mdp-div-knn10", {"prune_ranking": True, "decoding": "beam"}, "needs prune_ranking=False"),
    ("mdp-div-ntn-d", {"ntn_tensor_rate": 0.0}, "ntn_tensor_rate must be above 0"),
    ("mdp-div-ntn-d", {"pruning": "knn:0.1"}, "prunes by its own NTN-DIV, so it takes no pruning='knn:0.1'"),
    ("mdp-div-ntn-e", {"keep": 0.0}, "keep must be above 0, got 0"),
    ("mdp-div-ntn-e", {"keep": 1.5}, "keep must be a finite number from 0.0 to 1.0, got 1.5"),
    ("qmix", {"n_scores": 1}, "n_scores must be at least 2, got 1"),
    ("qmix", {"n_scores": 65537}, "n_scores must be at most 65536"),
    ("qmix", {"attention_width": 10}, "attention_width must be a multiple of heads, got width 10 and 4 heads"),
    ("qmix", {"epsilon_end": 2.0}, "epsilon_end must be a finite number from 0.0 to 1.0, got 2.0"),
    ("qmix", {"tie_break": "reteival"}, "Did you mean retrieval"),
    ("qmix", {"state": "flatt"}, "Did you mean flat"),
    ("qmix", {"state": "flat"}, "state='flat' needs max_candidates"),
    ("qmix", {"replay_capacity": 0}, "replay_capacity must be at least 1"),
    ("qmix", {"reward": "alpha_nDCG@5 +  + StRecall@3"}, 'measures joined by " + "'),
    ("reinforce", {"rollouts": 1}, "rollouts must be at least 2"),
    ("reinforce", {"alone": 1.0}, "alone must be"),
    ("reinforce", {"sequences": 0}, "sequences must be at least 1"),
    ("reinforce", {"parts": "vectors"}, "unknown parts: 'vectors'"),
    ("reinforce", {"pruning": "knm:0.3"}, "knn"),
    ("maskable-ppo", {"batch_size": 1}, "batch_size must be at least 2"),
    ("maskable-ppo", {"clip_range": 0.0}, "clip_range must be above 0"),
    ("maskable-ppo", {"gae_lambda": 1.5}, "gae_lambda must be a finite number from 0.0 to 1.0"),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD)
def test_options_out_of_range_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        RANKERS.find(name).configure(**options)


@pytest.mark.parametrize(("name", "settings"), [
    ("m2div", {"horizon": 5, "simulations": 5000, "hidden": 5, "exploration": 3.0, "root": "puct", "batch_topics": 1}),
    ("m2div", {"optimizer": "adagrad", "learning_rate": 0.01, "attention": 0, "unvisited": "zero"}),
    ("m2div", {"dirichlet_fraction": 0.0}),
    ("ma4div", {"n_scores": 15, "attention_width": 256, "heads": 4, "blocks": 1, "state": "flat", "batch_size": 256}),
    ("ma4div", {"learning_rate": 1e-4, "clip_norm": 10.0, "epsilon_start": 1.0, "epsilon_end": 0.05}),
    ("ma4div", {"rewards": ("alpha_nDCG@5", "alpha_nDCG@15")}),
])  # fmt: skip
def test_a_papers_name_has_its_settings_and_takes_others(name: str, settings: dict[str, Any]) -> None:
    config = RANKERS[name].configure(epochs=7)
    assert config.epochs == 7
    assert {option: getattr(config, option) for option in settings} == settings
