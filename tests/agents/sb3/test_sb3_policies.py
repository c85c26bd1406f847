from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from small_topics import EvenOnly, refused

import srd_gym  # noqa: F401 - registers the environments
from srd_gym.data.synthetic import generate
from srd_gym.envs import SelectionEnv
from srd_gym.topic import Topic, TopicSet

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from sb3_contrib.common.maskable.utils import get_action_masks  # noqa: E402 - after the skip
from sb3_models import OF, model_of  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize  # noqa: E402

from srd_agents.sb3.extractor import CandidateExtractor  # noqa: E402
from srd_agents.sb3.policies import PointerPolicy, policy_arguments, policy_for  # noqa: E402
from srd_agents.sb3.ranker import SB3Ranker  # noqa: E402

TOPICS = generate("serp", n_topics=12, seed=3, candidates=(6, 9), width=8)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """SB3 seeds global generators: leave them as they were."""
    state = torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="You provided.*`render_mode`")
        yield
    torch.set_rng_state(state)


def env_of(topics: TopicSet = TOPICS, **arguments: Any) -> SelectionEnv:
    return SelectionEnv(topics, **{"horizon": 4, **arguments})


@pytest.mark.parametrize("observation", ["full", "compact"])
@pytest.mark.parametrize("name", list(OF))
def test_it_trains_and_never_chooses_what_is_not_on_offer(name: str, observation: str) -> None:
    env = env_of(observation=observation, on_invalid="skip" if name == "DQN" else "raise")
    model = model_of(name, env)
    before = [value.clone() for value in model.policy.state_dict().values()]
    model.learn(60)
    assert not all(map(torch.equal, before, model.policy.state_dict().values()))
    for seed in range(3):
        seen, _ = env.reset(seed=seed)
        for _ in range(4):
            masks = {"action_masks": env.action_masks()} if name == "MaskablePPO" else {}
            action, _ = model.predict(seen, deterministic=seed == 0 or name == "DQN", **masks)
            seen, _, _, _, info = env.step(action)
            assert info["invalid_action"] is False


def with_zero_vectors(topics: TopicSet) -> TopicSet:
    """The topics without scores, with vectors of zeros for candidates 2, 3 and the last even one."""

    def vectors(topic: Topic) -> Any:
        made = topic.require_vectors("a test").copy()
        made[[2, 3, (topic.n_candidates - 1) // 2 * 2]] = 0
        return made

    several = [replace(topic, doc_vectors=vectors(topic), retrieval_scores=None) for topic in topics]
    return TopicSet(several, name="zeros")


@pytest.mark.parametrize("topics", [TOPICS, with_zero_vectors(TOPICS)], ids=["as they are", "zero vectors"])
def test_full_and_compact_observations_say_the_same(topics: TopicSet) -> None:
    full, compact = (env_of(topics, observation=kind, pruning=EvenOnly()) for kind in ("full", "compact"))
    model = model_of("MaskablePPO", full)
    twin = model_of("MaskablePPO", compact)
    twin.policy.load_state_dict(model.policy.state_dict())
    for seed in range(4):
        seen, also = full.reset(seed=seed)[0], compact.reset(seed=seed)[0]
        for _ in range(4):
            judged = [
                m.policy.features_extractor(m.policy.obs_to_tensor(o)[0]) for m, o in ((model, seen), (twin, also))
            ]
            torch.testing.assert_close(*judged, rtol=1e-4, atol=1e-5)
            action = int(np.flatnonzero(full.action_masks())[-1])
            seen, also = full.step(action)[0], compact.step(action)[0]


def test_actor_and_critic_read_the_network() -> None:
    env = env_of()
    model = model_of("MaskablePPO", env)
    seen, _ = model.policy.obs_to_tensor(env.reset(seed=0)[0])
    judged, allowed = model.policy.features_extractor.judged(seen)
    logits = model.policy.get_distribution(seen).distribution.logits
    expected = judged.scores.masked_fill(~allowed, -torch.inf).log_softmax(1)
    torch.testing.assert_close(logits[allowed], expected[allowed])
    torch.testing.assert_close(model.policy.predict_values(seen), judged.value)
    assert logits[~allowed].exp().sum() == 0


def test_dqn_puts_what_is_not_on_offer_below_the_rest_without_gradient() -> None:
    env = env_of()
    policy = model_of("DQN", env).policy
    env.reset(seed=0)
    seen, _ = policy.obs_to_tensor(env.step(1)[0])
    values, allowed = policy.q_net(seen), seen["action_mask"] > 0.5
    torch.testing.assert_close(values[~allowed].detach().max(), values[allowed].detach().min() - 1)
    values[~allowed].sum().backward()
    assert all(weight.grad is None or not weight.grad.any() for weight in policy.q_net.parameters())
    nothing = {**seen, "action_mask": torch.zeros_like(seen["action_mask"])}
    assert not policy.q_net(nothing).any()


def test_forgotten_masks_are_said_and_do_no_harm() -> None:
    env = env_of(on_invalid="raise")
    model = model_of("MaskablePPO", env)
    seen, _ = env.reset(seed=0)
    for _ in range(4):
        with pytest.warns(UserWarning, match=r"without action_masks.*pass action_masks=env.action_masks\(\)") as told:
            action, _ = model.predict(seen)
        assert told[0].filename == __file__
        seen, *_ = env.step(action)
    with warnings.catch_warnings(action="error"):
        model.predict(env.reset()[0], action_masks=env.action_masks())


@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_vec_envs(kind: Any) -> None:
    options = {"start_method": "fork"} if kind is SubprocVecEnv else {}
    vector = kind([lambda: gym.make("SRD-v0", topics=TOPICS, horizon=4, observation="compact")] * 2, **options)
    model = model_of("MaskablePPO", vector, n_steps=8, batch_size=16)
    model.learn(16)
    seen = vector.reset()
    actions, _ = model.predict(seen, action_masks=get_action_masks(vector))
    assert actions.shape == (2,)
    vector.close()


@pytest.mark.parametrize(("observation", "how", "scaled"), [
    ("full", {}, "ranking and action_mask"),
    ("full", {"norm_obs_keys": ["ranking"]}, "ranking"),
    ("compact", {}, "topic and ranking and action_mask"),
    ("full", {"norm_obs_keys": ["query", "documents"]}, None),
    ("compact", {"norm_obs": False}, None),
])  # fmt: skip
@pytest.mark.parametrize("name", ["MaskablePPO", "DQN"])
def test_masks_and_rankings_that_a_wrapper_scaled_are_refused(
    name: str, observation: Any, how: Any, scaled: Any
) -> None:
    vector = VecNormalize(DummyVecEnv([lambda: env_of(observation=observation)]), **how)
    model = model_of(name, vector)
    if scaled is None:
        model.learn(20)
        seen = vector.reset()
        assert model.predict(seen, **({"action_masks": get_action_masks(vector)} if name == "MaskablePPO" else {}))
        if vector.norm_obs:
            refused(lambda: SB3Ranker(model), "VecNormalize .*norm_obs=False")
        else:
            SB3Ranker(model)
    else:
        message = f"^{scaled} must be whole numbers.*norm_obs_keys="
        refused(lambda: model.learn(60), message)


def test_stock_and_recurrent_policies_take_the_extractor() -> None:
    arguments = policy_arguments(env_of(), hidden=8)
    arguments["features_extractor_class"] = CandidateExtractor
    quick: dict[str, Any] = {"n_steps": 20, "batch_size": 20, "n_epochs": 1, "seed": 0}
    sb3.PPO("MultiInputPolicy", env_of(), policy_kwargs=arguments, **quick).learn(20)
    sb3.DQN("MultiInputPolicy", env_of(), policy_kwargs=arguments, learning_starts=5, buffer_size=50).learn(20)
    contrib.RecurrentPPO("MultiInputLstmPolicy", env_of(), policy_kwargs=arguments, **quick).learn(20)


@pytest.mark.parametrize("name", ["MaskablePPO", "PPO", "DQN"])
def test_policies_are_saved_with_and_without_their_model(name: str, tmp_path: Any) -> None:
    env = env_of()
    model = model_of(name, env)
    model.save(tmp_path / "model.zip")
    model.policy.save(tmp_path / "policy.pt")
    again = OF[name][0].load(tmp_path / "model.zip", env=env, device="cpu")
    alone = type(model.policy).load(tmp_path / "policy.pt", device="cpu")
    for other in (again.policy, alone):
        for key, value in model.policy.state_dict().items():
            assert torch.equal(value, other.state_dict()[key])


NARROW = generate("serp", n_topics=3, seed=0, candidates=(9, 9), width=5)


@pytest.mark.parametrize(("topics", "arguments", "message"), [
    (TOPICS, {"max_candidates": 12}, r"shape \(12,\).* please use \(9,\)"),
    (TOPICS, {"horizon": 3}, r"shape \(3,\).* please use \(4,\)"),
    (NARROW, {}, r"shape \(9, 5\).* please use \(9, 8\)"),
    (TOPICS, {"observation": "compact"}, r"keys or shapes \('topic'\)"),
])  # fmt: skip
def test_an_observation_of_another_size_is_refused(topics: TopicSet, arguments: Any, message: str) -> None:
    seen = env_of(topics, **arguments).reset(seed=0)[0]
    refused(lambda: model_of("PPO", env_of()).predict(seen), message)


def pointer(env: Any, **arguments: Any) -> Any:
    return sb3.PPO(PointerPolicy, env, policy_kwargs=arguments)


WIDE = generate("serp", n_topics=12, seed=3, candidates=(6, 9), width=16)


def looked_up(topics: TopicSet) -> dict[str, Any]:
    return {"features_extractor_kwargs": {"topics": topics}}


def flat() -> Any:
    return gym.wrappers.FlattenObservation(env_of())


def parts() -> Any:
    return gym.wrappers.FilterObservation(env_of(), ["documents", "ranking"])


@pytest.mark.parametrize(("call", "message"), [
    (lambda: policy_for(sb3.SAC), "no policy of ours fits SAC"),
    (lambda: policy_for(contrib.RecurrentPPO), "fits RecurrentPPO: .*LstmPolicy"),
    (lambda: policy_arguments(flat()), "expected the Dict observation.*a Box"),
    (lambda: policy_arguments(parts()), "without query, retrieval_scores"),
    (lambda: policy_arguments(gym.make("CartPole-v1")), "^expected SRD-v0"),
    (lambda: pointer(env_of(), net_arch=[64]), "multiple values for .*'net_arch'"),
    (lambda: pointer(env_of(observation="compact")), "hold no vectors.*policy_arguments"),
    (lambda: pointer(env_of(observation="compact"), **looked_up(TOPICS[:5])), "which of 12 topics .*given TopicArr"),
    (lambda: pointer(env_of(), **looked_up(WIDE)), "vectors have width 8, .* have 16"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, message: str) -> None:
    refused(call, message, TypeError if message.startswith(("^expected", "multiple")) else ValueError)


def test_a_vec_env_of_mixed_topic_sets() -> None:
    others = generate("serp", n_topics=12, seed=4, candidates=(9, 9), width=8)
    same = TopicSet([replace(topic) for topic in TOPICS], name="copy")  # as a sub-process would hold them

    def vector(sets: list[TopicSet], **arguments: Any) -> DummyVecEnv:
        return DummyVecEnv([lambda topics=topics: env_of(topics, **arguments) for topics in sets])

    mixed = vector([TOPICS, others], observation="compact")
    refused(lambda: policy_arguments(mixed), "rank different topic sets")
    assert policy_arguments(vector([TOPICS, same], observation="compact"))["features_extractor_kwargs"]["topics"]
    # With full observations the policy needs no lookup: sets of one shape go together, and no more.
    assert policy_arguments(vector([TOPICS, others]))["features_extractor_kwargs"]["topics"] is None
    larger = vector([TOPICS, generate("serp", n_topics=3, seed=0, candidates=(12, 12), width=8)])
    refused(lambda: policy_arguments(larger), "different spaces: .*candidates=12")


def test_a_replay_of_compact_observations_is_small() -> None:
    """At N = 200, F = 100: 100,000 transitions take 60 MB."""
    topics = generate("web", n_topics=3, seed=0, candidates=(200, 200), width=100)
    buffer = model_of("DQN", env_of(topics, horizon=10, observation="compact"), buffer_size=10).replay_buffer
    arrays = [*buffer.observations.values(), *buffer.next_observations.values()]
    arrays += [buffer.actions, buffer.rewards, buffer.dones, buffer.timeouts]
    assert sum(array.nbytes for array in arrays) / 10 == pytest.approx(600, rel=0.02)
