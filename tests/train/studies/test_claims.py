"""What the documentation says of results is what the stored scores say; and what the check finds where it is not."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_results import cells, record
from run_srd import Srd
from small_topics import refused

from srd_train.report.results import write_scores
from srd_train.report.significance import paired_test
from studies.claims import pages as check
from studies.claims.book import Allowed, Claim, Pivot, Situation, read_book
from studies.claims.claim import faults
from studies.claims.figure import draw_gains
from studies.claims.pages import decimals, decision_table, prose
from studies.claims.run import DOCS
from studies.claims.stored import Stored

MEASURE = "alpha_nDCG@5"


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    """The scores of a made-up recipe: mmr at 0.50, worse at 0.30, equal at 0.50, learner at 0.61, hasty at 0.70."""
    hasty = cells("hasty", 0.69, history={"measure": MEASURE, "records": []})
    learned = cells("learner", 0.6, 3, environment_steps=200)
    noisy = cells("noisy", 0.49)
    for number, scores in enumerate(noisy[0]["per_topic"].values()):
        scores[MEASURE] += 0.1 * (-1) ** number
    records = [*cells("mmr", 0.49), *cells("worse", 0.29), *noisy, *learned, *hasty]
    write_scores(tmp_path / "smoke.parquet", records)
    return Stored(tmp_path)


def claim(sentence: str = "learner is above mmr", **changes: Any) -> Claim:
    """A claim that holds."""
    about = {"id": "one", "recipe": "smoke", "rows": ("learner", "mmr"), "relation": "significant"}
    return Claim(sentence=sentence, **{**about, **changes})


def test_the_documentation_says_what_the_scores_say() -> None:
    assert check.faults(DOCS) == []


@pytest.mark.parametrize("changes", [
    {"sentence": "learner has 0.61 and mmr 0.500, a lead of 0.11"},
    {"relation": "greater"},
    {"relation": "at_least", "value": 0.49},
    {"relation": "not_worse", "rows": ("mmr", "mmr"), "margin": 0.01},
    {"relation": "level", "rows": ("noisy", "mmr")},
    {"topics": ["made"], "rows": ("learner", "mmr", "worse"), "p": 0.001},
    {"measure": "fit_cpu_seconds", "relation": "at_least", "times": 1.0, "sentence": "takes 1.0 s"},
])  # fmt: skip
def test_what_the_scores_bear_stands(stored: Stored, changes: dict[str, Any]) -> None:
    assert list(faults([claim(**changes)], stored)) == []


@pytest.mark.parametrize(("changes", "said"), [
    ({"rows": ("mmr", "learner")}, "no longer holds on made: mmr 0.5000, learner 0.6105"),
    ({"rows": ("mmr", "learner"), "relation": "not_worse", "margin": 0.05}, "no longer holds"),
    ({"relation": "at_least", "value": 0.6}, "no longer holds on made: learner 0.5000"),
    ({"sentence": "learner has 0.62"}, "0.62 is no figure of it (made: learner 0.6105, mmr 0.5000, p ="),
    ({"recipe": "smok"}, "unknown recipe with stored scores 'smok'. Did you mean smoke?"),
    ({"topics": ["maid"]}, "unknown topic set of smoke 'maid'. Did you mean made?"),
    ({"rows": ("learner", "mmm")}, "unknown row of made 'mmm'. Did you mean mmr?"),
    ({"rows": ("hasty", "mmr")}, "'hasty' on made has 1 seed(s); a trained row needs 3"),
])  # fmt: skip
def test_what_they_do_not_bear_is_told(stored: Stored, changes: dict[str, Any], said: str) -> None:
    (fault,) = faults([claim(**changes)], stored)
    assert fault.startswith("claim 'one'")
    assert said in fault.replace("learner 0.5000, learner", "learner 0.5000")


def test_p_values_of_a_recipe_are_adjusted_together(stored: Stored) -> None:
    noisy = claim(rows=("learner", "noisy"))
    table = stored.table("smoke", "made")
    first, second = (table.scores[MEASURE][name] for name in noisy.rows)
    raw = paired_test((first, second))
    alone = dataclasses.replace(noisy, p=1.5 * raw)
    assert list(faults([alone], stored)) == []
    others = [dataclasses.replace(alone, id=f"other {i}", relation="greater") for i in range(2)]
    assert list(faults([alone, *others], stored)) == [], "claims of other relations do not count"
    weak = [dataclasses.replace(alone, id=f"more {i}") for i in range(2)]
    assert len(list(faults([alone, *weak], stored))) == 3


def test_claims_that_cannot_be_checked_are_refused() -> None:
    refused(lambda: claim(rows=("one",), relation="greater"), "expected two rows or more for 'greater'")
    refused(lambda: claim(relation="at_least"), "either a `value` or `times`")
    refused(lambda: Allowed(why="both", text="0.5", pattern="0.5"), "either a text or a pattern")


def test_the_file_of_claims_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    entry = '[[claim]]\nid = "a"\nsentence = "s"\nrecipe = "r"\nrows = ["x", "y"]\nrelation = "{}"\n'
    for text, message in (
        (entry.format("greater") * 2, "claims of one id: a"),
        (entry.format("graeter"), "Did you mean greater"),
        ("unchekced = []", "Did you mean unchecked"),
        ("x =", r"claims.toml: not TOML"),
    ):
        path.write_text(text)
        refused(lambda: read_book(path), message)


PAGE = """# Title 1.5

MMR has 0.79, *the [learner](page-0.1.md)
has* `x` 0.927 (`0.1`, version 0.2.0, alpha = 0.5).

```text
0.4
```

<!-- table: begin -->
| 0.3 |
<!-- table: end -->

| 0.61 | <!-- 0.2 --> $0.9$ |
"""


def test_decimals_of_prose_are_found_wherever_they_stand() -> None:
    found = [each.split()[0] for each in decimals(prose(PAGE, ["table"]), [], [])]
    assert found == ["1.5", "0.79", "0.927", "0.5", "0.61"]
    assert "0.3" in prose(PAGE, ["another"]), "what no command writes is prose, whatever marks it"
    sentences, patterns = ["the learner has `x` 0.927", "0.61"], [r"alpha = [\d.]+"]
    assert [each.split()[0] for each in decimals(prose(PAGE, ["table"]), sentences, patterns)] == ["1.5", "0.79"]


BOOK = """
without_scores = ["bare.md"]
unchecked = ["old.md"]
[[claim]]
id = "smoke-learners"
sentence = "the learner is above MMR"
recipe = "smoke"
rows = ["reinforce", "mmr"]
relation = "significant"
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A documentation of four pages, one of them with our scores."""
    folder = tmp_path / "docs"
    (folder / "results").mkdir(parents=True)
    pages = {"../README.md": "# Ours\n", "index.md": "Here the learner is above MMR.\n", "old.md": "It was 0.3 once.\n"}
    for name, text in (pages | {"results/bare.md": "# Bare\n", "claims.toml": BOOK}).items():
        (folder / name).write_text(text)
    for name in ("smoke.md", "smoke.parquet"):
        shutil.copy(DOCS / "results" / name, folder / "results")
    return folder


def flip(path: Path, ranker: str, topics: int) -> None:
    """Turn the first scores of a ranker around: 0.9 becomes 0.1."""
    table = pq.read_table(path)
    name = next(name for name in table.column_names if "@" in name)
    values, rankers = table[name].to_numpy().copy(), np.array(table["ranker"].to_pylist())
    chosen = np.flatnonzero(rankers == ranker)[:topics]
    values[chosen] = 1 - values[chosen]
    place = table.column_names.index(name)
    pq.write_table(table.set_column(place, table.schema.field(name), pa.array(values)), path)


def test_a_stored_score_that_is_flipped_fails_and_so_do_the_claims_that_it_bore(docs: Path) -> None:
    assert check.faults(docs) == []
    flip(docs / "results" / "smoke.parquet", "reinforce", 1)
    (found,) = check.faults(docs)
    assert "docs/results/smoke.md is not what its scores say, as in '| reinforce |" in found
    flip(docs / "results" / "smoke.parquet", "reinforce", 360)
    assert any(one.startswith("claim 'smoke-learners'") and "no longer holds" in one for one in check.faults(docs))


def test_a_result_in_prose_fails(docs: Path) -> None:
    page = docs / "index.md"
    page.write_text(page.read_text() + "\nOur ranker has 0.987 there.\n")
    (fault,) = check.faults(docs)
    assert fault.startswith('index.md: 0.987 in "')
    assert fault.endswith("make it a claim, let a table say it, or delete it")


def test_what_is_listed_for_nothing_fails(docs: Path) -> None:
    (docs / "results" / "new.md").write_text("# New\n")
    shutil.copy(docs / "results" / "smoke.parquet", docs / "results" / "lonely.parquet")
    text = BOOK.replace('["bare', '["gone.md", "bare').replace('["old', '["index.md", "gone.md", "old')
    more = '[[claim]]\nid = "nowhere"\nsentence = "stands nowhere"\nrecipe = "smoke"\nrows = ["reinforce", "mmr"]\n'
    allowed = '[[allowed]]\nwhy = "no reason"\ntext = "0.12345 is nowhere"\n'
    (docs / "claims.toml").write_text(f'{text}\n{more}relation = "greater"\n{allowed}')
    found = "\n".join(check.faults(docs))
    for said in (
        "results/new.md has no scores beside it",
        "results/lonely.parquet has no page beside it",
        "`without_scores` names gone.md",
        "index.md: nothing is left to check",
        "`unchecked` names gone.md, which is no page",
        "claim 'nowhere' stands on no page",
        "allowed text that stands on no page: 0.12345 is nowhere",
    ):
        assert said in found


def test_a_row_of_another_page_must_have_the_same_topics(stored: Stored) -> None:
    one = Situation(situation="s", use="u", recipe="smoke", topics="made", ranker="learner", mmr="words: mmr")
    write_scores(stored.folder / "words.parquet", cells("mmr", 0.49))
    assert "| **+0.111** [+0.1" in decision_table([one], stored)
    assert "(chosen)" in decision_table([one], stored)
    moved = {**record()["topic_set"], "fingerprint": "1" * 16}
    write_scores(stored.folder / "ambient.parquet", cells("mmr", 0.49, topic_set=moved))
    other = dataclasses.replace(one, mmr="ambient: mmr")
    refused(lambda: decision_table([other], stored), "not tested on the same topics")


def test_the_figure_has_a_point_a_learner(stored: Stored, tmp_path: Path) -> None:
    columns = {"MMR": "mmr", "learner": "learner", "worse": "worse", "none": "xquad"}
    pivot = Pivot(name="p", lines={"all": "smoke: made"}, columns=columns, above=("mmr",))
    draw_gains(pivot, stored, tmp_path / "gains.svg")
    text = (tmp_path / "gains.svg").read_text()
    assert all(f">{name}<" in text for name in ("all", "learner", "worse"))
    assert ">none<" not in text


def test_the_command_makes_tables_and_says_what_fails(docs: Path, study: Srd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.claims.run.DOCS", docs)
    study.works("claims", "--check")
    page = docs / "results" / "smoke.md"
    before = page.read_text()
    page.write_text(before.replace("| mmr | 0.", "| mmr | 1."))
    assert study("claims", "--check").code == 1
    assert str(page) in study.works("claims").err
    assert page.read_text() == before
