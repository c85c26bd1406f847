from __future__ import annotations

import base64
import csv
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import markupsafe
import numpy as np
import pytest
from made_results import HOSTILE, TINY, recipe, record, write_large, write_records
from pdflatex import compiled
from run_srd import Srd

import srd_train.report.page as page_module
from srd_gym.data.synthetic import generate
from srd_gym.in_memory import as_run
from srd_gym.measures import evaluate_run
from srd_train.experiment.benchmark import run_benchmark
from srd_train.experiment.recipe import load_recipe
from srd_train.report.comparison import compare
from srd_train.report.latex import as_latex
from srd_train.report.markup import as_markdown
from srd_train.report.page import RANKING_BYTES, SCRIPTS, Report, embedded, report
from srd_train.report.results import read_results
from srd_train.report.tables import Problem, complete_tables


@pytest.fixture(scope="module")
def small(small_run: tuple[Path, Path]) -> Report:
    return report(small_run[0])


def blocks(text: str) -> dict[str, str]:
    """The scripts of a page by their ids; that of the page itself has none."""
    found = re.findall(r"<script([^>]*)>(.*?)</script>", text, re.DOTALL)
    return {"".join(re.findall(r'id="([^"]+)"', attributes)): content for attributes, content in found}


def test_the_page_loads_nothing_and_runs_one_script(small: Report) -> None:
    text, problems = small.html()
    assert not problems
    assert set(blocks(text)) == {"", "data", "lists-0", "lists-1"}
    assert text.count("<script") == 4
    assert not re.search(r'<[^>]*\s(src|href)="(?!#)', text)
    assert not re.search(r"<[a-z][^>]*\s(on[a-z]+|style)=", text)
    assert HOSTILE not in text
    assert "default-src &#39;none&#39;; script-src &#39;sha256-" in text
    assert small.html()[0] == text


def test_the_scripts_make_no_markup_of_texts() -> None:
    folder = Path(page_module.__file__).parent / "templates"
    assert {path.name for path in folder.glob("*.js")} == set(SCRIPTS)
    for name in SCRIPTS:
        text = (folder / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|XMLHttp", text)


@pytest.mark.parametrize("text", ["</script>", "<!--", "a & b", "\u2028", "\ud800", "]]>", "\x00\x1b[31m"])
def test_embedded_texts_stay_in_their_element(text: str) -> None:
    written = embedded({"text": text})
    assert not set(written) & set("<>&\u2028")
    assert written.isascii()
    assert json.loads(written) == {"text": text}


def test_the_page_holds_the_scores_and_gains_of_the_records(small: Report) -> None:
    text, _ = small.html()
    found = blocks(text)
    data = json.loads(found["data"])
    for number, table in enumerate(small.tables):
        entry = data["sets"][number]
        names = [ranker["name"] for ranker in entry["rankers"]]
        assert names == ["random", "mmr", "<i>learner</i>", "oracle"]
        for name in entry["measures"]:
            scores = np.frombuffer(base64.b64decode(entry["scores"][name]), dtype="<f4").reshape(len(names), -1)
            for row, ranker in enumerate(names):
                assert scores[row] == pytest.approx(table.scores[name][ranker].mean(axis=0), abs=1e-7)
        by_cell = {(r["ranker"], str(r["seed"])): {} for r in table.records}
        for one in table.records:
            by_cell[one["ranker"], str(one["seed"])].update(one["per_topic"])
        topics = json.loads(found[f"lists-{number}"])
        assert len(topics) == len(table.topic_ids)
        for topic in topics:
            for ranker, seeds in topic["lists"].items():
                for seed, ranking in seeds.items():
                    score = by_cell[ranker, seed][topic["id"]][entry["measures"][0]]
                    assert sum(ranking["gains"]) / 1e4 == pytest.approx(score, abs=5e-4)
                    assert len(ranking["docs"]) == len(ranking["gains"]) == 5


def test_the_page_shows_the_subtopics_that_were_tested(tmp_path: Path) -> None:
    parts = {"train_subtopics": ("1", "2", "3"), "test_subtopics": ("4", "5", "6")}
    records = run_benchmark(recipe("random", topics=(replace(TINY, **parts),)), tmp_path)
    scores = {query_id: own["alpha_nDCG@5"] for one in records for query_id, own in one["per_topic"].items()}
    topics = json.loads(blocks(report(tmp_path).html()[0])["lists-0"])
    assert {topic["id"] for topic in topics} == scores.keys()
    for topic in topics:
        assert {name for name, _ in topic["subtopics"]} <= {"4", "5", "6"}
        (listed,) = topic["lists"]["random"].values()
        assert sum(listed["gains"]) / 1e4 == pytest.approx(scores[topic["id"]], abs=5e-4)


RANKED = {"a": 0, "b": 3}
"""Names of runs, and the first of seven documents that each ranks."""


@pytest.mark.parametrize("measure", ["alpha_nDCG@5", "alpha_nDCG(normalizer=candidates)@5", "VRisk@5", "MAP_IA", "AP"])
@pytest.mark.parametrize("pool", [True, False])
def test_lists_of_runs_have_the_scores_of_the_topics_whatever_was_ranked(measure: str, pool: bool) -> None:
    if measure == "AP":
        pytest.importorskip("ir_measures")
    topics = generate("serp", n_topics=5, seed=0)
    pools = [{"pool": topic.judgments, "pool_ids": topic.doc_ids} if pool else {} for topic in topics]
    runs = {
        name: as_run({topic.query_id: topic.doc_ids[first:7] for topic in topics}) for name, first in RANKED.items()
    }
    kept = (topic.take(np.arange(4, 11)) for topic in topics)  # runs rank others, too
    topics = topics.replace(replace(topic, **own) for topic, own in zip(kept, pools, strict=True))
    scores = {name: evaluate_run(topics, run, [measure]).per_topic for name, run in runs.items()}
    entries = json.loads(blocks(compare(topics, runs, [measure]).html()[0])["lists-0"])
    assert len(entries) == 5
    for entry in entries:
        assert entry["candidates"] == 7
        lists = {name: entry["lists"][name]["0"] for name in runs}
        for name, listed in lists.items():
            assert listed["value"] / 1e4 == pytest.approx(scores[name][entry["id"]][measure], abs=1e-4)
            assert ("gains" in listed) == (measure != "AP")
        if measure != "AP":
            start = [listed["value"] - sum(listed["gains"]) for listed in lists.values()]
            assert start == pytest.approx([start[0]] * 2, abs=5), "of no documents; of VRisk more than 0"
            assert measure == "VRisk@5" or abs(start[0]) < 5


def test_every_table_says_what_is_simulated_and_what_was_tested(small: Report) -> None:
    text, _ = small.html()
    assert text.count("<figure>") == 2
    assert text.count('<span class="mark">simulated vectors</span>') == 2
    for form in (small.markdown(), small.latex()):
        assert form.count("simulated vectors") == (6 if form == small.latex() else 2)  # means, differences, cost
        assert form.count("wins / ties / losses") == 2
    assert [form.count("Holm-adjusted") for form in (text, small.markdown(), small.latex())] == [1, 1, 4]
    for table in small.tables:
        assert "simulated vectors" in table.title


def test_texts_stay_texts_in_markdown_and_latex(tmp_path: Path) -> None:
    name = "a|b_{c}$&<i>\n%#^~\\"
    odd = {**record()["topic_set"], "name": "50% of *all* | topics"}
    records = [record("mmr", topic_set=odd), record(name, cell="odd", topic_set=odd)]
    found, _ = complete_tables(read_results(write_records(tmp_path, records))[0])
    problem = Problem(kind="failed", what="cell <b>", why="it | broke")
    lines = as_markdown(found, [problem]).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert any(row.startswith(r"| a\|b_{c}$\&\<i\> %\#^\~\\ |") for row in rows)
    assert r"- cell \<b\>: it \| broke" in lines
    latex = as_latex(found)
    assert r"a$|$b\_\{c\}\$\&$<$i$>$ \%\#\textasciicircum{}\textasciitilde{}\textbackslash{} &" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3
    braces = re.findall(r"(?<!\\)[{}]", latex)
    assert braces.count("{") == braces.count("}")


def test_latex_of_a_row_without_others_to_test_has_no_differences(tmp_path: Path) -> None:
    found, _ = complete_tables(read_results(write_records(tmp_path, [record("mmr")]))[0])
    assert as_latex(found).count(r"\begin{tabular}") == 2  # means and cost


def test_a_page_and_its_rankings_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = [f"StRecall@{k}" for k in (5, 10, 15, 20)]
    topics = {f"topic-{i:06d}": [f"topic-{i:06d}-document-{d:03d}" for d in range(50)] for i in range(1_000)}
    results = write_large(tmp_path / "large", topics, ["mmr", *(f"ranker-{i}" for i in range(1, 5))], measures)
    monkeypatch.setattr("srd_train.report.page.RANKING_BYTES", 300_000)
    text, problems = report(results).html()
    found = blocks(text)
    data = json.loads(found["data"])
    assert sorted(data["sets"][0]["scores"]) == sorted(measures)
    assert sum(map(len, data["sets"][0]["scores"].values())) < 20_000 * 5.5
    assert len(found["lists-0"]) <= 300_000
    assert 200_000 * 5.5 + RANKING_BYTES < 15_000_000
    shown = [topic["id"] for topic in json.loads(found["lists-0"])]
    assert shown == sorted(shown)
    (left_out,) = [problem for problem in problems if problem.kind == "left out"]
    assert left_out.why == f"the rankings of {len(shown):,} of 1,000 topics are shown, evenly spaced"
    assert len(shown) > 100


def test_the_command_writes_page_and_tables(srd: Srd, tmp_path: Path) -> None:
    results = write_records(tmp_path / "results", [record("mmr"), record("random"), record("oracle")])
    words = ("report", results, "--markdown", tmp_path / "t.md", "--latex", tmp_path / "t.tex")
    done = srd.works(*words)
    assert (results / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "t.md").read_text().startswith("**made: 3 test topics, fold 1, simulated vectors")
    assert r"\toprule" in (tmp_path / "t.tex").read_text()
    assert "no recipe beside the results has the topic set 'made'" in done.err
    made = srd.works("report", results, "--json", "--out", tmp_path / "page.html").json
    assert made["written"] == [str(tmp_path / "page.html")]
    assert {problem["kind"] for problem in made["problems"]} == {"run", "texts"}
    assert not list(tmp_path.rglob("*.partial"))


def test_the_command_says_what_is_wrong(srd: Srd, tmp_path: Path) -> None:
    assert "there is no folder " in srd.fails("report", tmp_path / "nowhere")
    assert "no cells in " in srd.fails("report", tmp_path)
    results = write_records(tmp_path, [record("mmr")])
    (results / "recipe.json").write_text("[]")
    assert "recipe.json" in srd.works("report", results).err
    (results / "recipe.json").unlink()
    write_records(tmp_path, [record("mmr", schema_version=0)])
    assert "written by another version (schema 0, expected 2)" in srd.fails("report", results)


def test_without_jinja2_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = report(write_records(tmp_path, [record("mmr")]))
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"reports need jinja2: pip install .*\[report\]"):
        made.html()
    assert made.markdown().startswith("**made")


def test_the_recipe_that_was_run_gives_title_and_order(small: Report, small_run: tuple[Path, Path]) -> None:
    assert small.recipe == load_recipe(str(small_run[1]))
    assert f"<title>{markupsafe.escape(small.recipe.title)}</title>" in small.html()[0]
    assert [table.topics for table in small.tables] == ["tiny & <b>bold</b>", "web"]


def test_benchmarks_and_reports_print_one_latex_which_compiles(
    srd: Srd, small_run: tuple[Path, Path], tmp_path: Path
) -> None:
    results, recipe = small_run
    forms = [tmp_path / name for name in ("of-report.tex", "of-benchmark.tex", "made.csv")]
    srd.works("report", results, "--out", tmp_path / "a.html", "--latex", forms[0], "--csv", forms[2])
    srd.works("benchmark", recipe, "--out", results, "--latex", forms[1], "--json")
    text = forms[0].read_text()
    assert text == forms[1].read_text()
    assert "oracle" in text
    labels = re.findall(r"\\label\{([^}]+)\}", text)
    assert len(labels) == len(set(labels)) == 6, "means, differences and cost of two topic sets"
    assert "undefined" not in compiled(text, tmp_path)
    assert {row["measure"] for row in csv.DictReader(forms[2].read_text().splitlines())} == {
        "alpha_nDCG@5",
        "StRecall@5",
    }
