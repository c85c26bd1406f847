"""Tuned settings of TorchRL's PPO: `python tuned_torchrl.py`."""

from __future__ import annotations

import gymnasium as gym
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, GymWrapper, TransformedEnv
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE
from tuned import TASK, Curve, Network, record

EPISODES = 64
FRAMES = 640
PASSES, MINIBATCH = 6, 160
LEARNING_RATE = 1e-3
GAE_LAMBDA, CLIP, ENTROPY = 0.95, 0.2, 0.01
SEEN = ["query", "documents", "ranking", "retrieval_scores", "action_mask"]


class Part(torch.nn.Module):
    """Scores or value of the network, of arguments in the order of SEEN."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.network, self.index = Network(), index

    def forward(self, *seen: torch.Tensor) -> torch.Tensor:
        """[..., N] or [..., 1]."""
        found: torch.Tensor = self.network(dict(zip(SEEN, seen, strict=True)))[self.index]
        return found[..., None] if self.index else found


def ppo(steps: int, seed: int, curve: Curve) -> None:
    """Train an actor and a critic that share nothing."""
    vector = gym.make_vec(
        "srd_gym:SRD-v0", num_envs=EPISODES, vectorization_mode="vector_entry_point", mask_dtype="bool",
        autoreset_mode="disabled", **TASK,
    )  # fmt: skip
    env = TransformedEnv(GymWrapper(vector, categorical_action_encoding=True), ActionMask())
    env.set_seed(seed)
    scores = Part(0)
    actor = ProbabilisticActor(
        TensorDictModule(scores, in_keys=SEEN, out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        spec=env.action_spec_unbatched,
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    critic = ValueOperator(Part(1), in_keys=SEEN)
    advantage = GAE(gamma=1.0, lmbda=GAE_LAMBDA, value_network=critic)
    loss_of = ClipPPOLoss(actor, critic, clip_epsilon=CLIP, entropy_coeff=ENTROPY, normalize_advantage=True)
    optimizer = torch.optim.Adam(loss_of.parameters(), lr=LEARNING_RATE, eps=1e-5)
    curve(0, scores.network.act)
    done = 0
    for frames in Collector(
        env, actor, frames_per_batch=FRAMES, total_frames=steps, auto_register_policy_transforms=False
    ):
        with torch.no_grad():
            advantage(frames)
        flat: TensorDict = frames.reshape(-1)
        for _ in range(PASSES):
            for part in flat[torch.randperm(len(flat))].split(MINIBATCH):
                losses = loss_of(part)
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                torch.nn.utils.clip_grad_norm_(loss_of.parameters(), 0.5)
                optimizer.step()
        done += len(flat)
        curve(done, scores.network.act)


if __name__ == "__main__":
    record("TorchRL", {"PPO": ppo})
