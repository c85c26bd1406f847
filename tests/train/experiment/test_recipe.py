from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from small_topics import refused

from srd_agents.registry import RANKERS
from srd_gym.data.synthetic import generate
from srd_train.experiment import selection
from srd_train.experiment.cells import tasks
from srd_train.experiment.recipe import RankerEntry, built_in, check_recipe, load_recipe, recipe_from
from srd_train.experiment.selection import ResolvedRanker, fit_ranker
from srd_train.experiment.sources import TopicsEntry, load_entry
from srd_train.experiment.split import split_topics

SMALL: dict[str, Any] = {
    "title": "small",
    "reference": "random",
    "topics": [{"name": "t", "source": "synthetic:tiny:12:0"}],
    "rankers": [{"ranker": "random"}],
}


@pytest.mark.parametrize("name", built_in())
def test_recipes_that_come_along_hold_together(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.title
    assert recipe.about
    for entry in recipe.rankers:
        # What a clock ends says so in its name, and so does what is trained for another measure.
        config: Any = RANKERS[entry.ranker].configure(**entry.config)
        if name.startswith("tist") and "(" in entry.name and hasattr(config, "measure"):
            wanted = f"{entry.name.split('(')[1].rstrip(')')}@20"
            assert config.measure == config.validation_measure == wanted


@pytest.mark.parametrize("name", ["ma4div-paper", "ma4div-catalogues", "mdp-div-paper", "pruning-paper"])
def test_trained_rows_of_a_papers_table_have_five_seeds_all_their_episodes_and_grids_with_an_inside(name: str) -> None:
    recipe, budgets = load_recipe(name), set()
    for entry in recipe.rankers:
        if not entry.resolved.spec.trainable or entry.name == "mdp-div, 240 epochs":  # shown, not tested
            continue
        options = entry.resolved.configured({})
        assert len(entry.seeds or recipe.seeds) == 5
        assert options.patience == 0 or options.epochs == 1
        assert all(len(values) >= 3 for values in entry.grid.values())
        rollouts = getattr(options, "rollouts", 1 if entry.ranker.startswith("mdp-div") else None)
        if rollouts is not None and entry.name not in ("ma4div", "m2div"):  # the page says why
            budgets.add(options.epochs * rollouts)
    assert len(budgets) == 1


def topics(**options: Any) -> dict[str, Any]:
    """A change of `SMALL`: its topic set."""
    return {"topics": [{"name": "t", "source": "synthetic:tiny:12:0", **options}]}


def second_topics(source: str) -> dict[str, Any]:
    """A change of `SMALL`: two topic sets."""
    return {"topics": [*SMALL["topics"], {"name": "second", "source": source}]}


def ranker(name: str = "random", **options: Any) -> dict[str, Any]:
    """A change of `SMALL`: its ranker."""
    return {"rankers": [{"ranker": "random"}, {"ranker": name, "name": "x", **options}]}


def view(name: str = "mcts", **config: Any) -> dict[str, Any]:
    """A change of `SMALL`: a ranker with a view."""
    return ranker(name, views=[{"name": "v", "config": config}])


@pytest.mark.parametrize(("change", "message"), [
    ({"referencee": "x"}, "Did you mean reference"),
    ({"reference": 3}, "reference must be text, got 3"),
    ({"rankers": []}, "names no ranker"),
    ({"rankers": [{"ranker": "random"}, {"ranker": "random"}]}, "two entries are named 'random'"),
    ({"seeds": []}, "expected seeds"),
    *(({"name": name}, "its name is that of a folder") for name in (
        "a/b", "..", ".", "...", "/a", "a\\b", "..\\b", "C:\\a", "C:a", "a\nb", "a\0", "a\x1b[2J", "a\u2028b", " ",
        "", "\ud800",
    )),
    ({"seeds": [0, 3, 0]}, "seeds holds 0 twice"),
    ({"topics": "serp"}, r"expected \[\[topics\]\] tables"),
    ({"topics": [{"name": "t"}]}, "no source; expected name, source"),
    (topics(fold=1), "Did you mean folds"),
    (topics(source="x" * 400), "Known: ambient"),
    (topics(folds=2), "folds must be at least 3, got 2"),
    (topics(source="ambient", noise=2), "nothing uses noise with source 'ambient'"),
    (topics(drop=["retrieval_score"]), "'retrieval_score'. Did you mean"),
    (topics(retrieve="bm25"), "nothing uses retrieve"),
    (topics(source="texts/key-points", retrieve="bm52"), "Did you mean bm25"),
    (topics(published={"random": "0.5"}), "'random' in published must be a number"),
    (ranker(config={"seed": "1"}), "seed must be a whole number, got '1'"),
    (ranker(needs=["queries"]), "entry 1 of needs: 'queries'"),
    (ranker("mcts", views="value"), r"expected \[\[views\]\] tables"),
    (ranker("mcts", views=[{"name": "random"}]), "two entries are named 'random'"),
    (ranker("mmmr"), "unknown ranker 'mmmr'. Did you mean mmr"),
    ({"rankers": [{"ranker": "random"}, {"name": "x"}]}, "number 2: no ranker; expected ranker"),
    (second_topics("synthetic:tinny:12:0"), ": 'tinny'. Did you mean tiny"),
    ({"measures": ["alphanDCG@x"]}, "measure 'alphanDCG@x'"),
    (topics(noise=["a"]), "noise must be a number"),
    (ranker("mmr", grid={"lambda_": 0.5}), "'lambda_' in grid must be a list"),
    (view("mmr", lambda_=0.3), "in view 'v' of 'x': 'lambda_'"),
    (view(hidden_size=4), "'hidden_size'.*needs an entry of its own"),
    (view(rank_by="search", rank_simulations=-1), "rank_simulations must be at least 0"),
])  # fmt: skip
def test_what_no_benchmark_can_have_is_refused(change: dict[str, object], message: str) -> None:
    refused(lambda: recipe_from({**SMALL, **change}, "r", "r.toml"), rf"^r\.toml.*{message}")


def test_unknown_recipes_and_broken_files(tmp_path: Path) -> None:
    refused(lambda: load_recipe("smok"), r"recipe 'smok'\. Did you mean smoke")
    refused(lambda: load_recipe(str(tmp_path / "none.toml")), "no file at", FileNotFoundError)
    bad = tmp_path / "bad.toml"
    for text in ("title = [", f"title = {'[' * 5000}", f"depth = {'9' * 5000}"):
        bad.write_text(text)
        refused(lambda: load_recipe(str(bad)), re.escape(f"{bad}: not TOML"))
    bad.write_text('[[rankers]]\nranker = "mmr"\nsed = [1]\n')
    refused(lambda: load_recipe(str(bad)), re.escape(f"{bad}, [[rankers]] number 1: unknown"))


def test_real_files_need_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    entry = TopicsEntry(name="real", source="ambient", vectors="lsa", width=100)
    monkeypatch.delenv("SRD_DATA_DIR", raising=False)
    refused(lambda: load_entry(entry), "SRD_DATA_DIR is unset", FileNotFoundError)
    monkeypatch.setenv("SRD_DATA_DIR", str(tmp_path / "none"))
    refused(lambda: load_entry(entry), "no folder at", FileNotFoundError)


def test_combinations_of_a_grid() -> None:
    def choices(**grid: Any) -> list[dict[str, Any]]:
        return ResolvedRanker.of("mmr", {"relevance": "rank"}, grid).choices

    assert ResolvedRanker.of("random").choices == [{}]
    assert choices(lambda_=(0.1, 0.2), clip=(True,)) == [{"lambda_": x, "clip": True} for x in (0.1, 0.2)]
    refused(lambda: choices(lambda_=()), "'lambda_' has no values")


def test_the_first_of_equals_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection.Validation, "mean", lambda _self, ranker: min(ranker.config.lambda_, 0.5))
    split = split_topics(generate("tiny", n_topics=9, seed=0), fold="1/3")
    fitted = fit_ranker(ResolvedRanker.of("mmr", grid={"lambda_": (0.1, 0.5, 0.9)}), split)
    assert (fitted.chosen, fitted.validation) == ({"lambda_": 0.5}, 0.5)
    assert [trial["score"] for trial in fitted.trials] == [0.1, 0.5, 0.5]


def test_an_option_is_fixed_or_chosen_not_both() -> None:
    refused(lambda: ResolvedRanker.of("mmr", {"lambda_": 0.5}, {"lambda_": (0.1,)}), "lambda_ is fixed and in the grid")
    refused(lambda: ResolvedRanker.of("mmr", {}, {"lambda_": (0.1, 7.0)}), "lambda_ must be")


def test_topics_can_be_made_smaller_and_to_lack_what_rankers_read() -> None:
    whole = load_entry(TopicsEntry(name="t", source="synthetic:web:4:3"))
    first = load_entry(TopicsEntry(name="t", source="synthetic:web:4:3", candidates=15))
    assert [topic.doc_ids for topic in first] == [topic.doc_ids[:15] for topic in whole]
    assert first[0].retrieval_scores is not None
    assert load_entry(TopicsEntry(name="t", source="synthetic:web:4:3", candidates=900))[1].doc_ids == whole[1].doc_ids
    lacking = TopicsEntry(name="t", source="synthetic:web:4:3", drop=("retrieval_scores", "query_vector"))
    bare = load_entry(lacking)
    assert not bare.has_retrieval_order
    for topic, same in zip(whole, bare, strict=True):
        assert same.query_vector is None
        assert same.doc_ids != topic.doc_ids
        assert sorted(same.doc_ids) == sorted(topic.doc_ids)
        place = same.doc_ids.index(topic.doc_ids[0])
        assert (same.judgments[place] == topic.judgments[0]).all()  # type: ignore[index]
    assert [topic.doc_ids for topic in load_entry(lacking)] == [topic.doc_ids for topic in bare]


def test_rows_can_need_what_some_topics_lack() -> None:
    rankers = [{"ranker": "random"}, {"ranker": "mmr", "needs": ["query", "retrieval order"]}]

    def rows(**topics: Any) -> set[str]:
        entry = {"name": "t", "source": "synthetic:tiny:12:0", **topics}
        recipe = recipe_from({**SMALL, "topics": [entry], "rankers": rankers}, "r", "r.toml")
        return {cell.row for task in tasks(recipe) for cell in task.cells}

    assert rows() == {"random", "mmr"}
    assert rows(drop=["query_vector"]) == rows(drop=["retrieval_scores"]) == {"random"}


@pytest.mark.data
def test_years_choose_topics(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRD_DATA_DIR", str(data_dir))
    one = load_entry(TopicsEntry(name="one", source="trec-indri", years=(2010,)))
    assert {int(topic.query_id) for topic in one} <= set(range(51, 101))
    two = load_entry(TopicsEntry(name="two", source="trec-indri", years=(2009, 2010)))
    assert two.query_ids[-len(one) :] == one.query_ids
    assert len(two) > len(one) + 40
    with pytest.raises(FileNotFoundError, match=r"2008.indri.run"):
        load_entry(TopicsEntry(name="none", source="trec-indri", years=(2008,)))


def test_epochs_to_choose_from_are_longer_too() -> None:
    row = RankerEntry(ranker="reinforce", grid={"epochs": (2, 4)}, config={"lr_decay_epochs": 3}).trained_longer(2.0)
    assert (row.grid["epochs"], row.config["lr_decay_epochs"]) == ((4, 8), 6)


def test_relevance_is_a_column_and_no_choice() -> None:
    pytest.importorskip("ir_measures")
    values = SMALL | {"measures": ["alpha_nDCG@10", "nDCG@10"]}
    check_recipe(recipe_from(values, "t", "t.toml"))
    for name in ("nDCG@10", "ILS@10"):
        with pytest.raises(ValueError, match=f"select_by '{name}': options are chosen by a measure such as alpha_nDCG"):
            recipe_from(values | {"select_by": name}, "t", "t.toml")
    with pytest.raises(ValueError, match="measure 'P': ir_measures refuses it"):
        check_recipe(recipe_from(values | {"measures": ["P"]}, "t", "t.toml"))
    with pytest.raises(ValueError, match="'nDCG@20' measures 20 ranks, and depth is 10; set depth = 20"):
        check_recipe(recipe_from(values | {"measures": ["StRecall@10", "nDCG@20"]}, "t", "t.toml"))
