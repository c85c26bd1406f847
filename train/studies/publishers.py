"""Collections of texts from their publishers' own files: `python -m studies.publishers NAME SOURCE OUT`.

OUT becomes a folder in the plain format of `srd data build texts`. Names and sources (docs/your_data.md says whose they
are, and on what terms):

- key-points: arguments_PART.csv, key_points_PART.csv and labels_PART.csv of the parts train, dev and test, anywhere
  below SOURCE (kpm_data and test_data of the repository). Motions are numbered in the order of the parts; ids begin
  with the part, as the test part's own count from 0 again. 31 motions, 7,238 arguments, 276 key points, 27,519 judged
  pairs.
- perspectives: perspectrum_with_answers_v1.0.json and perspective_pool_v1.0.json (data/dataset of the repository).
  Equal sentences are one document, the first; a cluster's first sentence stands as its text. 907 claims, 11,112
  sentences, 5,095 clusters, 11,822 pairs.
- word-senses: a folder a word, with classes_map.txt, and data and gold of train and test (data/CoarseWSD-20 of the
  repository). At most 200 sentences a sense, in an order that a hash of the sentence fixes. A word without
  classes_map.txt has senses without texts. 20 words, 53 senses.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from srd_gym.files import written_atomically

PARTS = ("train", "dev", "test")
SENTENCES = 200
"""Of a sense, at most."""


@dataclass
class Plain:
    """What the four files hold."""

    documents: dict[str, str] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    subtopics: dict[tuple[str, str], str] = field(default_factory=dict)
    judgments: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """By query, subtopic and document; each pair once, the highest stays."""

    def judge(self, query: str, subtopic: str, document: str, grade: int) -> None:
        """Add a judgment."""
        key = (query, subtopic, document)
        self.judgments[key] = max(grade, self.judgments.get(key, grade))

    def write(self, folder: Path) -> None:
        """Write the files."""
        folder.mkdir(parents=True, exist_ok=True)
        documents = ({"_id": own_id, "title": "", "text": text} for own_id, text in self.documents.items())
        queries = ({"_id": own_id, "text": text} for own_id, text in self.queries.items())
        subtopics = ({"query_id": q, "_id": own_id, "text": text} for (q, own_id), text in self.subtopics.items())
        lines = {"diversity.qrels.gz": [" ".join([*key, str(grade)]) for key, grade in self.judgments.items()]}
        for name, entries in (("corpus", documents), ("queries", queries), ("subtopics", subtopics)):
            lines[f"{name}.jsonl.gz"] = [json.dumps(entry, ensure_ascii=False) for entry in entries]
        for name, content in lines.items():
            with written_atomically(folder / name) as temporary:  # the same bytes for the same lines
                temporary.write_bytes(gzip.compress("".join(f"{line}\n" for line in content).encode(), mtime=0))

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each."""
        judged = {f"judged {grade}": list(self.judgments.values()).count(grade) for grade in (0, 1)}
        return {name: len(getattr(self, name)) for name in ("queries", "documents", "subtopics")} | judged


def key_points(source: Path) -> Plain:
    """Debate motions, arguments, and the key points that these make (Bar-Haim et al. 2020; KPA shared task 2021)."""
    plain, motions = Plain(), dict[str, str]()
    for part in PARTS:
        for row in _rows(source, f"arguments_{part}.csv", "arg_id", "argument", "topic"):
            plain.documents[f"{part}-{row['arg_id']}"] = row["argument"]
            motions.setdefault(row["topic"], str(len(motions) + 1))
        of_point = {}
        for row in _rows(source, f"key_points_{part}.csv", "key_point_id", "key_point", "topic"):
            of_point[row["key_point_id"]] = query = motions[row["topic"]]
            plain.subtopics[query, f"{part}-{row['key_point_id']}"] = row["key_point"]
        for row in _rows(source, f"labels_{part}.csv", "arg_id", "key_point_id", "label"):
            point, argument = row["key_point_id"], row["arg_id"]
            plain.judge(of_point[point], f"{part}-{point}", f"{part}-{argument}", int(row["label"]))
    plain.queries = {number: motion for motion, number in motions.items()}
    return plain


def perspectives(source: Path) -> Plain:
    """Claims, sentences for and against, clusters of equivalent ones (Chen et al. 2019)."""
    plain, first, texts = Plain(), dict[str, str](), dict[int, str]()
    for entry in _json(source, "perspective_pool_v1.0.json"):
        texts[entry["pId"]] = entry["text"]
        first.setdefault(entry["text"], f"p{entry['pId']}")
    plain.documents = {own_id: text for text, own_id in first.items()}
    for claim in _json(source, "perspectrum_with_answers_v1.0.json"):
        query = str(claim["cId"])
        plain.queries[query] = claim["text"]
        for number, cluster in enumerate(claim["perspectives"], start=1):
            plain.subtopics[query, str(number)] = texts[cluster["pids"][0]]
            for pid in cluster["pids"]:
                plain.judge(query, str(number), first[texts[pid]], 1)
    return plain


def word_senses(source: Path) -> Plain:
    """Ambiguous words, sentences, senses (CoarseWSD-20, Loureiro et al. 2021)."""
    plain = Plain()
    for folder in sorted(path.parent for path in source.glob("*/train.data.txt")):
        word, by_sense = folder.name, dict[str, set[str]]()
        for part in ("train", "test"):
            data, gold = ((folder / f"{part}.{kind}.txt").read_text("utf-8").splitlines() for kind in ("data", "gold"))
            if len(data) != len(gold):
                raise ValueError(f"{folder}: {len(data)} sentences and {len(gold)} senses in {part}; expected as many")
            for sentence, sense in zip(data, gold, strict=True):
                by_sense.setdefault(sense.strip(), set()).add(sentence.partition("\t")[2])
        plain.queries[word] = word
        named = folder / "classes_map.txt"
        names = json.loads(named.read_text("utf-8")) if named.is_file() else {}
        for sense, sentences in sorted(by_sense.items()):
            plain.subtopics[word, sense] = names.get(sense, "").replace("_", " ")
            for sentence in sorted(sentences, key=lambda text: hashlib.sha256(text.encode()).digest())[:SENTENCES]:
                own_id = f"{word}-{len(plain.documents)}"
                plain.documents[own_id] = sentence
                plain.judge(word, sense, own_id, 1)
    return plain


KNOWN: dict[str, Callable[[Path], Plain]]
KNOWN = {"key-points": key_points, "perspectives": perspectives, "word-senses": word_senses}


def _below(source: Path, name: str) -> Path:
    """The file of that name at or below the source."""
    for path in sorted(source.rglob(name)):
        return path
    raise FileNotFoundError(f"no {name} at or below {source}; give the folder of the publisher's files")


def _rows(source: Path, name: str, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV file."""
    path = _below(source, name)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if not set(columns) <= set(rows.fieldnames or ()):
            raise ValueError(f"{path}: expected the columns {', '.join(columns)}, got {rows.fieldnames}")
        yield from rows


def _json(source: Path, name: str) -> Any:
    """The content of a JSON file."""
    return json.loads(_below(source, name).read_text(encoding="utf-8"))


def main(words: list[str]) -> int:
    """Convert, and print the counts."""
    if len(words) != 3 or words[0] not in KNOWN:
        print(f"python -m studies.publishers {'|'.join(KNOWN)} SOURCE OUT", file=sys.stderr)  # noqa: T201
        return 2
    plain = KNOWN[words[0]](Path(words[1]))
    plain.write(Path(words[2]))
    print(f"{words[2]}: {', '.join(f'{count:,} {name}' for name, count in plain.counts.items())}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
