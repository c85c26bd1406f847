"""Policies for MaskablePPO, PPO, A2C (and TRPO) and DQN that score candidates with shared weights.

    from sb3_contrib import MaskablePPO
    model = MaskablePPO(policy_for(MaskablePPO), env, policy_kwargs=policy_arguments(env), seed=0)

Shapes: B states, N candidates, H hidden width.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from srd_agents.networks.inputs import MASKED_LOGIT
from srd_agents.sb3.extractor import CandidateExtractor
from srd_agents.sb3.spaces import topics_of


class CandidatePolicy(BasePolicy):
    """Base of our policies: they say what is wrong with an observation, and can be saved without a model.

    Args:
        args: as SB3 hands them over: the spaces of `SRD-v0`, full or compact, and the schedule of the learning rate.
        options: as SB3 has them; `features_extractor_kwargs` (topics, hidden) are of `CandidateExtractor`.

    Raises:
        ValueError: other spaces.
    """

    def __init__(self, *args: object, **options: Any) -> None:
        fixed: Any = {"features_extractor_class": CandidateExtractor, "net_arch": []}
        super().__init__(*args, **fixed, **options)

    def obs_to_tensor(self, observation: Any) -> tuple[PyTorchObs, bool]:
        """As SB3 has it.

        Raises:
            ValueError: an observation of other keys or shapes than those that the policy was built for.
        """
        try:
            return super().obs_to_tensor(observation)
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"this policy was built for observations of other keys or shapes ({error}). observation=... sets the "
                "keys, max_candidates the number of candidates, horizon the ranks, the vectors the width: make the "
                "environment with those of training, or rank topics of any size with srd_agents.sb3.ranker.SB3Ranker"
            ) from error

    def _get_constructor_parameters(self) -> dict[str, Any]:
        keys = ("observation_space", "action_space", "features_extractor_kwargs", "optimizer_class", "optimizer_kwargs")
        return {"lr_schedule": self._dummy_schedule, **{name: getattr(self, name) for name in keys}}


class CandidateActorCritic(CandidatePolicy):
    """Base of the policies that have logits and a value."""

    def _build(self, lr_schedule: Schedule) -> None:
        """Set up as SB3 does, without weights of its own: the extractor's network has them all."""
        policy: Any = self
        policy._build_mlp_extractor()  # of no layers: the features as they are
        policy.action_net, policy.value_net = (part(int(policy.action_space.n)) for part in (_LogitsOnOffer, _Value))
        policy.optimizer = policy.optimizer_class(policy.parameters(), lr=lr_schedule(1), **policy.optimizer_kwargs)


class MaskablePointerPolicy(CandidateActorCritic, MaskableActorCriticPolicy):
    """The policy for sb3-contrib's MaskablePPO.

    Candidates that the observation's mask forbids are never chosen, whether or not `predict` is told the masks.
    """

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[np.ndarray[Any, Any], Any]:
        """As SB3 has it; without `action_masks` it warns and goes by the mask in the observation."""
        if action_masks is None:
            warnings.warn(
                "predict was called without action_masks. This policy takes the mask in the observation instead, but a "
                "stock policy would choose documents that are ranked already: pass action_masks=env.action_masks() "
                "(get_action_masks(vec_env) for a VecEnv), and evaluate with sb3_contrib.common.maskable.evaluation."
                "evaluate_policy or MaskableEvalCallback, not with their namesakes of stable_baselines3",
                UserWarning,
                stacklevel=3,  # whoever called model.predict
            )
        actions: tuple[np.ndarray[Any, Any], object] = super().predict(
            observation, state, episode_start, deterministic, action_masks
        )
        return actions


class PointerPolicy(CandidateActorCritic, ActorCriticPolicy):
    """The policy for PPO, A2C and TRPO, which know no masks: it reads the mask in the observation."""


class PointerQNetwork(QNetwork):
    """Action values: the candidates' scores, masked ones one below the least allowed."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.q_net = nn.Sequential(_ValuesOnOffer(int(self.action_space.n)))


class PointerDQNPolicy(CandidatePolicy, DQNPolicy):
    """The policy for DQN. Neither the greedy action nor the target is ever masked.

    DQN itself explores with actions drawn blindly from all N: on `SRD-v0` some of them waste their rank.
    """

    def make_q_net(self) -> PointerQNetwork:
        """A network with an extractor of its own."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return PointerQNetwork(**arguments).to(self.device)


def policy_for(algorithm: type[BaseAlgorithm]) -> type[Any]:
    """Our policy class for an algorithm of stable_baselines3 or sb3_contrib, to hand over in place of a policy's name.

    Raises:
        ValueError: an algorithm that none of them fits; the message says what to do.
    """
    stock = getattr(algorithm, "policy_aliases", {}).get("MultiInputPolicy", object)
    for base, ours in (
        (MaskableActorCriticPolicy, MaskablePointerPolicy),
        (ActorCriticPolicy, PointerPolicy),
        (DQNPolicy, PointerDQNPolicy),
    ):
        if issubclass(stock, base):
            return ours
    raise ValueError(
        f"no policy of ours fits {algorithm.__name__}: on SRD-v0 actions are Discrete, one for each candidate; use "
        "MaskablePPO, PPO, A2C, TRPO or DQN, or for RecurrentPPO 'MultiInputLstmPolicy' with "
        "policy_kwargs={'features_extractor_class': CandidateExtractor}"
    )


def policy_arguments(env: object, hidden: int = 64) -> dict[str, Any]:
    """`policy_kwargs` for an environment: its topics, for the lookup of compact observations and to scale vectors by.

    Args:
        env: `SRD-v0` under any wrappers, or an SB3 `VecEnv` of such.
        hidden: H of the network.

    Raises:
        ValueError: spaces that our policies cannot take, or sub-environments that do not go together.
    """
    arrays = topics_of(env)
    # The set rather than its arrays: SB3 writes policy_kwargs into the zip, and the arrays are made of it.
    return {"features_extractor_kwargs": {"topics": None if arrays is None else arrays.topics, "hidden": hidden}}


class _Value(nn.Module):
    """Features [B, 2N + 1 + H] to the value [B, 1].

    Args:
        candidates: N.
    """

    def __init__(self, candidates: int) -> None:
        super().__init__()
        self.candidates = candidates

    def forward(self, features: Tensor) -> Tensor:
        return features[:, 2 * self.candidates : 2 * self.candidates + 1]


class _LogitsOnOffer(_Value):
    """Features to logits [B, N]."""

    def forward(self, features: Tensor) -> Tensor:
        scores, mask = features[:, : 2 * self.candidates].chunk(2, dim=1)
        return scores.masked_fill(mask < 0.5, MASKED_LOGIT)


class _ValuesOnOffer(_Value):
    """Features to action values [B, N]: masked ones one below the least allowed, with no gradient."""

    def forward(self, features: Tensor) -> Tensor:
        values, mask = features[:, : 2 * self.candidates].chunk(2, dim=1)
        off = mask < 0.5
        least = values.detach().masked_fill(off, math.inf).amin(1, keepdim=True)
        # Where nothing is allowed the episode has ended, and nobody looks at the values.
        below = torch.where(least.isfinite(), least - 1.0, 0.0)
        return torch.where(off, below, values)
