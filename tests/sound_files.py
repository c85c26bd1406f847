"""Sound files of every form that the project reads, and what reads them: one home for tests and fuzzers. No torch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from srd_gym.core.users import Clicks
from srd_gym.data import (
    generate,
    load_ambient,
    load_du_div,
    load_nuggets,
    load_rl4srd,
    load_texts,
    load_trec,
    read_folds,
    read_qrels,
    read_queries,
    read_run,
    read_subtopics,
    read_topics,
    read_topics_xml,
    read_vectors,
    write_topics,
)
from srd_gym.dtypes import IntArray
from srd_gym.offline import EpsilonPolicy, evaluate_offline, logged_parts, read_log, write_log
from srd_gym.topic import Topic

Sound = Mapping[str, bytes | str] | Callable[[Path], object]
"""What each file holds, by name, or what writes them into a folder."""

VECTORS = np.array([[1, 2], [3, 4], [0.5, -1]], dtype=np.float32)
IDS = ("1.1", "1.10", "a b")

QRELS = {"qrels": "1 1 a 1\n1 2 b 0\n1 2 c 2\n2 0 x -2\n2 1 a 1\n10 1 b 1\n"}
RUN = {"run": "1 Q0 a 1 2.5 tag\n1 Q0 b 2 2.5 tag\n1 Q0 z 3 -1e-3 tag\n2 Q0 a 1 1 tag\n10 Q0 c 1 0 tag\n"}
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE web [ <!ELEMENT web (topic)*> <!ATTLIST topic number CDATA #REQUIRED type (faceted|other) "other"> ]>
<web><topic number="1" type="faceted"><query>jaguar &lt;b&gt;</query><description> A
 car, \xc3\xa9t\xc3\xa9? </description><subtopic number="2" type="inf">the
  car</subtopic><subtopic number="1">the cat</subtopic></topic></web>"""
TOP = "<top>\n<num> Number: 301 \n<title> International crime\n\n<desc> Description:\nx\n</top>\n"
QUERIES = {"q.tsv": "1\tspider bites\n2\tjaguar: the car\n", "q.txt": TOP, "s.tsv": "1\t2\tcar\n1\t3\tcat\n"}
TREC = {
    "topics.xml": XML,
    "run": "1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n1 Q0 c 3 1 x\n",
    "qrels": "1 0 p 0\n1 1 b 2\n1 3 c 1\n1 2 a -2\n",
    "vectors": "a\t1 0\nb\t1 1\nc\t1 2\n",
}
AMBIENT = {
    "topics.txt": "ID\tdescription\n1\tAida\n10\tB-52\n",
    "subTopics.txt": "ID\tdescription\n1.1\topera\n1.10\tcruise ship\n10.1\tbomber\n",
    "results.txt": "ID\turl\ttitle\tsnippet\n"
    "1.10\tu\tten\tlast\n1.1\tu\tone <b>\tfirst \x07\n1.2\tu\ttwo\t\n10.1\tu\tB\tplane\n",
    "STRel.txt": "subTopicID\tresultID\n1.1\t1.10\n1.10\t1.1\n1.1\t1.1\n",
}
DOCUMENTS = (
    ("cat", "Jaguar", "a big cat that swims"),
    ("car", "Jaguar", "a fast car"),
    ("os", "", "the jaguar operating system of a computer"),
    ("tea", "", "tea with milk"),
    ("car", "", "used jaguar cars and their prices"),
)
"""Ids, titles, texts; "car" stands for two texts."""
TEXTS = {
    "corpus.jsonl": "\n".join(json.dumps({"_id": i, "title": title, "text": text}) for i, title, text in DOCUMENTS),
    "queries.jsonl": '{"_id": "q1", "text": "jaguar"}\n{"_id": "q2", "text": "milk"}\n',
    "subtopics.jsonl": "\n".join(json.dumps({"query_id": "q1", "_id": s, "text": s}) for s in ("animal", "vehicle")),
    "diversity.qrels": "q1 animal cat 1\nq1 vehicle car 1\nq1 system os 1\nq1 system tea 0\n",
}
DU_DIV = {"query_doc_subtopics_doc15_2.json": '{"2": {"2_1": ["12", "3"], "2_0": []}, "9": {"a": ["1"]}}'}
RL4SRD = {
    "query_doc.json": '{"10": {"a": ["2", "10"], "b": [], "x": ["1"]}, "9": {"c": ["1"], "d": ["1"]}}',
    "query_permutation.json": json.dumps(
        {"9": {"alphaDCG": 1, "permutation": ["c", "d"]}, "10": {"permutation": ["a", "b", "e"]}}
    ),
    "query_representation.dat": '{"9": [1, 2], "10": [3, 4], "11": [5, 6]}',
}
DOC_VECTORS = {"doc_representation.dat": json.dumps({name: [i, i] for i, name in enumerate("abcdefgh")})}
NUGGETS = {
    "rag": '{"qid": "1", "text": "q", "docid": "a", "candidate_text": "c", "nuggets": '
    '[{"text": "n", "importance": "vital", "assignment": "support"}, {"text": "m", "assignment": "failed"}]}\n',
    "fresh": '{"query_id": "2", "query_title": "t", "query_text": "q", "nuggets": '
    '[{"_id": "2_0", "text": "n", "relevant_corpus_ids": ["a"], "non_relevant_corpus_ids": ["b"]}]}\n',
    "crux": '{"id": "3", "request": "r"}\n{"id": "3", "subquestions": ["x", "y"]}\n'
    '{"id": "3", "docid": "a", "rating": [5, -1]}\n',
}
FOLDS = {"folds": "# test sets\nfold1: [2, '07', x-1]\n\nfold2: [\"3\"]  # two\nfold3:[5]\n"}
JSON_VECTORS = {"v.json": json.dumps(dict(zip(IDS, VECTORS.tolist(), strict=True)))}
TSV = {"v.tsv": "".join(f"{name}\t{row[0]}\t{row[1]}\n" for name, row in zip(IDS, VECTORS.tolist(), strict=True))}


def write(folder: Path, sound: Sound) -> Path:
    """The folder, with sound files written into it."""
    folder.mkdir(exist_ok=True)
    if callable(sound):
        sound(folder)
    else:
        for name, content in sound.items():
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def make_npy(folder: Path) -> None:
    np.save(folder / "v.npy", VECTORS)
    (folder / "v.ids").write_text("\n".join(IDS) + "\n")


def make_npz(folder: Path) -> None:
    np.savez(folder / "v.npz", ids=np.array(IDS), vectors=VECTORS)


def make_parquet_vectors(folder: Path) -> None:
    table = pa.table({"id": list(IDS), "vector": VECTORS.tolist(), "more": [1, 2, 3]})
    pq.write_table(table, folder / "v.parquet")


def make_topics(folder: Path) -> None:
    write_topics(folder / "t.parquet", generate("tiny", n_topics=4, seed=0))


LOGGED = generate("tiny", n_topics=4, seed=0)
"""The topics of the sound log."""


class _AsTheyCome:
    """Ranks candidates as they come."""

    def rank(self, topic: Topic, k: int) -> IntArray:
        return np.arange(min(k, topic.n_candidates))

    def rank_batch(self, topics: Sequence[Topic], k: int) -> list[IntArray]:
        return [self.rank(topic, k) for topic in topics]


def make_log(folder: Path) -> None:
    policy, header = EpsilonPolicy(0.4), {"epsilon": 0.4, "top_n": None, "seed": 0}
    parts = logged_parts(_AsTheyCome(), LOGGED, Clicks(), policy, depth=3, episodes=6, seed=0)
    write_log(folder / "log.parquet", parts, header, lambda _: None)


def _evaluate_log(folder: Path) -> object:
    return evaluate_offline(read_log(folder / "log.parquet", LOGGED), _AsTheyCome(), resamples=10)


def _read_trec(folder: Path) -> object:
    run, qrels, topics, vectors = (folder / name for name in ("run", "qrels", "topics.xml", "vectors"))
    return load_trec(run=run, qrels=qrels, topics=topics, vectors=vectors)


def _read_queries(folder: Path) -> object:
    return read_queries([folder / "q.tsv", folder / "q.txt"]), read_subtopics(folder / "s.tsv")


READERS: dict[str, tuple[Sound, Callable[[Path], object]]] = {
    "qrels": (QRELS, lambda folder: read_qrels(folder / "qrels")),
    "run": (RUN, lambda folder: read_run(folder / "run")),
    "topics-xml": ({"topics.xml": XML}, lambda folder: read_topics_xml(folder / "topics.xml")),
    "queries": (QUERIES, _read_queries),
    "trec": (TREC, _read_trec),
    "ambient": (AMBIENT, load_ambient),
    "texts": (TEXTS, lambda folder: load_texts(folder, retrieve="none")),
    "du-div": (DU_DIV, load_du_div),
    "nuggets": (NUGGETS, lambda folder: load_nuggets([folder / name for name in NUGGETS])),
    "rl4srd": (RL4SRD | DOC_VECTORS, load_rl4srd),
    "folds": (FOLDS, lambda folder: read_folds(folder / "folds")),
    "json-vectors": (JSON_VECTORS, lambda folder: read_vectors(folder / "v.json", only=IDS)),
    "tsv": (TSV, lambda folder: read_vectors(folder / "v.tsv")),
    "npy": (make_npy, lambda folder: read_vectors(folder / "v.npy")),
    "npz": (make_npz, lambda folder: read_vectors(folder / "v.npz")),
    "parquet-vectors": (make_parquet_vectors, lambda folder: read_vectors(folder / "v.parquet")),
    "log": (make_log, _evaluate_log),
    "parquet-topics": (make_topics, lambda folder: read_topics(folder / "t.parquet")),
}
"""What a folder of each form holds, and what reads it."""
