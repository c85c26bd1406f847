from __future__ import annotations

import bz2
import copy
import gzip
import html
import lzma
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from monsters import LONG, LONGEST, LONGEST_REPR, MONSTERS, NUMPY, TOPICS, numpys_names_in, said_by
from small_topics import FirstRankOnly, bare_topic, refused, small_topic

import srd_gym
from srd_gym import Topic, TopicSet, load_topics, scoring_v0
from srd_gym.checks import near, unknown
from srd_gym.core import ScoringCore, SelectionCore, TopicArrays
from srd_gym.data import (
    LsaVectorizer,
    VectorTable,
    attach_vectors,
    embed_topics,
    generate,
    iter_topics,
    load_ambient,
    load_texts,
    load_trec,
    read_qrels,
    read_run,
    read_topics,
    read_vectors,
    simulate_vectors,
    write_run,
    write_topics,
)
from srd_gym.measures import IdealPool, evaluate, evaluate_run, parse_measure
from srd_gym.measures.catalogue import AlphaDCG
from srd_gym.pruning import KNN, ByRanker, Chain, parse_pruning, pruning_from
from srd_gym.reading import read_json_object
from srd_gym.trec_files import Qrels, Run, TopicQrels

gym.register_envs(srd_gym)

TOPIC = TOPICS[0]
SMALL = TOPICS[:4]
ENV = gym.make("SRD-v0", topics=SMALL, disable_env_checker=True).unwrapped
VECTOR = gym.make_vec("SRD-v0", num_envs=2, vectorization_mode="vector_entry_point", topics=SMALL)
SCORING = scoring_v0.parallel_env(topics=SMALL)
SHARED = TopicArrays.of(SMALL)
FIELDS = [name for name in Topic.__dataclass_fields__ if name not in ("query_id", "doc_ids")]


def made(name: str, value: Any) -> object:
    return gym.make("SRD-v0", disable_env_checker=True, **({"topics": SMALL} | {name: value}))


def made_vector(name: str, value: Any) -> Any:
    how = {"num_envs": 2, "vectorization_mode": "vector_entry_point", "topics": SMALL} | {name: value}
    return gym.make_vec("SRD-v0", **how)


def made_scoring(name: str, value: Any) -> object:
    return scoring_v0.parallel_env(**({"topics": SMALL} | {name: value}))


def of_environments(make: Callable[[str, Any], object], *names: str) -> dict[str, Callable[[Any], object]]:
    return {f"{make.__name__}({name})": lambda value, name=name: make(name, value) for name in names}  # type: ignore[misc]


ARGUMENTS = ("topics", "reward", "measures", "horizon", "max_candidates", "pruning", "normalizer", "observation",
             "mask_dtype", "reward_type", "on_invalid")  # fmt: skip
SCORED = ("topics", "reward", "measures", "n_scores", "ties", "agents", "observation", "max_candidates", "horizon")
CALLS: dict[str, Callable[[Any], object]] = {
    "Topic(query_id)": lambda value: Topic(query_id=value, doc_ids=("a",)),
    "Topic(doc_ids)": lambda value: Topic(query_id="1", doc_ids=value),
    **{f"Topic({name})": lambda value, name=name: bare_topic(2, **{name: value}) for name in FIELDS},
    "TopicSet": lambda value: TopicSet(value, name="set"),
    "TopicSet(name)": lambda value: TopicSet([TOPIC, TOPIC], name=value),
    "topics[]": lambda value: TOPICS[value],
    "position": TOPICS.position,
    "select": TOPICS.select,
    "folds": lambda value: TOPICS.folds(value),
    "folds_from": TOPICS.folds_from,
    "take": TOPIC.take,
    "load_topics": load_topics,
    **of_environments(made, *ARGUMENTS),
    **of_environments(made_vector, *ARGUMENTS, "autoreset_mode", "horizn"),
    **of_environments(made_scoring, *SCORED),
    "reset(query_id)": lambda value: ENV.reset(options={"query_id": value}),
    "reset(option)": lambda value: ENV.reset(options={str(value): 1}),
    "step": lambda value: (ENV.reset(seed=0), ENV.step(value)),
    "vector reset(query_ids)": lambda value: VECTOR.reset(options={"query_ids": value}),
    "vector reset(reset_mask)": lambda value: VECTOR.reset(options={"reset_mask": value}),
    "vector step": lambda value: (VECTOR.reset(seed=0), VECTOR.step(value)),
    "scoring reset": lambda value: SCORING.reset(options={"query_id": value}),
    "scoring step": lambda value: (SCORING.reset(seed=0), SCORING.step(dict.fromkeys(SCORING.agents, value))),
    "scoring agent": lambda value: (SCORING.reset(seed=0), SCORING.step({str(value): 0})),
    "SelectionCore.reset": lambda value: SelectionCore(SHARED).reset(value),
    "SelectionCore.step": lambda value: SelectionCore(SHARED, episodes=2).step(value),
    "ScoringCore.step": lambda value: ScoringCore(SHARED).step([0], value),
    "measure": parse_measure,
    "measure(cutoff)": lambda value: parse_measure("alpha_DCG") @ value,
    "evaluate(topics)": lambda value: evaluate(value, {}, "StRecall@5"),
    "evaluate(rankings)": lambda value: evaluate(SMALL, {TOPIC.query_id: value}, "StRecall@5"),
    "evaluate(query ids)": lambda value: evaluate(SMALL, {str(value): [0]}, "StRecall@5"),
    "evaluate(measures)": lambda value: evaluate(SMALL, {}, value),
    "evaluate(normalizer)": lambda value: evaluate(SMALL, {}, "StRecall@5", value),
    "IdealPool": lambda value: IdealPool(TOPIC.judgments if TOPIC.judgments is not None else (), value),
    "KNN": KNN,
    "KNN(metric)": lambda value: KNN(0.5, metric=value),
    "ByRanker": lambda value: SelectionCore(SHARED, pruning=ByRanker(value, 0.5)),
    "ByRanker(keep)": lambda value: ByRanker("mmr", value),
    "ByRanker(when)": lambda value: ByRanker("mmr", 0.5, when=value),
    "Chain": Chain,
    "parse_pruning": parse_pruning,
    "pruning_from": pruning_from,
    "pruning_from(kind)": lambda value: pruning_from({"kind": value}),
    "generate": lambda value: generate(value),
    "generate(n_topics)": lambda value: generate("tiny", n_topics=value),
    "generate(option)": lambda value: generate("tiny", n_topics=1, noise=value),
    "simulate_vectors": lambda value: simulate_vectors(value, width=3),
    "simulate_vectors(width)": lambda value: simulate_vectors(SMALL, width=value),
    "attach_vectors": lambda value: attach_vectors(value),
    "attach_vectors(missing)": lambda value: attach_vectors(SMALL, missing=value),
    "embed_topics": lambda value: embed_topics(value, lambda texts: np.ones((len(texts), 2))),
    "LsaVectorizer": LsaVectorizer,
    "VectorTable": lambda value: VectorTable(value, np.ones((2, 2)), source="here"),
    "VectorTable(vectors)": lambda value: VectorTable(["a"], value, source="here"),
    "write_topics": lambda value: write_topics("/dev/null", value),
    **{
        read.__name__: lambda value, read=read: [*read(value)] if read is iter_topics else read(value)
        for read in (read_topics, iter_topics, read_vectors, read_qrels, read_run, load_ambient, load_texts)
    },
    "load_trec": lambda value: load_trec(run=value),
    "write_run": lambda value: write_run("/dev/null", {"1": value}, "tag"),
    "write_run(tag)": lambda value: write_run("/dev/null", {"1": ["a"]}, value),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_whatever_comes_no_error_is_long(call: str) -> None:
    for name, value in MONSTERS.items():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            said = [said_by(lambda value=value: CALLS[call](value))]  # type: ignore[misc]
        said += [str(notice.message) for notice in told]
        assert max(map(len, said)) <= LONGEST, f"{call} of {name}"


AS_TEXT = {"reset(option)", "scoring agent", "evaluate(query ids)", "pruning_from(kind)", "made_vector(autoreset_mode)"}
"""Calls above, or Gymnasium, that make text of a value."""


@pytest.mark.parametrize("call", [name for name in CALLS if name not in AS_TEXT])
def test_whatever_comes_no_error_names_a_type_of_numpy(call: str) -> None:
    for name, value in NUMPY.items():
        assert not numpys_names_in(lambda value=value: CALLS[call](value)), f"{call} of {name}"  # type: ignore[misc]


NUMBERS = tuple(map(str, range(1_000)))
QRELS = TopicQrels(doc_ids=NUMBERS, subtopic_ids=NUMBERS[:100], judgments=np.zeros((1_000, 100), np.int8))
REPRS: dict[str, Callable[[], object]] = {
    "topic": lambda: Topic(query_id=LONG, doc_ids=("a",), query_text=LONG),
    "topic set": lambda: TopicSet(TOPICS, name=LONG, simulated=True, transductive=True),
    "fold": lambda: TopicSet(TOPICS, name=LONG).folds(5)[0],
    "arrays": lambda: TopicArrays(TopicSet(TOPICS, name=LONG)),
    "evaluation": lambda: evaluate(TOPICS, {topic.query_id: [0] for topic in TOPICS}, ["StRecall@5", "ERR_IA@5"]),
    "qrels": lambda: Qrels(topics=dict.fromkeys(TOPICS.query_ids, QRELS)),
    "qrels of a topic": lambda: QRELS,
    "run": lambda: Run(rankings={LONG: (LONG,) * 1_000}, scores={LONG: np.zeros(1_000)}),
    "snapshot": lambda: (ENV.reset(seed=0), ENV.snapshot())[1],
    "step": lambda: SelectionCore(SHARED, episodes=500).step(np.zeros(500, np.int64)),
    "measure": lambda: SelectionCore(SHARED).bound,
    "vectors": lambda: VectorTable(["a"], np.ones((1, 2)), source=LONG),
    "chain": lambda: Chain(tuple(KNN(0.5) for _ in range(100))),
    "ranker to prune by": lambda: ByRanker(LONG, 0.5),
    "environment": lambda: ENV,
    "vector environment": lambda: VECTOR,
    "selection": lambda: ENV.core,  # type: ignore[attr-defined]
    "scoring": lambda: SCORING.core,
    "scoring environment": lambda: SCORING,
    "words to vectors": lambda: LsaVectorizer(3),
}


@pytest.mark.parametrize("name", REPRS)
def test_every_repr_is_short(name: str) -> None:
    said = repr(REPRS[name]())
    assert len(said) <= LONGEST_REPR
    assert " object at 0x" not in said


def test_a_repr_says_what_a_topic_is() -> None:
    said = repr(small_topic(query_text="a \x1b[31m cat"))
    assert said == r"Topic('1', 'a \x1b[31m cat': 2 candidates, 2 subtopics, no vectors, judged)"


# tables of topics, for notebooks


def test_a_topic_is_a_short_table_in_notebooks_in_which_nothing_is_markup() -> None:
    evil = "<script>alert('x')</script>"
    texts = {"doc_texts": (evil, "b"), "subtopic_texts": (evil, "t"), "query_text": evil, "retrieval_scores": [2, 1]}
    table = small_topic(query_id=evil, doc_ids=(evil, "d"), **texts)._repr_html_()
    assert set(re.findall("</?([^>]*)>", table)) == {"table", "caption", "tr", "th", "td"}
    cells = [html.unescape(text) for text in re.split("<[^>]*>", table)]
    assert cells.count(evil) == 3  # the document's id and text, and the subtopic that it covers
    assert {"document", "score", "text", "covers"} <= set(cells)
    n = 1_000
    ids = [f"d{i}" for i in range(n)]
    table = bare_topic(0, doc_ids=ids, doc_texts=["<" * 10_000] * n, judgments=np.ones((n, 500)))._repr_html_()
    assert len(table) < 20_000
    assert "and 990 more" in table


# names that may be meant


@pytest.mark.parametrize(("given", "known", "meant"), [
    ("lr", ("learning_rate", "entropy", "epochs"), ["learning_rate"]),
    ("batchsize", ("batch_topics", "batch_size"), ["batch_size", "batch_topics"]),
    ("--n-sims", ("--n-simulations", "--json"), ["--n-simulations"]),
    ("hid", ("hidden", "device"), ["hidden"]),
    ("eps", ("epsilon_start", "learning_rate"), ["epsilon_start"]),
    ("word", ("words", "synthetic:serp"), ["words"]),
    ("jagaur", ("jaguar", "python"), ["jaguar"]),
    ("zzz", ("jaguar", "python"), []),
    ("a", ("alpha", "appendix"), []),
    ("ppo", ("dpp", "maskable-ppo"), ["maskable-ppo", "dpp"]),
])  # fmt: skip
def test_near_names_are_abbreviated_or_spelt_alike(given: str, known: Any, meant: list[str]) -> None:
    assert near(given, known) == meant


def test_many_names_are_not_all_listed() -> None:
    message = str(unknown("query id", "zzz", map(str, range(10_000))))
    assert "and 9,960 more" in message
    assert len(message) < 500


# topics in a list


@pytest.mark.parametrize("of", [list, tuple, iter, lambda topics: np.array(topics, dtype=object)])
def test_topics_in_any_iterable_do_where_a_set_does(of: Callable[[Any], Any], tmp_path: Path) -> None:
    one, other = (gym.make("SRD-v0", topics=topics, disable_env_checker=True) for topics in (of(SMALL), SMALL))
    assert one.reset(seed=3)[1]["query_id"] == other.reset(seed=3)[1]["query_id"]
    assert made_vector("topics", of(SMALL)).core.arrays.query_ids == SMALL.query_ids
    assert scoring_v0.parallel_env(topics=of(SMALL)).core.arrays.query_ids == SMALL.query_ids
    assert load_topics(of(SMALL)).fingerprint == SMALL.fingerprint
    rankings = {TOPIC.query_id: [0]}
    assert evaluate(of(SMALL), rankings, "P_IA@1").measures == evaluate(SMALL, rankings, "P_IA@1").measures
    write_topics(tmp_path / "set.parquet", of(SMALL))
    assert read_topics(tmp_path / "set.parquet").fingerprint == SMALL.fingerprint
    assert copy.deepcopy(TOPIC) is TOPIC


def test_other_things_are_no_topics() -> None:
    for call in (load_topics, lambda topics: made("topics", topics), lambda topics: TopicSet(topics, name="x")):
        refused(lambda call=call: call([TOPIC, 3]), "whose entry 1 is 3", TypeError)
        refused(lambda call=call: call(TOPIC), r"topics must be a TopicSet.*got Topic\(", TypeError)
    refused(lambda: evaluate("words", {}, "P_IA@1"), "srd_gym.load_topics reads names", TypeError)


@pytest.mark.parametrize(("name", "given"), [("reward", FirstRankOnly), ("reward", AlphaDCG), ("measures", [AlphaDCG])])
def test_a_class_in_place_of_an_object_is_told_to_be_called(name: str, given: Any) -> None:
    refused(lambda: made(name, given), r"got the class (\w+): write \1\(", TypeError)


# nothing is 0 in silence


def barren(*largest: int) -> TopicSet:
    return TopicSet([small_topic([[most, 0], [0, 0]], query_id=f"q{i}") for i, most in enumerate(largest)], name="b")


@pytest.mark.parametrize(("by", "topics", "message"), [
    ("P_IA@1", barren(0, 0, 0), r"'b': 3 of 3 judged topics have no candidate judged at least 1 \(the largest is 0\)"),
    ("P_IA(rel=3)@1", barren(2, 3, 1), r"'b': 2 of 3 .*at least 3 \(the largest is 2\), so that .* scores 0: q0, q2"),
])  # fmt: skip
@pytest.mark.parametrize("score", [
    lambda topics, by: evaluate(topics, {}, by),
    lambda topics, by: gym.make("SRD-v0", topics=topics, reward=by, observation="compact", disable_env_checker=True),
    lambda topics, by: ScoringCore(topics, reward=by),
])  # fmt: skip
def test_topics_that_score_0_whatever_ranks_them_are_counted(
    score: Any, by: str, topics: TopicSet, message: str
) -> None:
    with pytest.warns(UserWarning, match=message) as told:
        score(topics, by)
    assert len(told) == 1


def test_qrels_without_a_relevant_document_are_told_and_judged_topics_are_not() -> None:
    qrels = Qrels(topics={"1": TopicQrels(doc_ids=("a",), subtopic_ids=("s",), judgments=np.zeros((1, 1), np.int8))})
    with pytest.warns(UserWarning, match="qrels: 1 of 1 judged topics have no judgment of at least 1"):
        evaluate_run(qrels, Run(rankings={"1": ("a",)}, scores={"1": np.ones(1)}), "P_IA@1")
    with warnings.catch_warnings(action="error"):
        evaluate(SMALL, {}, "P_IA@1")
        SelectionCore(barren(1, 2))


# files of other compressions


@pytest.mark.parametrize("name", ["qrels", "run", "vectors", "topics.parquet", "v.npz", "corpus.json"])
@pytest.mark.parametrize(("packed", "start"), [("zstd", b"\x28\xb5\x2f\xfd"), ("lz4", b"\x04\x22\x4d\x18")])
def test_another_compression_is_named(name: str, packed: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.{packed}"
    path.write_bytes(start + b"\xff1 1 a 1\n" * 100)
    read = {"qrels": read_qrels, "run": read_run, "topics.parquet": read_topics, "corpus.json": read_json_object}
    told = f"{packed}, and only gzip, xz and bz2"
    refused(lambda: read.get(name, read_vectors)(path, *(["corpus"] if "json" in name else [])), told)


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)])
def test_packed_files_read_as_plain_ones_and_cut_ones_are_named(
    name: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "qrels"
    path.write_bytes(pack("".join(f"1 1 d{number} 1\n" for number in range(10_000)).encode()))
    assert len(read_qrels(path).topics["1"].doc_ids) == 10_000
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:30] + b"\0" * 40 + whole[70:]):
        path.write_bytes(broken)
        refused(lambda: read_qrels(path), f"broken {name} file")
