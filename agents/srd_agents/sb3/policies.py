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
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from srd_agents.networks.inputs import MASKED_LOGIT
from srd_agents.sb3.extractor import CandidateExtractor
from srd_agents.sb3.spaces import check_observation, shapes_of, topics_of

SUPPORTED = "MaskablePPO, PPO, A2C, TRPO and DQN"


class CandidatePolicy(BasePolicy):
    """What our policies share: they say what is wrong with an observation, and can be saved without a model.

    Args:
        observation_space: of `SRD-v0`, full or compact.
        action_space: of `SRD-v0`.
        lr_schedule: by SB3.
        features_extractor_kwargs: of `CandidateExtractor`: topics, hidden.
        others: optimizer_class, optimizer_kwargs.

    Raises:
        ValueError: other spaces, or options that this policy has no use for.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        **others: Any,
    ) -> None:
        others.pop("use_sde", None)  # PPO and A2C always hand it over; it is for continuous actions
        options: Any = _options(observation_space, action_space, others)
        super().__init__(observation_space, action_space, lr_schedule, **options)

    def obs_to_tensor(
        self, observation: np.ndarray[Any, Any] | dict[str, np.ndarray[Any, Any]]
    ) -> tuple[PyTorchObs, bool]:
        """As SB3 has it.

        Raises:
            ValueError: an observation of other keys or shapes than those that the policy was built for.
        """
        check_observation(observation, self.observation_space)
        return super().obs_to_tensor(observation)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        given = super()._get_constructor_parameters()
        kept = ("observation_space", "action_space", "features_extractor_kwargs", "optimizer_class", "optimizer_kwargs")
        kwargs = {name: getattr(self, name) for name in kept}
        return {**kwargs, "lr_schedule": self._dummy_schedule, "normalize_images": given["normalize_images"]}


class MaskablePointerPolicy(CandidatePolicy, MaskableActorCriticPolicy):
    """The policy for sb3-contrib's MaskablePPO.

    Candidates that the observation's mask takes off offer are never chosen, whether or not `predict` is told the masks.
    """

    def _build(self, lr_schedule: Schedule) -> None:
        _set_heads(self, lr_schedule)

    def predict(
        self,
        observation: np.ndarray[Any, Any] | dict[str, np.ndarray[Any, Any]],
        state: tuple[np.ndarray[Any, Any], ...] | None = None,
        episode_start: np.ndarray[Any, Any] | None = None,
        deterministic: bool = False,
        action_masks: np.ndarray[Any, Any] | None = None,
    ) -> tuple[np.ndarray[Any, Any], tuple[np.ndarray[Any, Any], ...] | None]:
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
        actions: tuple[np.ndarray[Any, Any], tuple[np.ndarray[Any, Any], ...] | None]
        actions = super().predict(observation, state, episode_start, deterministic, action_masks)
        return actions


class PointerPolicy(CandidatePolicy, ActorCriticPolicy):
    """The policy for PPO, A2C and TRPO, which know no masks: it reads the mask in the observation."""

    def _build(self, lr_schedule: Schedule) -> None:
        _set_heads(self, lr_schedule)


class PointerQNetwork(QNetwork):
    """Action values: the candidates' scores, those not on offer one below the least that is."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.q_net = nn.Sequential(_ValuesOnOffer(int(self.action_space.n)))


class PointerDQNPolicy(CandidatePolicy, DQNPolicy):
    """The policy for DQN. Neither the greedy action nor the target is ever one that is not on offer.

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
    stock = getattr(algorithm, "policy_aliases", {}).get("MultiInputPolicy")
    recurrent = getattr(algorithm, "policy_aliases", {}).get("MultiInputLstmPolicy")
    if recurrent is not None and issubclass(recurrent, RecurrentActorCriticPolicy):
        raise ValueError(
            f"{algorithm.__name__} needs a recurrent policy, and what is ranked is in every observation: take "
            "'MultiInputLstmPolicy' with policy_kwargs={'features_extractor_class': CandidateExtractor}, or one of "
            f"{SUPPORTED} with our policies"
        )
    for base, ours in _POLICIES:
        if stock is not None and issubclass(stock, base):
            return ours
    raise ValueError(
        f"no policy of ours fits {algorithm.__name__}: on SRD-v0 actions are Discrete, one for each candidate, while "
        f"SAC, TD3 and DDPG want continuous ones, and QR-DQN learns distributions of values; use {SUPPORTED}"
    )


def policy_arguments(env: Any, hidden: int = 64) -> dict[str, Any]:
    """`policy_kwargs` for an environment: its topics, for the lookup of compact observations and to scale vectors by.

    Args:
        env: `SRD-v0` under any wrappers, or an SB3 `VecEnv` of such.
        hidden: H of the network.

    Raises:
        ValueError: spaces that our policies cannot take, or sub-environments that do not go together.
    """
    arrays = topics_of(env)
    shapes_of(env.observation_space, env.action_space)
    # The set rather than its arrays: SB3 writes policy_kwargs into the zip, and the arrays are made of it.
    return {"features_extractor_kwargs": {"topics": None if arrays is None else arrays.topics, "hidden": hidden}}


class _Heads(nn.Module):
    """Takes the features apart, in place of SB3's layers for actor and critic.

    Args:
        candidates: N.
    """

    def __init__(self, candidates: int) -> None:
        super().__init__()
        self.split = 2 * candidates
        self.latent_dim_pi, self.latent_dim_vf = 2 * candidates, 1

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Scores and mask [B, 2N], value [B, 1]."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        """[B, 2N]."""
        return features[:, : self.split]

    def forward_critic(self, features: Tensor) -> Tensor:
        """[B, 1]."""
        return features[:, self.split : self.split + 1]


class _LogitsOnOffer(nn.Module):
    """Scores and mask [B, 2N] to logits [B, N]."""

    def forward(self, latent: Tensor) -> Tensor:
        scores, mask = latent.chunk(2, dim=1)
        return scores.masked_fill(mask < 0.5, MASKED_LOGIT)


class _ValuesOnOffer(nn.Module):
    """Features [B, 2N + 1 + H] to action values [B, N].

    Args:
        candidates: N.
    """

    def __init__(self, candidates: int) -> None:
        super().__init__()
        self.candidates = candidates

    def forward(self, features: Tensor) -> Tensor:
        """Values of what is on offer; of the rest one less than the least of them, with no gradient."""
        n = self.candidates
        values, off = features[:, :n], features[:, n : 2 * n] < 0.5
        least = values.detach().masked_fill(off, math.inf).amin(1, keepdim=True)
        # Where nothing is on offer the episode has ended, and nobody looks at the values.
        below = torch.where(least.isfinite(), least - 1.0, 0.0)
        return torch.where(off, below, values)


def _set_heads(policy: Any, lr_schedule: Schedule) -> None:
    """What SB3's `_build` sets up, without weights of its own: the extractor's network has them all."""
    policy.mlp_extractor = _Heads(int(policy.action_space.n))
    policy.action_net, policy.value_net = _LogitsOnOffer(), nn.Identity()
    policy.optimizer = policy.optimizer_class(policy.parameters(), lr=lr_schedule(1), **policy.optimizer_kwargs)


def _options(
    observation_space: spaces.Space[Any], action_space: spaces.Space[Any], given: dict[str, Any]
) -> dict[str, Any]:
    """The options of SB3's policy class, if those given make sense."""
    shapes_of(observation_space, action_space)
    extractor = given.get("features_extractor_class", CandidateExtractor)
    if not issubclass(extractor, CandidateExtractor):
        raise ValueError(
            f"this policy reads the features of CandidateExtractor, got features_extractor_class={extractor.__name__}; "
            "leave it out, or take SB3's 'MultiInputPolicy' with an extractor of your own"
        )
    useless = sorted(given.keys() & {"net_arch", "activation_fn", "ortho_init"})
    if useless:
        raise ValueError(
            f"this policy has no layers besides CandidateExtractor's network, so it takes no {', '.join(useless)}; its "
            "size is features_extractor_kwargs={'hidden': ...}"
        )
    return {**given, "features_extractor_class": CandidateExtractor, "net_arch": []}


_POLICIES: tuple[tuple[type[BasePolicy], type[BasePolicy]], ...] = (
    (MaskableActorCriticPolicy, MaskablePointerPolicy),
    (ActorCriticPolicy, PointerPolicy),
    (DQNPolicy, PointerDQNPolicy),
)
