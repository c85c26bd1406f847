from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_results import TINY, recipe, table_of
from run_srd import Srd

from srd_gym.data.parquet import read_topics, write_topics
from srd_gym.data.reshape import origin, reshape
from srd_gym.data.synthetic import generate
from srd_gym.topic import TopicSet
from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.recipe import RankerEntry
from srd_train.experiment.split import are_lists, split_topics
from srd_train.report.columns import notes
from srd_train.report.markup import as_markdown

LISTS = reshape(generate("tiny", n_topics=12, seed=0), list_size=4, lists=3, min_relevant=2, seed=0)


def origins(part: TopicSet | None) -> set[str]:
    assert part is not None
    return {origin(query_id) for query_id in part.query_ids}


@given(count=st.integers(3, 12), index=st.integers(1, 12), seed=st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_parts_never_share_an_original_topic(count: int, index: int, seed: int) -> None:
    split = split_topics(LISTS, fold=f"{min(index, count)}/{count}", fold_seed=seed)
    parts = [origins(split.train), origins(split.validation), origins(split.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 12


@given(seed=st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_without_a_fold_validation_takes_whole_topics_too(seed: int) -> None:
    split = split_topics(LISTS, seed=seed)
    assert len(origins(split.validation)) == 2
    assert not origins(split.train) & origins(split.validation)
    assert len(split.train) + len(split.validation) == len(LISTS)


def test_published_folds_name_the_original_topics(tmp_path: Path) -> None:
    names = sorted(origins(LISTS))
    file = tmp_path / "folds.yml"
    parts = [names[i::4] for i in range(4)]
    file.write_text("\n".join(f"fold{i}: [{', '.join(part)}]" for i, part in enumerate(parts, start=1)))
    split = split_topics(LISTS, fold="2", folds=file)
    assert origins(split.test) == set(names[1::4])
    assert origins(split.validation) == set(names[2::4])


def test_a_slash_in_ids_alone_makes_no_lists() -> None:
    assert are_lists(LISTS)
    assert not are_lists(LISTS.replace(LISTS, name="my topics"))
    plain = generate("tiny", n_topics=5, seed=0)
    assert not are_lists(plain.replace(plain, name="x, lists of 4"))


def test_the_command_writes_lists_that_train_folds_by_topic(srd: Srd, tiny_file: Path, tmp_path: Path) -> None:
    out, model = tmp_path / "lists.parquet", tmp_path / "model"
    words = ["--lists", 3, "--list-size", 4, "--min-relevant", 2, "--seed", 5]
    assert "90 lists of 4 from 30 topics" in srd.works("data", "reshape", tiny_file, *words, "--out", out).err
    lists = read_topics(out)
    assert len(lists) == 90
    drawn = reshape(read_topics(tiny_file), list_size=4, lists=3, min_relevant=2, seed=5)
    assert set(lists.query_ids) == set(drawn.query_ids)
    assert are_lists(lists)
    shown = srd.works("data", "reshape", tiny_file, *words, "--out", out, "--json").json
    assert (shown["lists"], shown["topics"]) == (90, 30)
    srd.works("train", "mmr", "--topics", out, "--fold", "1/5", "--out", model)
    test = set(split_topics(lists, fold="1/5").test.query_ids)  # type: ignore[union-attr]
    assert len(test) == 18
    assert str(sorted(test)[0]) in (model / "config.json").read_text()


def test_topics_that_do_not_fit_are_refused_or_left_out(srd: Srd, tmp_path: Path) -> None:
    topics, file, out = generate("tiny", n_topics=6, seed=0), tmp_path / "t.parquet", tmp_path / "l.parquet"
    short = [topic.take([0, 1]) if index < 2 else topic for index, topic in enumerate(topics)]
    write_topics(file, topics.replace(short))
    words = ["data", "reshape", file, "--list-size", 4, "--min-relevant", 1, "--lists", 2, "--out", out]
    assert "2 topics have fewer than 4 candidates" in srd.fails(*words)
    assert not out.exists()
    assert "2 topics left out" in srd.works(*words, "--unfit", "drop").err
    assert "min_relevant must be at most" in srd.fails(*words, "--unfit", "drop", "--min-relevant", 9)
    write_topics(file, topics.replace(short[:2]))
    assert "no topic" in srd.fails(*words, "--unfit", "drop")


def test_a_recipe_draws_lists_and_its_tables_count_topics(tmp_path: Path) -> None:
    shape = {"list_size": 4, "lists": 3, "min_relevant": 2, "seed": 0}
    drawn = replace(TINY, name="lists", source="synthetic:tiny:12:0", folds=4, reshape=shape)
    records = run_benchmark(recipe("random", "oracle", topics=(drawn,)), tmp_path)
    tested = [set(record["per_topic"]) for record in records if record["ranker"] == "random"]
    assert sum(len({origin(name) for name in part}) for part in tested) == 12
    table = table_of(records, reference="random")
    assert (table.tested, table.lists) == (12, 36)
    assert "12 test topics (36 lists)" in table.title
    values = [score["alpha_nDCG@5"] for r in records if r["ranker"] == "random" for score in r["per_topic"].values()]
    assert table.rows[0].means["alpha_nDCG@5"] == pytest.approx(sum(values) / len(values))


def test_rows_ended_by_time_are_marked(tmp_path: Path) -> None:
    timed = RankerEntry(ranker="qmix", name="qmix, 0.2 s", config={"epochs": 100_000, "rollouts": 1}, time_budget=0.2)
    records = run_benchmark(recipe("random", timed, topics=(replace(TINY, run_folds=(1,)),)), tmp_path)
    table = table_of(records, reference="random")
    timed_note = "Ended by a time budget, so that their weights depend on the machine: qmix, 0.2 s (0.2 s)."
    assert timed_note in notes(table)
    page = as_markdown([table])
    assert timed_note in page
    assert "| episodes | steps | fit CPU seconds | ms a topic |" in page
    episodes = records[1]["environment_episodes"]
    assert episodes > 0
    assert f" {episodes:,} " in page
