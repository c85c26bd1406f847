"""A stock policy learns from `observation="features"`: on unseen topics it ends above MMR and the retrieval order."""

from __future__ import annotations

from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import srd_gym
from srd_agents import make_ranker
from srd_agents.acting import as_ranker
from srd_gym.measures import evaluate

MEASURE = "alpha_nDCG@10"
SETTINGS = {
    "n_steps": 80,
    "batch_size": 640,
    "n_epochs": 30,
    "learning_rate": 3e-3,
    "gamma": 0.0,  # greedy: alpha_nDCG's ideal ranking takes the largest gain at each rank, too
    "gae_lambda": 0.9,
    "policy_kwargs": {"net_arch": [], "optimizer_kwargs": {"weight_decay": 1e-3, "eps": 1e-5}},
}
"""Chosen on `synthetic:serp:1000:7`; recipe `curves` has five seeds with these settings."""


def test_a_stock_maskable_ppo_ends_above_mmr() -> None:
    fold = srd_gym.load_topics("synthetic:serp").folds(5, seed=0)[0]
    task = {"topics": fold.train, "reward": MEASURE, "observation": "features"}
    env = make_vec_env("srd_gym:SRD-v0", n_envs=16, seed=0, env_kwargs=task)
    model = MaskablePPO("MultiInputPolicy", env, seed=0, **SETTINGS)
    model.learn(25_600)

    def value(ranker, topics):
        rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
        return evaluate(topics, rankings, [MEASURE]).measures[MEASURE]

    tuned = max((make_ranker("mmr", lambda_=step / 10) for step in range(11)), key=lambda mmr: value(mmr, fold.train))
    learned = value(as_ranker(model, observation="features"), fold.test)
    assert learned > max(value(tuned, fold.test), value(make_ranker("retrieval-order"), fold.test))
