"""Rankers act in the environments, and policies rank: one contract both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray
from small_topics import judged_topic, random_topics, refused

from srd_agents import diversify
from srd_agents.acting import PolicyRanker, ScoringRanker, as_policy, as_ranker
from srd_agents.acting.policies import observed_topic
from srd_agents.heuristic.stepwise import Stepwise
from srd_agents.registry import RANKERS, make_ranker
from srd_gym import Topic, TopicSet, load_topics, scoring_v0
from srd_gym.envs import FEATURES, SelectionEnv
from srd_gym.protocols import Ranker
from srd_gym.pruning import KNN
from srd_gym.testing import check_ranker
from srd_gym.wrappers import FlatObservation

SERP = load_topics("synthetic:serp:16:0")
FAST = {"epochs": 1, "simulations": 4, "rank_simulations": 4, "episodes": 16}
"""Options that make learners quick; each takes those that it has."""
NEEDS_A_CLIENT = ("llm-listwise", "llm-pointwise", "sb3")


def built(name: str) -> Ranker:
    """The ranker of this name, trained for a moment where it learns."""
    spec = RANKERS.find(name)
    options = {key: value for key, value in FAST.items() if key in spec.config_class.__dataclass_fields__}
    ranker: Any = spec.build(spec.configure(**(options if spec.trainable else {})), seed=0)
    if spec.trainable:
        ranker.fit(load_topics("words")[:12] if "texts" in spec.needs else SERP[:12], seed=0)
    return ranker


def episode(env: gym.Env[Any, Any], policy: Any, query_id: str) -> NDArray[np.int64]:
    """The ranking that the policy makes of a topic."""
    observation, info = env.reset(options={"query_id": query_id})
    ended = False
    while not ended:
        action, _ = policy.predict(observation, deterministic=True)
        observation, _, ended, _, info = env.step(action)
    ranking: NDArray[np.int64] = info["ranking"]
    return ranking[ranking >= 0]


def as_observed(topics: TopicSet) -> list[Topic]:
    """The topics as full observations show them."""
    env = gym.make("srd_gym:SRD-v0", topics=topics)
    return [observed_topic(env.reset(options={"query_id": topic.query_id})[0]) for topic in topics]


@pytest.mark.parametrize("name", [name for name in RANKERS.built_in if name not in NEEDS_A_CLIENT])
def test_greedily_an_episode_is_the_ranking(name: str) -> None:
    ranker, needs = built(name), RANKERS.find(name).needs
    topics = load_topics("words")[:6] if "texts" in needs else SERP[:6]
    compact = gym.make("srd_gym:SRD-v0", topics=topics, observation="compact")
    policy = as_policy(ranker, compact)
    for topic, ranking in zip(topics, ranker.rank_batch(topics, 10), strict=True):
        np.testing.assert_array_equal(episode(compact, policy, topic.query_id), ranking)
    full = gym.make("srd_gym:SRD-v0", topics=topics)
    if set(needs) & {"texts", "subtopic vectors", "judgments"}:
        refused(lambda: episode(full, as_policy(ranker), topics[0].query_id), 'observation="compact"')
        return
    for topic, seen in zip(topics, as_observed(topics), strict=True):
        np.testing.assert_array_equal(episode(full, as_policy(ranker), topic.query_id), ranker.rank(seen, 10))


@pytest.mark.parametrize("observation", ["full", "compact"])
@pytest.mark.parametrize("shared", [False, True])
def test_in_vectors_of_episodes_each_has_its_ranking(observation: str, shared: bool) -> None:
    for mode in ("vector_entry_point", "sync"):
        if shared and mode == "sync":
            continue
        extra = {"share_documents": True} if shared else {}
        env = gym.make_vec(
            "srd_gym:SRD-v0", num_envs=5, vectorization_mode=mode, topics=SERP, observation=observation, **extra
        )
        policy, ranker = as_policy("mmr", env if mode == "vector_entry_point" else SERP), make_ranker("mmr")
        seen, info = env.reset(seed=3)
        checked = 0
        for _ in range(24):
            actions, _ = policy.predict(seen, deterministic=True)
            seen, _, ended, _, info = env.step(actions)
            for place in np.flatnonzero(ended):
                topic = SERP.select([info["query_id"][place]])[0]
                np.testing.assert_array_equal(info["ranking"][place], ranker.rank(topic, 10))
                checked += 1
        assert checked >= 5


def test_compact_observations_of_one_topic_set_have_their_topics_and_of_several_none() -> None:
    def nested(topics: TopicSet) -> Any:
        env = SelectionEnv(topics, observation="compact")
        space = gym.spaces.Dict(seen=env.observation_space)
        return gym.wrappers.TransformObservation(env, lambda seen: {"seen": seen}, space)

    def firsts(*sets: TopicSet) -> Any:
        several = [lambda topics=topics: nested(topics) for topics in sets]
        env = gym.wrappers.vector.RecordEpisodeStatistics(gym.vector.SyncVectorEnv(several))
        observation, info = env.reset(seed=3)
        acted, _ = as_policy("mmr", env).predict(observation["seen"])
        return acted, np.concatenate(make_ranker("mmr").rank_batch(SERP.select(info["query_id"]), 1))

    np.testing.assert_array_equal(*firsts(SERP, SERP[:]))
    refused(lambda: firsts(SERP, load_topics("synthetic:serp:16:1")), "rank different topic sets")


def test_masks_pruning_empty_ranks_and_others_choices_are_read_from_the_observation() -> None:
    ranker, topic = make_ranker("mmr"), SERP[0]
    assert isinstance(ranker, Stepwise)
    env = gym.make("srd_gym:SRD-v0", topics=SERP, pruning=KNN(0.3))
    observation, _ = env.reset(options={"query_id": topic.query_id})
    generator, policy = np.random.default_rng(0), as_policy(ranker)
    for rank in range(10):
        mask = observation["action_mask"].astype(bool)
        ranked = observation["ranking"][observation["ranking"] >= 0]
        action, _ = policy.predict(observation, deterministic=True)
        scores = ranker.score(observed_topic(observation), ranked, mask[: topic.n_candidates])
        assert mask[action]
        assert action == scores.argmax()
        if rank in (2, 5):  # somebody else chooses
            action = generator.choice(np.flatnonzero(mask))
        if rank == 3:  # a rank stays empty
            action = ranked[0]
        observation, *_ = env.step(action)
    late = as_policy(ranker)
    observation, _ = env.reset(options={"query_id": topic.query_id})
    for action in (3, 1):
        observation, *_ = env.step(action)
    allowed = observation["action_mask"].astype(bool)[: topic.n_candidates]
    expected = ranker.score(observed_topic(observation), np.array([3, 1]), allowed).argmax()
    assert late.predict(observation)[0] == expected, "an episode may begin anywhere"
    own = np.zeros(len(observation["action_mask"]), bool)
    own[7] = True
    assert late.predict(observation, action_masks=own)[0] == 7


def test_policies_of_logits_draw_where_that_is_asked_for() -> None:
    ranker = built("reinforce")
    env = gym.make("srd_gym:SRD-v0", topics=SERP)
    observation, _ = env.reset(seed=0)
    drawn = {int(as_policy(ranker, seed=seed).predict(observation)[0]) for seed in range(30)}
    assert len(drawn) > 1
    assert {int(as_policy(ranker, seed=seed).predict(observation, deterministic=True)[0]) for seed in range(5)} == {
        int(ranker.rank(observed_topic(observation), 1)[0])
    }
    assert len({int(as_policy("mmr", seed=seed).predict(observation)[0]) for seed in range(5)}) == 1


@pytest.mark.parametrize("observation", ["full", "local", "flat"])
@pytest.mark.parametrize("offered", ["all", "present"])
def test_all_documents_score_themselves_as_the_ranker_ranks(observation: str, offered: str) -> None:
    topics = TopicSet([judged_topic(n, seed) for seed, n in enumerate((7, 12, 3))], name="sizes")
    env = scoring_v0.parallel_env(topics=topics, observation=observation, agents=offered)
    for name in ("mmr", "relational-pretrained", "dpp"):
        ranker: Any = make_ranker(name)
        policy = as_policy(ranker, env)
        for topic in topics:
            observations, _ = env.reset(options={"query_id": topic.query_id})
            scores, _ = policy.predict(observations)
            env.step(scores)
            plain = Topic(
                query_id="1", doc_ids=topic.doc_ids, query_vector=topic.query_vector, doc_vectors=topic.doc_vectors
            )
            assert env.ranking == tuple(ranker.rank(plain, topic.n_candidates))
    refused(lambda: as_policy("mmr", env).predict({"doc_99": observations["doc_0"]}), "expected an observation of each")


class First:
    """A policy of somebody's own: the first allowed candidate by a rule; it remembers how often it was asked."""

    def __init__(self, rule: str = "last") -> None:
        self.rule, self.asked = rule, 0

    def predict(
        self,
        observation: dict[str, Any],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        self.asked += 1
        if self.rule == "last":
            return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1), state
        return np.zeros(len(action_masks), np.int64), state


def test_what_predicts_is_a_ranker() -> None:
    topics = random_topics(4, 9)
    ranker = as_ranker(First(), horizon=4)
    check_ranker(ranker, topics)
    for topic, ranking in zip(topics, ranker.rank_batch(topics, 20), strict=True):
        n = topic.n_candidates
        first = list(range(n - 1, max(n - 5, -1), -1))
        assert ranking.tolist() == [*first, *(i for i in range(n) if i not in first)], "beyond the horizon: the order"
    masked = as_ranker(First("zero"), horizon=4).rank_batch(topics, 4)
    assert all(ranking.tolist() == list(range(len(ranking))) for ranking in masked), "the next allowed takes its place"
    topic = topics[1]
    found = diversify(topic.query_vector, topic.doc_vectors, k=2, ranker=ranker, diversity=None, near_duplicates=None)
    assert found.indices.tolist() == ranker.rank(topic, 2).tolist()


@pytest.mark.parametrize("kind", [PolicyRanker, ScoringRanker])
def test_topics_are_not_padded_to_others(kind: Any) -> None:
    topics = [judged_topic(n, seed) for seed, n in enumerate((4, 8, 4, 7))]

    def nearness(seen: Any) -> Any:  # to the mean of all rows, which padding would change
        return -np.linalg.norm(seen["documents"] - seen["documents"].mean(axis=1, keepdims=True), axis=2)

    act = nearness if kind is ScoringRanker else lambda seen: (nearness(seen) - 9 * (1 - seen["action_mask"])).argmax(1)
    for topic, ranking in zip(topics, kind(act).rank_batch(topics, 9), strict=True):
        distances = np.linalg.norm(topic.doc_vectors - topic.doc_vectors.mean(axis=0), axis=1)
        np.testing.assert_array_equal(ranking, distances.argsort())


@pytest.mark.parametrize("name", ["mmr", "dpp", "relational-pretrained"])
def test_there_and_back_is_the_ranker(name: str) -> None:
    ranker: Any = make_ranker(name)
    again = as_ranker(as_policy(ranker), horizon=10)
    assert isinstance(again, PolicyRanker)
    for one, other in zip(ranker.rank_batch(as_observed(SERP), 10), again.rank_batch(SERP, 10), strict=True):
        np.testing.assert_array_equal(one, other)


class Wrong:
    """Answers with what is no action."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, observation: Any, **_: Any) -> tuple[Any, Any]:
        return self.answer, None


@pytest.mark.parametrize(("answer", "message"), [
    ([0.5], "must answer with 1 actions"),
    ([0, 1], "must answer with 1 actions"),
    ("a", "must answer with 1 actions"),
    ([99], "99"),
])  # fmt: skip
def test_wrong_answers_of_policies_are_named(answer: Any, message: str) -> None:
    refused(lambda: as_ranker(Wrong(answer)).rank(SERP[0], 3), message, (TypeError, ValueError))  # type: ignore[arg-type]


class PerDocument:
    """A policy of `scoring_v0`: the score of each document from its cosine with the query."""

    def __init__(self, n_scores: int = 30) -> None:
        self.n_scores = n_scores

    def __call__(self, seen: Any) -> Any:
        query, documents = seen["query"][:, None], seen["documents"]
        lengths = np.linalg.norm(documents, axis=-1) * np.linalg.norm(query, axis=-1) + 1e-9
        cosines = (documents * query).sum(-1) / lengths
        return np.clip(((cosines + 1) / 2 * self.n_scores).astype(int), 0, self.n_scores - 1)


def test_a_policy_of_scoring_ranks_as_the_environment_sorts() -> None:
    topics = TopicSet([judged_topic(n, seed) for seed, n in enumerate((7, 12, 3))], name="sizes")
    policy = PerDocument()
    ranker = ScoringRanker(policy)
    check_ranker(ranker, topics)
    vector = scoring_v0.vector_env(topics, num_envs=3, autoreset_mode="disabled")
    seen, _ = vector.reset(options={"query_ids": topics.query_ids})
    vector.step(policy(seen))
    for topic, ranking, row in zip(topics, ranker.rank_batch(topics, 12), vector.ranking, strict=True):
        assert ranking.tolist() == row[: topic.n_candidates].tolist()
    flat = ScoringRanker(lambda rows: rows[..., -1].astype(np.float32), observation="flat")
    topic = topics[1]
    assert flat.rank(topic, 4).tolist() == np.argsort(-topic.doc_vectors[:, -1], kind="stable")[:4].tolist()
    bytes_ = ScoringRanker(lambda rows: np.arange(rows.shape[1], dtype=np.uint8)[None], observation="flat")
    assert bytes_.rank(topic, 2).tolist() == [11, 10], "unsigned numbers have negatives too"


@pytest.mark.parametrize("answer", [np.zeros((1, 3)), np.full((1, 7), np.nan), "a", None, np.full((1, 7), True), [[1]]])
def test_wrong_scores_are_named(answer: Any) -> None:
    ranker = ScoringRanker(lambda seen: answer)
    refused(lambda: ranker.rank(judged_topic(7), 3), "answer with scores of shape", TypeError)


def test_functions_and_other_forms_of_observations_rank() -> None:
    env = FlatObservation(gym.make("srd_gym:SRD-v0", topics=SERP))

    def last(seen: Any) -> Any:
        """The last allowed candidate, by the mask at the end of a flat observation."""
        n = env.action_space.n
        return n - 1 - seen[:, -n:][:, ::-1].argmax(axis=1)

    flat = as_ranker(last, observation=env.observation)
    whole = as_ranker(lambda seen: seen["action_mask"].shape[1] - 1 - seen["action_mask"][:, ::-1].argmax(axis=1))
    for one, other, topic in zip(flat.rank_batch(SERP, 10), whole.rank_batch(SERP, 10), SERP, strict=True):
        assert one.tolist() == other.tolist() == list(range(topic.n_candidates - 1, topic.n_candidates - 11, -1))
    refused(lambda: as_ranker(last, observation="flat"), "unknown observation .flat.")  # type: ignore[arg-type]


def test_a_policy_that_takes_no_masks_gets_none() -> None:
    class Blind:
        def predict(
            self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
        ) -> Any:
            return np.zeros(len(observation["ranking"]), np.int64), state

    assert as_ranker(Blind()).rank(SERP[0], 4).tolist() == [0, 1, 2, 3], "the next allowed takes a masked one's place"


def test_states_are_the_policys_own_and_begin_anew_with_each_batch() -> None:
    class Counts:
        def predict(self, observation: Any, state: Any = None, episode_start: Any = None, **_: Any) -> Any:
            state = np.zeros(len(episode_start), np.int64) if state is None else state
            assert (state[episode_start] == 0).all(), "states of other episodes"
            assert len(state) == len(observation["ranking"])
            return state, state + 1

    ranker = as_ranker(Counts(), horizon=5)
    for topics in (SERP[:3], SERP[:1], SERP[:5]):
        assert all(ranking.tolist() == [0, 1, 2, 3, 4] for ranking in ranker.rank_batch(topics, 5))


def test_a_policy_of_another_width_or_of_fewer_candidates_is_refused() -> None:
    class Trained(Wrong):
        observation_space = gym.make("srd_gym:SRD-v0", topics=SERP).observation_space

    ranker = as_ranker(Trained([0]), name="mine")
    width, n = SERP.vector_width, SERP.max_candidates
    refused(lambda: ranker.rank(judged_topic(5, width=4), 3), f"trained on vectors of width {width}, got 4")
    refused(lambda: ranker.rank(judged_topic(n + 1, width=width), 3), f"max_candidates={n}")


def test_what_cannot_act_or_rank_is_refused() -> None:
    refused(lambda: as_policy(3), "ranker must be a name", TypeError)  # type: ignore[arg-type]
    refused(lambda: as_policy("mmrr"), "Did you mean mmr")
    refused(lambda: as_ranker(3), "policy must have predict", TypeError)  # type: ignore[arg-type]
    for kind in (as_ranker, ScoringRanker):
        refused(lambda kind=kind: kind(First), "policy must be an object", TypeError)
        refused(lambda kind=kind: kind(len, max_candidates=0), "max_candidates must be at least 1")
    refused(lambda: as_ranker(len, horizon=0), "horizon must be at least 1")
    refused(lambda: ScoringRanker(3), "policy must be a function", TypeError)  # type: ignore[arg-type]
    compact = gym.make("srd_gym:SRD-v0", topics=SERP, observation="compact")
    observation, _ = compact.reset(seed=0)
    refused(lambda: as_policy("mmr").predict(observation), "needs the environment", TypeError)
    policy = as_policy("mmr", compact)
    refused(
        lambda: policy.predict({"ranking": observation["ranking"], "action_mask": observation["action_mask"]}),
        "full observation",
    )
    refused(lambda: policy.predict(np.zeros(3)), "expected an observation of SRD-v0")  # type: ignore[arg-type]
    other: Sequence[Topic] = [judged_topic(5, width=4)]
    learned = built("relational")
    env = gym.make("srd_gym:SRD-v0", topics=TopicSet(other, name="other"))
    seen, _ = env.reset(seed=0)
    as_policy(learned).predict(seen)  # relations serve every width
    refused(lambda: as_policy(built("mdp-div-batched")).predict(seen), "width")


@pytest.mark.parametrize("observation", ["full", "compact"])
def test_the_evaluation_of_stable_baselines3_runs_on_it_unchanged(observation: str) -> None:
    maskable = pytest.importorskip("sb3_contrib.common.maskable.evaluation", reason="needs the extra sb3")
    plain = pytest.importorskip("stable_baselines3.common.evaluation", reason="needs the extra sb3")
    from stable_baselines3.common.env_util import make_vec_env

    options = {"topics": SERP, "reward": "alpha_nDCG@10", "observation": observation}
    env = make_vec_env("srd_gym:SRD-v0", 2, env_kwargs=options, seed=0)
    best, _ = plain.evaluate_policy(as_policy("oracle", env), env, 8) if observation == "compact" else (1.0, 0.0)
    assert best > 0.99
    values = [
        evaluate(as_policy("mmr", env), env, 16, return_episode_rewards=True)[0]
        for evaluate in (plain.evaluate_policy, maskable.evaluate_policy)
    ]
    from srd_gym.measures import evaluate

    ranker: Any = make_ranker("mmr")
    rankings = {topic.query_id: ranking for topic, ranking in zip(SERP, ranker.rank_batch(SERP, 10), strict=True)}
    expected = {
        round(each["alpha_nDCG@10"], 6) for each in evaluate(SERP, rankings, ["alpha_nDCG@10"]).per_topic.values()
    }
    for found in values:
        assert {round(value, 6) for value in found} <= expected


class LeastAlike:
    """A policy of `observation="features"`: near the query, and unlike what is ranked."""

    def predict(self, observation: Any, action_masks: Any = None, **options: Any) -> tuple[Any, Any]:
        columns = observation["features"].reshape(*action_masks.shape, len(FEATURES))
        scores = columns[..., FEATURES.index("query_cosine")] - columns[..., FEATURES.index("largest_cosine")]
        return np.where(action_masks, scores, -np.inf).argmax(axis=-1), None


def test_a_policy_of_features_ranks() -> None:
    ranker = as_ranker(LeastAlike(), observation="features", max_candidates=20)
    check_ranker(ranker, list(SERP)[:4])
    env = gym.make("srd_gym:SRD-v0", topics=SERP, observation="features", max_candidates=20)
    for topic in list(SERP)[:4]:
        observation, info = env.reset(options={"query_id": topic.query_id})
        ended = False
        while not ended:
            action, _ = LeastAlike().predict(observation, action_masks=env.get_wrapper_attr("action_masks")())
            observation, _, ended, _, info = env.step(action)
        assert ranker.rank(topic, 10).tolist() == info["ranking"].tolist()
    refused(lambda: as_ranker(LeastAlike(), observation="feature"), r"observation 'feature'\. Did you mean")


@pytest.mark.parametrize("name", ["oracle", "vrisker-judged"])
def test_observations_hold_no_judgments(name: str) -> None:
    observation, _ = gym.make("srd_gym:SRD-v0", topics=SERP).reset(seed=0)
    refused(lambda: as_policy(name).predict(observation), "reads judgments.*compact.*as_policy")
    scoring = scoring_v0.parallel_env(topics=SERP)
    seen, _ = scoring.reset(seed=0)
    refused(lambda: as_policy(name, scoring).predict(seen), "reads judgments.*rank the topics")
    refused(lambda: as_policy("retrieval-order", scoring).predict(seen), "scoring_v0 shows vectors alone")


def test_topics_that_differ_in_their_scores_alone_are_two_episodes() -> None:
    ranker: Any = make_ranker("mmr", lambda_=0.9, relevance="minmax")
    policy: Any = as_policy(ranker)
    arrays: Any = {"doc_vectors": np.eye(3), "query_vector": np.ones(3)}
    for scores in ([3.0, 2.0, 1.0], [3.0, 3.0, 1.0], [3.0, 3.0, 3.0]):
        topic = Topic(query_id="1", doc_ids=("a", "b", "c"), retrieval_scores=scores, **arrays)
        seen, _ = gym.make("srd_gym:SRD-v0", topics=TopicSet([topic], name="one")).reset(seed=0)
        policy.predict(seen, deterministic=True)
        seen_scores = policy._rows[0].scores(np.empty(0, np.int64))
        np.testing.assert_array_equal(seen_scores, ranker.progress(topic).scores())


def test_a_policy_sees_the_further_keys_of_its_space() -> None:
    class Looks:
        observation_space = gym.make("srd_gym:SRD-v0", topics=SERP, observation=["full", "progress"]).observation_space

        def predict(self, observation: Any, **_: Any) -> tuple[Any, None]:
            assert observation.keys() == self.observation_space.keys()
            return observation["action_mask"].argmax(axis=-1), None

    assert as_ranker(Looks()).rank(SERP[0], 3).tolist() == [0, 1, 2]


def test_rankers_refuse_to_act_on_features() -> None:
    env = gym.make("srd_gym:SRD-v0", topics=SERP, observation="features")
    observation, _ = env.reset(seed=0)
    refused(
        lambda: as_policy("mmr", env).predict(observation),
        "holds no vectors.*observation=.compact",
    )
