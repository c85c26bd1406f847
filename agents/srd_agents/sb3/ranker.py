"""Any trained SB3 model as a `Ranker`; and such a model's zip file as a row of a benchmark.

Shapes: N candidates, F vector width, K horizon.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srd_agents.sb3.config import MaskablePpoConfig, Sb3ModelConfig
from srd_agents.sb3.spaces import FULL, Shapes, shapes_of
from srd_agents.training.learner import tell_foreign
from srd_gym.checks import check_integer, unknown
from srd_gym.core import SelectionCore
from srd_gym.dtypes import IntArray, ScoreArray
from srd_gym.envs.observations import Observer
from srd_gym.files import PathLike
from srd_gym.installing import how_to_install
from srd_gym.reading import existing_file, shown
from srd_gym.showing import repr_of
from srd_gym.sources import topics_from
from srd_gym.topic import Topic, TopicSet

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

ALGORITHMS = {
    "MaskablePPO": "sb3_contrib",
    "TRPO": "sb3_contrib",
    "PPO": "stable_baselines3",
    "A2C": "stable_baselines3",
    "DQN": "stable_baselines3",
}
"""Algorithms whose models can rank, and where they are."""


class SB3Ranker:
    """Ranks with a model that Stable-Baselines3 or sb3-contrib trained on `SRD-v0`, greedily and always with masks.

    Our policies (`srd_agents.sb3.policies`) rank topics with any number of candidates to any depth. A stock
    "MultiInputPolicy" is tied to the N, F and K of its observations: topics are padded as the environment does, and
    documents beyond rank K follow by what the policy last thought of them.

    Args:
        model: MaskablePPO, TRPO, PPO, A2C or DQN.

    Raises:
        ValueError: an algorithm or a policy that cannot rank new topics; the message says why.
    """

    __repr__ = repr_of("algorithm", "shapes")

    name = "sb3"

    def __init__(self, model: BaseAlgorithm) -> None:
        from srd_agents.sb3.extractor import CandidateExtractor

        self.model = model
        self.algorithm = type(model).__name__
        if self.algorithm not in ALGORITHMS:
            hint = "Only their policies say what they think of each candidate."
            raise unknown("SB3 algorithm", self.algorithm, ALGORITHMS, hint)
        policy: Any = model.policy
        extractor = policy.q_net.features_extractor if self.algorithm == "DQN" else policy.features_extractor
        self._network = extractor.network if isinstance(extractor, CandidateExtractor) else None
        given = (model.policy_kwargs.get("features_extractor_kwargs") or {}).get("topics")
        about = {} if given is None else {"topic_set": topics_from(given).origin}
        self.metadata: dict[str, Any] = {"algorithm": self.algorithm, **about}
        """The algorithm, and the origin of the topics that it was trained on, where one of our policies knows them."""
        if (scaled := model.get_vec_normalize_env()) is not None and scaled.norm_obs:
            raise ValueError(
                "VecNormalize scales the observations of this model, but not what it ranks; train with norm_obs=False"
            )
        self.shapes: Shapes = shapes_of(model.observation_space)
        space: Any = model.observation_space
        self._further = [key for key in space if key not in FULL]
        if self._network is None and self.shapes.width is None:
            raise ValueError(
                "a stock policy on compact observations has seen topics by their index only, so it cannot rank others: "
                "train it on full observations, or take srd_agents.sb3.policies.policy_for"
            )

    @classmethod
    def from_zip(cls, path: PathLike, *, algorithm: str = "MaskablePPO", trust: bool = False) -> SB3Ranker:
        """The ranker of a zip file that `model.save` wrote, which does not say whether observations were scaled.

        Args:
            path: the file.
            algorithm: the class that wrote it.
            trust: must be True. SB3 keeps parts of a model as pickles (cloudpickle), and reading a pickle can run any
                code; `save` and `srd_agents.load_ranker` do without.

        Raises:
            ValueError: not trusted, an unknown algorithm, or a model that cannot rank.
            FileNotFoundError: no such file.
        """
        if algorithm not in ALGORITHMS:
            raise unknown("SB3 algorithm", algorithm, ALGORITHMS)
        if not trust:
            raise ValueError(
                f"{path} is SB3's own zip file, which holds pickles: reading it can run any code in it. If you or "
                "people you trust have made it, pass trust=True (srd: --trust); to hand a model to others, "
                "save it with SB3Ranker(model).save(folder), which holds no pickle"
            )
        file, library = existing_file(path, "SB3 model"), ALGORITHMS[algorithm]
        try:
            kind = getattr(importlib.import_module(library), algorithm)
        except ModuleNotFoundError as error:
            raise ImportError(f"{algorithm} needs {library}: {how_to_install('sb3')}") from error
        return cls(kind.load(file, device="cpu"))

    def save(self, folder: PathLike, metadata: dict[str, Any] | None = None) -> None:
        """Write the network of one of our policies as a model folder, safetensors and JSON.

        `srd rank` and `srd_agents.load_ranker` read it, without SB3 being installed; it is that of ranker
        "maskable-ppo", whichever algorithm has trained the weights (config.json's metadata says which).

        Args:
            folder: created where missing.
            metadata: JSON values to keep with it.

        Raises:
            ValueError: a stock policy, for which SB3's `model.save` is the only way.
        """
        from srd_agents.sb3.agent import MaskablePpo

        if self._network is None:
            raise ValueError(
                f"a folder can hold our policies only, and this {self.algorithm} has a stock one "
                f"({type(self.model.policy).__name__}): keep it with model.save(path)"
            )
        learner = MaskablePpo(MaskablePpoConfig(hidden_size=self._network.hidden, horizon=self.shapes.horizon))
        learner.metadata = {**self.metadata, **(metadata or {}), "steps": self.model.num_timesteps}
        learner.vector_width, learner._network = self._network.width, self._network
        learner.save(folder)

    def rank(self, topic: Topic, k: int) -> IntArray:
        """The first k documents of the topic, best first: [min(k, N)] int64.

        Raises:
            ValueError: k below 1, or a topic of another width, or (stock policies) with more candidates than it knows.
        """
        from srd_agents.sb3.network import rank_greedily

        check_integer("k", k, 1)
        if self._network is not None:
            return rank_greedily(self._network, topic, k)
        return self._rank_padded(topic, k)

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        """`rank` of every topic, in their order; warns of a topic set whose vectors another encoder made."""
        if isinstance(topics, TopicSet):
            tell_foreign(f"SB3 model {self.algorithm}", self.metadata, [topics.origin])
        return [self.rank(topic, k) for topic in topics]

    def _rank_padded(self, topic: Topic, k: int) -> IntArray:
        """With a stock policy, on the observations it knows."""
        n, (most, horizon, width, _) = topic.n_candidates, self.shapes
        if topic.vector_width != width or n > most:
            raise ValueError(
                f"this stock policy was built for at most {most} candidates with vectors of width {width}, but topic "
                f"{shown(topic.query_id)} has {n} of width {topic.vector_width or 'none'}; shorten it with Topic.take "
                "and make its vectors as those of training, or take srd_agents.sb3.policies.policy_for: it ranks any "
                "number"
            )
        unjudged = Topic(
            query_id=topic.query_id,
            doc_ids=topic.doc_ids,
            query_vector=topic.query_vector,
            doc_vectors=topic.doc_vectors,
            retrieval_scores=topic.retrieval_scores,
        )
        core = SelectionCore([unjudged], horizon=horizon, max_candidates=most, episodes=1)
        observer = Observer(core, ["full", *self._further])
        core.reset([0])
        scores = np.zeros(most)
        for _ in range(min(k, n, horizon)):
            scores = self._scores(observer.observe(0))
            core.step(np.where(core.allowed, scores, -np.inf).argmax(1))
        chosen = core.ranking[0, core.ranking[0] >= 0]
        order = np.argsort(-scores[:n], kind="stable")
        return np.concatenate([chosen, order[~np.isin(order, chosen)]])[: min(k, n)]

    def _scores(self, observation: Mapping[str, object]) -> ScoreArray:
        """Scores of the candidates by the policy: logits or action values, [N] float64."""
        import torch

        policy: Any = self.model.policy
        policy.set_training_mode(False)
        with torch.inference_mode():
            given, _ = policy.obs_to_tensor(observation)
            out = policy.q_net(given) if self.algorithm == "DQN" else policy.get_distribution(given).distribution.logits
        scores: ScoreArray = out[0].cpu().numpy().astype(np.float64)
        return scores


def sb3_model(config: Sb3ModelConfig, *, trust: bool = False) -> SB3Ranker:
    """The ranker of a zip file, as the registry builds rankers.

    Args:
        config: which file.
        trust: as `SB3Ranker.from_zip` has it.

    Raises:
        ValueError, FileNotFoundError: no file named, or as `SB3Ranker.from_zip`.
    """
    if not config.path:
        raise ValueError("ranker 'sb3' needs the zip file of a trained model: path=FILE (srd: --path FILE)")
    return SB3Ranker.from_zip(config.path, algorithm=config.algorithm, trust=trust)
