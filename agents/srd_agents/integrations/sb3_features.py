"""Algorithms of Stable-Baselines3 with stock policies on `observation="features"`, as rows of recipes.

[[rankers]]
ranker = "srd_agents.integrations.sb3_features:OnFeatures"
config = { algorithm = "MaskablePPO", policy = "stock" }
"""

from __future__ import annotations

from typing import Any, ClassVar

from srd_agents.acting.rankers import as_ranker
from srd_agents.sb3.algorithms import Sb3Algorithm
from srd_gym.protocols import Ranker


class OnFeatures(Sb3Algorithm):
    """`Sb3Algorithm` whose stock policy sees features."""

    observation: ClassVar[str] = "features"

    def _ranking_with(self, model: Any) -> Ranker:
        return as_ranker(model, observation="features")
