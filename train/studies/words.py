"""The collection `words` from its readable source: `python -m studies.words` writes the Parquet file of the package.

The source is one TOML file a query in `srd_gym/data/collections/words`: the query, its subtopics, and its results in
the order of the engine, each with the subtopics that it covers, its site, its title and its snippet.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import numpy as np

from srd_gym.data import WORDS, LsaVectorizer, write_topics
from srd_gym.topic import Topic, TopicSet

SOURCE = WORDS.with_suffix("")
_WIDTH = 64


def built() -> TopicSet:
    """The topics with vectors by LSA, fitted on all texts and so marked transductive."""
    topics = TopicSet([_topic(file) for file in sorted(SOURCE.glob("*.toml"))], name=WORDS.stem)
    made = LsaVectorizer(_WIDTH).fit_topics(topics).apply(topics, transductive=True)
    return made.replace(made, encoder=f"lsa:{WORDS.stem}")


def _topic(file: Path) -> Topic:
    """One query, named like its file."""
    page = tomllib.loads(file.read_text(encoding="utf-8"))
    covered, sites, titles, snippets = zip(*page["results"], strict=True)
    subtopics: dict[str, str] = page["subtopics"]
    strangers = {name for names in covered for name in names.split()} - set(subtopics)
    if strangers:
        raise ValueError(f"{file}: results cover {sorted(strangers)}, subtopics are {sorted(subtopics)}; correct one")
    ranks = np.arange(1, len(sites) + 1)
    return Topic(
        query_id=file.stem,
        query_text=page["query"],
        doc_ids=tuple(f"{site}/{file.stem}" for site in sites),
        doc_texts=tuple(f"{title}\n{snippet}" for title, snippet in zip(titles, snippets, strict=True)),
        # The order was chosen, not computed: the scores only fall with the rank as an engine's do.
        retrieval_scores=(20 / np.log2(2 + ranks)).astype(np.float32),
        subtopic_ids=tuple(subtopics),
        subtopic_texts=tuple(f"{name}: {text}" for name, text in subtopics.items()),
        judgments=np.array([[name in names.split() for name in subtopics] for names in covered], dtype=np.int8),
    )


if __name__ == "__main__":
    write_topics(WORDS, built())
    sys.stdout.write(f"{WORDS}: {WORDS.stat().st_size:,} bytes\n")
