"""WordNet's files: entries, words, links, what is left out, what is refused; on a dictionary made here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from small_topics import refused
from small_wordnet import LICENCE, dictionary

from srd_gym.data import DataNotice
from studies.sources.wordnet import load_wordnet

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("bm25s") is None, reason="bm25s is not installed"),
    pytest.mark.filterwarnings("ignore::srd_gym.data.DataNotice"),
]


def test_a_word_with_its_senses_and_what_is_linked_to_them(tmp_path: Path) -> None:
    (topic,) = load_wordnet(dictionary().write(tmp_path / "dict"))
    assert topic.query_id == topic.query_text == "bank"
    assert topic.subtopic_ids == ("00000001-n", "00000002-n", "00000003-n")
    assert topic.subtopic_texts[0] == "bank, money box: a bank for coins"
    covers = {
        doc_id: {s[7] for s, grade in zip(topic.subtopic_ids, row, strict=True) if grade}
        for doc_id, row in zip(topic.doc_ids, topic.judgments, strict=True)
    }
    assert covers["00000001-n"] == {"1"}, "the sense itself"
    assert covers["00000006-n"] == {"1"}, "a link of this word"
    assert covers["00000005-n"] == set(), "a link of the other word of the sense"
    assert covers["00000050-n"] == {"2"}
    assert {"00000090-a", "00000091-v"} <= covers.keys(), "all parts of speech are documents"
    assert "00000002-n" not in covers, "its gloss has no bank"
    assert "00000080-n" in covers, "a shore, found by the words of its hypernym"
    texts = dict(zip(topic.doc_ids, topic.doc_texts, strict=True))
    assert texts["00000090-a"] == "big: of a bank"
    assert topic.pool_ids == tuple(f"{n:08d}-n" for n in (1, 2, 3, 4, 6, 50))


def test_words_are_drawn_in_a_fixed_order_without_overlap(tmp_path: Path) -> None:
    made = dictionary()
    for word in ("tide", "coast"):
        made.word(word, 1, 50, 2)
    for number in range(100, 130):
        made.add(number, f"x_{number}", f"tide and coast {number}", ("@", 2, "0000"))
    made.lines["noun"][0] = made.lines["noun"][0].replace("a bank for coins", "a bank for coins of tide and coast")
    made.lines["noun"][1] = made.lines["noun"][1].replace("sloping land", "sloping land of tide and coast")
    folder = made.write(tmp_path / "dict")
    everything = load_wordnet(folder).query_ids
    assert sorted(everything) == ["bank", "coast", "tide"]
    first, rest = load_wordnet(folder, words=1), load_wordnet(folder, words=2, skip=1)
    assert first.query_ids + rest.query_ids == everything
    assert [t.doc_ids for t in rest] == [t.doc_ids for t in load_wordnet(folder)][1:]


def test_words_with_nothing_to_choose_are_left_out(tmp_path: Path) -> None:
    made = dictionary()
    made.word("coin", 1, 2, 3)
    with pytest.warns(DataNotice, match=r"1 of 2 words have fewer than 20 candidates, .* left out: 'coin'"):
        assert load_wordnet(made.write(tmp_path / "dict")).query_ids == ("bank",)
    refused(lambda: load_wordnet(tmp_path / "dict", depth=19), r"all of 2 words have fewer than .*; draw more of them")


def test_damaged_files_and_odd_options_are_refused(tmp_path: Path) -> None:
    folder = dictionary().write(tmp_path / "dict")
    refused(lambda: load_wordnet(folder, skip=9), "no nouns of 3 senses or more are left behind the first 9")
    refused(lambda: load_wordnet(folder, senses=1), "senses")
    refused(lambda: load_wordnet(tmp_path / "elsewhere"), "no folder", FileNotFoundError)
    for file, line, message in (
        ("data.noun", "00000001 03 n 01 bank", r"data\.noun:2: no entry as wndb\(5WN\) has them"),
        ("data.noun", "00000001 03 n 01 bank 0 002 @ 00000002 n 0000 | gloss", "no entry"),
        ("index.noun", "bank n 3", r"index\.noun:2: no entry"),
        ("index.noun", "bank n 3 1 @ 3 1 00000001 00000002 00099999", r"sense 00099999-n of 'bank' .* one version"),
    ):
        broken = dictionary().write(tmp_path / f"{file}-{len(line)}")
        (broken / file).write_text(f"{LICENCE}{line}\n", encoding="utf-8")
        refused(lambda broken=broken: load_wordnet(broken), message)
    (folder / "data.adv").unlink()
    refused(lambda: load_wordnet(folder), r"data\.adv", FileNotFoundError)


def test_vectors_are_made_of_what_was_found(tmp_path: Path) -> None:
    folder = dictionary().write(tmp_path / "dict")
    topics = load_wordnet(folder, vectors=lambda texts: np.array([[len(text), 1.0] for text in texts]))
    assert topics[0].doc_vectors.shape == (topics[0].n_candidates, 2)
    assert topics[0].subtopic_vectors.shape == (3, 2)
    made = dictionary()
    made.add(95, "coin", "of money")
    made.word("money", 1, 2, 95)
    file, documents = tmp_path / "v.npz", {"document_ids": topics[0].doc_ids, "document_vectors": topics[0].doc_vectors}
    np.savez(file, **documents, query_ids=["bank"], query_vectors=[[1.0, 2.0]])
    kept = load_wordnet(made.write(tmp_path / "more"), vectors=file)
    assert kept.query_ids == ("bank",), "a word that is left out needs no vectors"
