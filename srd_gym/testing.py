"""Public conformance checks: an interface is what its checker says.

    from srd_gym.testing import check_env, check_ranker, check_scoring_env, check_topics, check_vector_env

Each raises `ConformanceError` with the law that is broken, and returns nothing when all hold.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from srd_gym.checks import checked_rankings
from srd_gym.envs.features import FEATURES
from srd_gym.envs.scoring import ScoringEnv
from srd_gym.envs.selection import SelectionEnv
from srd_gym.protocols import Ranker
from srd_gym.reading import shown_text
from srd_gym.sources import TopicSource
from srd_gym.topic import TOPIC_FIELDS, Topic, TopicSet

__all__ = ["ConformanceError", "check_env", "check_ranker", "check_scoring_env", "check_topics", "check_vector_env"]


class ConformanceError(AssertionError):
    """A law of the interface is broken; the message says which."""


def check_env(env: gym.Env[Any, Any], *, episodes: int = 3, seed: int = 0) -> None:
    """Check an `SRD-v0` environment, bare or under wrappers, against the laws of the selection task.

    Checked: spaces; types of what `step` returns; infos of one structure from reset to end; the mask in its three
    places, never offering a ranked document and never empty before the end; the length of episodes; that the return is
    the first measure; that a masked document leaves its rank empty (or is replaced, or raises); determinism; snapshots;
    and, on the bare environment, Gymnasium's own checker.

    Args:
        env: the environment; its base must be a `SelectionEnv`. It is left in the middle of an episode.
        episodes: how many to play.
        seed: of the first reset and of the actions.

    Raises:
        ConformanceError: a law is broken.
    """
    base = env.unwrapped
    if not isinstance(base, SelectionEnv):
        raise ConformanceError(f"the base environment must be a SelectionEnv, got {type(base).__name__}")
    generator = np.random.default_rng(seed)
    with warnings.catch_warnings():
        # Masked documents are chosen on purpose; vectors and scores have no bounds (a set's own would differ by set).
        warnings.filterwarnings("ignore", message="candidate .* is masked|.*A Box observation space m.*infinity")
        for episode in range(episodes):
            observation, told = env.reset(seed=seed if episode == 0 else None)
            info = _named(base, told, False)
            _check_begun(env, observation, info)
            _play(env, info, generator)
        first = _episode(env, env.reset(seed=seed))
        _require_equal(first, _episode(env, env.reset(seed=seed)), "the same seed and actions")
        _check_snapshots(env, seed)
        _check_refused(env, seed)
        if not base.share_documents and base.core.on_invalid != "raise":  # it samples without masks
            gymnasium_check(base, skip_render_check=True)


def check_scoring_env(env: ScoringEnv, *, episodes: int = 3, seed: int = 0) -> None:
    """Check a `scoring_v0` environment against the laws of the scoring task.

    Checked: constant spaces that hold the observations; who takes part, and that padding is flagged, zero and bound to
    score 0; episodes of one step that all end together; one reward for all, which the batched twin pays too; the
    ranking sorted by score, with every document once; labels in no observation; determinism; and PettingZoo's own test.

    Args:
        env: the environment; it is left after an episode's end.
        episodes: how many to play.
        seed: of the first reset and of the actions.

    Raises:
        ConformanceError: a law is broken.
    """
    from pettingzoo.test import parallel_api_test

    generator = np.random.default_rng(seed)
    for episode in range(episodes):
        observations, infos = env.reset(seed=seed if episode == 0 else None)
        _check_scoring_begun(env, observations, infos)
        _play_scoring(env, generator)
    _check_scoring_determinism(env, seed)
    try:
        parallel_api_test(env, num_cycles=episodes)
    except AssertionError as error:
        raise ConformanceError(f"PettingZoo's parallel_api_test fails: {error}") from error


def check_vector_env(
    vector: VectorEnv[Any, Any, Any],
    single: Callable[[], gym.Env[Any, Any]],
    *,
    steps: int = 40,
    seed: int = 0,
) -> None:
    """Check that a vector environment is, bit for bit, `SyncVectorEnv` of single ones: observations, rewards, infos.

    Args:
        vector: the vector environment; its attribute `autoreset_mode` says which mode is compared.
        single: makes one single environment.
        steps: how many to take, with actions drawn from all of the action space, masked or not.
        seed: of both environments and of the actions.

    Raises:
        ConformanceError: something differs; the message says what.
    """
    mode = vector.autoreset_mode  # type: ignore[attr-defined]
    _require(vector.metadata.get("autoreset_mode") is mode, "metadata['autoreset_mode'] must be the attribute's mode")
    sync: Any = SyncVectorEnv([single] * vector.num_envs, autoreset_mode=mode)
    for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        _require(getattr(vector, name) == getattr(sync, name), f"{name} differs from SyncVectorEnv's")
    generator, space = np.random.default_rng(seed), vector.single_action_space
    sizes: Any = space.nvec if isinstance(space, gym.spaces.MultiDiscrete) else space.n  # type: ignore[attr-defined]
    _require_equal(vector.reset(seed=seed), sync.reset(seed=seed), "reset")
    for step in range(steps):
        actions = generator.integers(0, sizes, (vector.num_envs, *np.shape(sizes)))
        ours, theirs = vector.step(actions), sync.step(actions)
        _require_equal(ours, theirs, f"step {step}")
        ended = theirs[2] | theirs[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            again = [env.reset(options={"reset_mask": ended.copy()}) for env in (vector, sync)]
            _require_equal(again[0], again[1], f"reset after step {step}")
    sync.close()


def check_ranker(ranker: Ranker, topics: Sequence[Topic], *, k: int = 10) -> None:
    """Check a ranker against the protocol on some topics.

    Checked: rankings are min(k, N) distinct candidate indices in an integer array, for k of 1, as given and beyond N;
    the same topic is ranked the same again, alone and in a batch; topics are left as they were; an empty batch gives
    nothing.

    Args:
        ranker: the ranker.
        topics: at least one topic that it can rank.
        k: ranks to ask for.

    Raises:
        ConformanceError: a law is broken.
        ValueError: no topics.
    """
    if not len(topics):
        raise ValueError("expected at least one topic to check a ranker on")
    _require(isinstance(ranker, Ranker), f"{type(ranker).__name__} lacks rank(topic, k) or rank_batch(topics, k)")
    before = [_values(topic) for topic in topics]
    for depth in sorted({1, k, max(topic.n_candidates for topic in topics) + 1}):
        alone = [ranker.rank(topic, depth) for topic in topics]
        batch = ranker.rank_batch(topics, depth)
        for rankings in (alone, batch):
            try:
                checked_rankings(rankings, topics, ranker, depth)
            except ValueError as error:
                raise ConformanceError(f"k={depth}: {error}") from error
        for topic, one, other in zip(topics, alone, batch, strict=True):
            same = np.array_equal(one, other)
            _require(same, f"topic {topic.query_id!r}: rank gives {one}, rank_batch gives {other}; they must agree")
            _require_equal(np.asarray(ranker.rank(topic, depth)), np.asarray(one), f"topic {topic.query_id!r} again")
    _require(len(ranker.rank_batch([], k)) == 0, "rank_batch of no topics must give no rankings")
    for topic, values in zip(topics, before, strict=True):
        _require_equal(_values(topic), values, f"topic {topic.query_id!r} after ranking")


def check_topics(source: TopicSource) -> None:
    """Check a source of topics: that it loads, keeps the laws of topic sets, survives Parquet, and can be played.

    Args:
        source: what an environment takes as `topics`: a topic set, a path or a name.

    Raises:
        ConformanceError: a law is broken.
        ValueError: the source cannot be read; as `srd_gym.load_topics`.
    """
    from srd_gym.data import load_topics, read_topics, write_topics

    topics = source.topics if hasattr(source, "topics") else load_topics(source)
    _require(isinstance(topics, TopicSet), f"expected a TopicSet, got {type(topics).__name__}")
    _require(len(topics) > 0, f"topic set {topics.name!r} is empty")
    for index, topic in enumerate(topics):
        _require(topics.position(topic.query_id) == index, f"position({topic.query_id!r}) is not {index}")
        for name in TOPIC_FIELDS:
            value = getattr(topic, name)
            frozen = not isinstance(value, np.ndarray) or not value.flags.writeable
            _require(frozen, f"topic {topic.query_id!r}: {name} can be written to")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "topics.parquet"
        write_topics(path, topics)
        again = read_topics(path)
        _require((again.name, again.marks) == (topics.name, topics.marks), "Parquet changes the set's name or marks")
        for one, other in zip(topics, again, strict=True):
            _require_equal(_values(other), _values(one), f"topic {one.query_id!r} after Parquet")
    env = SelectionEnv(topics, observation="compact" if topics.vector_width is None else "full")
    check_env(env, episodes=min(3, len(topics)))


def _check_begun(env: gym.Env[Any, object], observation: object, info: Mapping[str, object]) -> None:
    """Check the answer of reset."""
    base: Any = env.unwrapped
    _require(observation in env.observation_space, "reset gives an observation outside the observation space")
    for key in _ALWAYS:
        _require(key in info, f"reset's info lacks {key!r}")
    topic = base.core.arrays.topics[int(base.core.topic_index[0])]
    _require(info["query_id"] == topic.query_id, "info['query_id'] is not the topic's")
    _require(info["labelled"] is topic.labelled, "info['labelled'] is not the topic's")
    _check_masks(env, observation, info, ranked=set(), ended=False)


def _play(env: gym.Env[object, object], info: Mapping[str, Any], generator: np.random.Generator) -> None:
    """Play an episode with allowed actions, now and then with a masked one, checking every step."""
    core: Any = env.unwrapped.core  # type: ignore[attr-defined]
    length, topic = int(core.length[0]), int(core.topic_index[0])
    mask, paid, ranked, terminated = info["action_mask"], 0.0, np.full(core.horizon, -1), False
    structure = _structure(info)
    for rank in range(length):
        _require(not terminated, f"the episode ended after {rank} of {length} ranks")
        valid = core.on_invalid == "raise" or bool(generator.random() < 0.8) or bool(mask.all())
        action = int(generator.choice(np.flatnonzero(mask if valid else 1 - mask)))
        observation, reward, terminated, truncated, told = env.step(action)
        info = _named(env.unwrapped, told, terminated)
        _require(observation in env.observation_space, "step gives an observation outside the observation space")
        _require(isinstance(reward, float), f"the reward must be a Python float, got {type(reward).__name__}")
        ends = isinstance(terminated, bool) and truncated is False
        _require(ends, "terminated must be a Python bool, and truncated always False")
        _require(info["invalid_action"] is (not valid), "info['invalid_action'] is wrong")
        same = info.get("query_id") == core.arrays.query_ids[topic]
        _require(same, "info['query_id'] must be the topic's after every step")
        if valid or core.on_invalid == "next":
            ranked[rank] = action if valid else mask.argmax()
        paid += float(reward)
        changed = structure.items() ^ _structure(info).items()
        _require(not changed, f"infos must have one structure from reset to end, these differ: {dict(changed)}")
        _check_masks(env, observation, info, ranked={*ranked.tolist()} - {-1}, ended=terminated)
        _require(np.array_equal(info["ranking"], ranked), f"info['ranking'] is {info['ranking']}, ranked were {ranked}")
        empty = np.count_nonzero(ranked[: rank + 1] < 0)
        _require(info["wasted"] == empty, f"info['wasted'] is {info['wasted']}, {empty} ranks are empty")
        alike = isinstance(info["return"], float) and math.isclose(info["return"], paid, abs_tol=1e-9)
        _require(alike, f"the rewards add up to {paid}, but info['return'] is {info['return']}")
        mask = info["action_mask"]
    _require(terminated, f"the episode goes on after its {length} ranks")
    labelled = bool(core.arrays.labelled[topic])
    _require(("measures" in info) is labelled, "measures belong to labelled topics, and only there")
    _require(labelled or paid == 0.0, f"an unlabelled topic paid {paid}; expected 0.0")


def _named(base: Any, info: Mapping[str, Any], ended: bool) -> Mapping[str, Any]:
    """The info as it would be without `numeric_infos`, checked to be arrays of numbers of one structure."""
    if not base.numeric_infos:
        return info
    _require_numbers("with numeric_infos", info)
    told = {key: value if value.ndim else value.item() for key, value in info.items()}
    told["query_id"], measures = base.core.arrays.query_ids[told.pop("topic")], told.pop("measures")
    _require(measures.shape == (len(base.core.measure_names),), f"measures must have shape [M], got {measures.shape}")
    named = dict(zip(base.core.measure_names, measures.tolist(), strict=True))
    return told | ({"measures": named} if ended and told["labelled"] else {})


def _check_masks(
    env: gym.Env[Any, object], observation: object, info: Mapping[str, Any], *, ranked: set[int], ended: bool
) -> None:
    """The mask's three places agree and offer what they may."""
    mask = info["action_mask"]
    _require(mask.dtype == np.int8, f"info['action_mask'] must be int8 (Discrete.sample wants it), got {mask.dtype}")
    method = env.get_wrapper_attr("action_masks")()
    _require(method.dtype == np.bool_, f"action_masks() must be bool, got {method.dtype}")
    _require(bool((method == mask.astype(bool)).all()), "action_masks() and info['action_mask'] differ")
    if isinstance(observation, Mapping) and "action_mask" in observation:
        same = bool((observation["action_mask"].astype(bool) == method).all())
        _require(same, "observation['action_mask'] and action_masks() differ")
    if isinstance(observation, Mapping) and "features" in observation:
        columns = dict(zip(FEATURES, observation["features"].reshape(len(mask), -1).T, strict=True))
        _require({*np.flatnonzero(columns["ranked"]).tolist()} == ranked, "features: `ranked` is not what is ranked")
        _require(bool((columns["present"] >= mask).all()), "features: `present` is 0 for an allowed candidate")
    _require(not method[sorted(ranked)].any(), "the mask offers a document that is ranked already")
    _require(ended or bool(method.any()), "the mask is empty before the end")


def _check_snapshots(env: gym.Env[object, object], seed: int) -> None:
    """Going on after restore is going on without; a snapshot is a value."""
    base: Any = env.unwrapped
    _, info = base.reset(seed=seed)
    if base.core.length[0] > 1:
        info = base.step(int(np.flatnonzero(info["action_mask"])[-1]))[4]
    snapshot = base.snapshot()
    hash(snapshot)
    ranking = base.core.ranking.copy()
    first = _episode(base, ({}, info))
    base.restore(snapshot, same_future=True)
    _require(base.snapshot() == snapshot, "restore does not lead to where the snapshot was taken")
    _require_equal(first, _episode(base, ({}, info)), "after restore")
    base.restore(snapshot)
    _require_equal(base.core.ranking, ranking, "the ranking after restore with a future drawn anew")


def _check_refused(env: gym.Env[object, object], seed: int) -> None:
    """Where a masked document raises, it changes nothing."""
    base: Any = env.unwrapped
    _, info = env.reset(seed=seed)
    if base.core.length[0] < 2 or base.core.on_invalid != "raise":
        return
    action = int(np.flatnonzero(info["action_mask"])[0])
    env.step(action)
    before = base.snapshot()
    try:
        env.step(action)
    except ValueError:
        _require(base.snapshot() == before, "an action that raises must change nothing")
        return
    raise ConformanceError("on_invalid='raise', but a ranked document is taken again")


def _episode(env: gym.Env[object, object], begun: tuple[object, Mapping[str, Any]]) -> list[Any]:
    """Results of the rest of an episode that always takes the last allowed document."""
    observation, info = begun
    given, terminated = [observation, _ours(info)], False
    while not terminated:
        *step, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
        given += [tuple(step), _ours(info)]
        terminated = bool(step[2])
    return given


def _ours(info: Mapping[str, object]) -> dict[str, object]:
    """The entries that the environment makes: wrappers add clocks and the like, which differ each time."""
    return {key: info[key] for key in (*_ALWAYS, "measures") if key in info}


def _structure(info: Mapping[str, Any]) -> dict[str, tuple[object, ...]]:
    """Type and shape of the entries that the environment makes of every state."""
    keys = [key for key in (*_ALWAYS, "click", "clicks", "intent") if key in info]
    return {key: (type(info[key]).__name__, *np.shape(info[key])) for key in keys}


_ALWAYS = ("query_id", "labelled", "action_mask", "ranking", "invalid_action", "wasted", "return")
"""Entries of every info, from reset to end."""


def _check_scoring_begun(env: ScoringEnv, observations: dict[str, Any], infos: dict[str, Any]) -> None:
    """Observations and infos of `reset`."""
    count = env.core.arrays.topics[next(iter(infos.values()))["topic"]].n_candidates
    expected = env.possible_agents if len(env.agents) > count else env.possible_agents[:count]
    _require(env.agents == expected, "agents must be the topic's documents, with all of the padding or none")
    _require(list(observations) == list(infos) == env.agents, "observations and infos must be of all agents, in order")
    for i, agent in enumerate(env.agents):
        fits = env.observation_space(agent).contains(observations[agent])
        _require(fits, f"{agent}'s observation is not in its space")
        padding = i >= count
        _require(infos[agent]["padding"] is padding, f"{agent}: info['padding'] must be {padding}")
        _require_numbers(agent, infos[agent])
        if padding and isinstance(observations[agent], dict):
            mask = observations[agent]["action_mask"]
            _require(bool(mask[0]) and not mask[1:].any(), f"{agent} is padding: only score 0 may be allowed")
            _require(not observations[agent]["document"].any(), f"{agent} is padding: its vector must be 0")
    _require(env.state_space.contains(env.state()), "state() is not in state_space")


def _play_scoring(env: ScoringEnv, generator: np.random.Generator) -> None:
    """One episode with random scores."""
    topic = env.core.arrays.topics.position(env.query_id)
    count = int(env.core.arrays.n_candidates[topic])
    scores = generator.integers(0, env.core.n_scores, len(env.possible_agents))
    agents = list(env.agents)
    _, rewards, terminated, truncated, infos = env.step({a: int(s) for a, s in zip(agents, scores, strict=False)})
    _require(env.agents == [], "an episode must end after its one step")
    _require(list(rewards) == list(terminated) == agents, "rewards and ends must be of all agents")
    _require(all(terminated.values()) and not any(truncated.values()), "all must terminate, none be truncated")
    _require(len(set(rewards.values())) == 1, "all documents must have the same reward")
    _require(all(type(reward) is float for reward in rewards.values()), "rewards must be Python floats")
    _require(sorted(env.ranking) == list(range(count)), "the ranking must hold every document once")
    order = [int(scores[candidate]) for candidate in env.ranking]
    _require(order == sorted(order, reverse=True), "the ranking must be sorted by score")
    if env.core.ties == "retrieval":
        twin = env.core.step([topic], scores[None], users=env._user).item()
        _require(twin == rewards[agents[0]], "the batched twin must pay the same reward")
    for agent in agents:
        _require_numbers(agent, infos[agent])
    ranks = [infos[env.possible_agents[candidate]]["rank"] for candidate in env.ranking]
    _require(ranks == list(range(count)), "info['rank'] must be the document's place in the ranking")


def _require_numbers(whose: str, info: Mapping[str, object]) -> None:
    """The info holds numbers only, as libraries make tensors of all of it."""
    wrong = [key for key, value in info.items() if np.asarray(value).dtype.kind not in "biuf"]
    _require(not wrong, f"{whose}: infos must hold numbers only, {wrong} do not")


def _check_scoring_determinism(env: ScoringEnv, seed: int) -> None:
    """The same seed brings the same topics, and with random ties the same lists."""
    episodes = []
    for _ in range(2):
        for start in (seed, None):
            env.reset(seed=start)
            env.step(dict.fromkeys(env.agents, 0))
            episodes.append((env.query_id, env.ranking))
    _require(episodes[:2] == episodes[2:], "one seed must bring one sequence of topics and lists")


def _values(topic: Topic) -> dict[str, object]:
    """A topic's fields, arrays copied."""
    values = {name: getattr(topic, name) for name in TOPIC_FIELDS}
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def _comparable(value: Any) -> Any:
    """The value; an array that lacks numbers as its bytes, since NaN does not equal itself."""
    lacks = isinstance(value, np.ndarray) and value.dtype.kind == "f" and bool(np.isnan(value).any())
    return (value.shape, value.dtype.str, value.tobytes()) if lacks else value


def _require(holds: bool, law: str) -> None:
    """Raise the law as an error unless it holds."""
    if not holds:
        raise ConformanceError(law)


def _require_equal(ours: object, theirs: object, where: str) -> None:
    """Raise unless two values are the same in type, shape and every number."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        _require(ours.keys() == theirs.keys(), f"{where}: keys {sorted(ours)} where {sorted(theirs)} were expected")
        for key in ours:
            _require_equal(ours[key], theirs[key], f"{where}, {key}")
        return
    if isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        for place, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            _require_equal(mine, other, f"{where}[{place}]")
        return
    alike = data_equivalence(_comparable(ours), _comparable(theirs), exact=True)
    _require(alike, f"{where}: {shown_text(repr(ours))} where {shown_text(repr(theirs))} was expected")
