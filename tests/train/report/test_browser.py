"""The page of a report in a real browser; skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_results import HOSTILE, made_runs, record, write_records

from srd_gym.data.queries import TopicText
from srd_gym.measures import evaluate_run
from srd_gym.trec_files import read_qrels, read_run
from srd_train.report.comparison import compare
from srd_train.report.markup import write_text
from srd_train.report.page import report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the extra dev has it)")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path to open the page with")
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
PAPER = {"width": 1047, "height": 718}
"""A4 on its side, less the margins."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def file(small_run: tuple[Path, Path]) -> Path:
    results, recipe = small_run
    page = recipe.with_name("page.html")
    write_text(page, report(results).html()[0])
    return page


class Opened:
    """A page, and what it complained about."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        self.page = browser.new_page(**({"viewport": DESK} | options))
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def see_all(self) -> None:
        """Scroll to every part, so that it is drawn."""
        drawn = {"learning": ".pair > *", "effort": "svg", "pairs": "#tally:not(:empty)", "explorer": "#lists > *"}
        for part, sign in drawn.items():
            if self.page.locator(f"#{part}").count():
                self.page.locator(f"#{part}").scroll_into_view_if_needed()
                self.page.wait_for_selector(f"#{part} {sign}", state="attached")


@pytest.fixture
def opened(browser: Any, file: Path) -> Iterator[Opened]:
    """The page, every part of it drawn."""
    made = Opened(browser, file)
    made.see_all()
    yield made
    made.page.close()


@pytest.fixture
def page(opened: Opened) -> Any:
    return opened.page


def rankers(page: Any) -> list[str]:
    """Names in the first table, as they stand."""
    found: list[str] = page.locator("table.results").first.locator("tbody tr:visible th bdi").all_inner_texts()
    return found


def beyond(page: Any, among: str = "true") -> Any:
    """Elements that reach beyond the right edge."""
    outside = "e.getBoundingClientRect().right > innerWidth + 1"
    return page.evaluate(
        f"[...document.body.querySelectorAll('*')].filter(e => {among} && {outside}).map(e => e.tagName)"
    )


def test_it_opens_without_a_complaint_and_asks_for_nothing(opened: Opened, page: Any, file: Path) -> None:
    assert opened.complaints == []
    assert opened.requests == [file.as_uri()]
    for part in ("#learning", "#effort", "#differences"):
        assert page.locator(f"{part} svg.chart").count() >= 1
    assert page.locator("#learning svg.chart polyline").count() == 2
    axes = [" ".join(chart.split()) for chart in page.locator("#learning svg.chart").all_text_contents()]
    for axis, words in zip(axes, ("environment episodes", "processor seconds of training"), strict=True):
        assert words in axis
    assert page.locator("#lists td[data-doc]").count() == 15


def test_paper_has_every_part(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    opened.page.pdf()
    for part in ("#learning svg.chart", "#effort svg.chart", "#differences svg.chart", "#lists td[data-doc]"):
        assert opened.page.locator(part).count() >= 1, part
    assert opened.page.locator("details:not([open])").count() == 0
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size(PAPER)
    assert opened.page.locator("#learning .choices label").first.is_visible()
    assert beyond(opened.page) == []
    opened.page.close()


def test_texts_with_markup_stay_texts(page: Any) -> None:
    page.locator("#seed").select_option("1")
    page.locator("#topic-filter").fill("script")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, body b script, td script").count() == 0
    assert page.locator("script").count() == 4
    assert page.title().endswith(HOSTILE)
    assert HOSTILE in page.locator("h1").inner_text()
    assert "tiny & <b>bold</b>: 15 test topics" in page.locator("figcaption").first.inner_text()
    assert "<i>learner</i>" in rankers(page)
    assert HOSTILE in page.locator("#subtopics").inner_text()
    assert page.locator("#lists .text").first.inner_text().endswith("snippet <b>&amp;")
    assert HOSTILE in page.locator("#lists .text b").first.inner_text()
    assert page.locator("#topic option").all_inner_texts() == [f"query 0 {HOSTILE} (tiny-0-0)"]


def test_the_policy_stops_a_foreign_script(opened: Opened, page: Any) -> None:
    foreign = "const made = document.createElement('script'); made.textContent = 'window.pwned = 3'"
    page.evaluate(f"() => {{ {foreign}; document.body.append(made); }}")
    assert page.evaluate("window.pwned") is None
    assert any("Content Security Policy" in said for said in opened.complaints)


def test_tables_sort_by_numbers_and_names_and_are_filtered(page: Any) -> None:
    table = page.locator("table.results").first
    before = rankers(page)
    head = table.locator("th", has_text="StRecall@5")
    column = head.evaluate("th => th.cellIndex")
    head.get_by_role("button").click()
    for order in ("descending", "ascending"):
        assert head.get_attribute("aria-sort") == order
        keys = table.evaluate(f"t => [...t.tBodies[0].rows].map(r => Number(r.cells[{column}].dataset.key))")
        assert keys == sorted(keys, reverse=order == "descending")
        head.get_by_role("button").press("Enter")
    table.get_by_role("button", name="p against mmr").click()
    # Without a p value, last in either order: the reference, what reads judgments, and what has too few seeds.
    assert {"mmr", "oracle", "<i>learner</i>"} == set(rankers(page)[-3:])
    table.get_by_role("button", name="ranker").click()
    assert rankers(page) == sorted(before)
    assert table.locator("th[aria-sort=ascending]").count() == 1
    page.locator("#filter").fill("LEARN")
    assert rankers(page) == ["<i>learner</i>"]
    assert page.locator("#filter-count").inner_text() == "2 of 8 rows"
    page.locator("#filter").fill("")
    assert len(rankers(page)) == 4


def test_topics_are_found_and_rankers_chosen(page: Any) -> None:
    page.locator("#topic-filter").fill("query 1")
    assert page.locator("#topic option").count() == 6  # 1, 10, 11, 12, 13, 14
    assert page.locator("#topic-count").inner_text() == "6 of 15 topics found."
    first = page.locator("#topic").input_value()
    page.locator("#next").click()
    assert page.locator("#topic").input_value() != first
    page.locator("#previous").click()
    assert page.locator("#topic").input_value() == first
    for box in page.locator("#explorer .choices input").all():
        box.check()
    assert page.locator("#lists thead bdi").all_inner_texts() == ["random", "mmr", "<i>learner</i>", "oracle"]
    values = [float(text) for text in page.locator("#lists .value").all_inner_texts()]
    assert values[3] == max(values) == pytest.approx(1.0, abs=0.01)
    page.locator("#topic-filter").fill("nothing has this")
    assert page.locator("#lists").inner_text() == "No topic matches."


def test_gains_and_first_coverage_are_what_the_documents_cover(page: Any) -> None:
    for column in range(3):
        cells = page.locator(f"#lists td[data-column='{column}']")
        seen: set[str] = set()
        total = 0.0
        for cell in cells.all():
            total += float(cell.locator(".gain").inner_text())
            new, again = (set(cell.locator(f".chip.{kind}").all_inner_texts()) for kind in ("new", "again"))
            assert not new & seen
            assert again <= seen
            seen |= new
        value = float(page.locator("#lists .value").nth(column).inner_text())
        assert total == pytest.approx(value, abs=0.004)
        covered = page.locator("#lists thead th").nth(column + 1).locator(".strip .new").count()
        assert covered == len(seen)


def test_a_subtopic_is_found_in_the_lists(page: Any) -> None:
    button = page.locator("#subtopics button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    for cell in page.locator("#lists td[data-covers]").all():
        covers = "0" in (cell.get_attribute("data-covers") or "").split()
        assert ("dim" in (cell.get_attribute("class") or "")) != covers
    button.click()
    assert page.locator("#lists td.dim").count() == 0


def test_the_other_topic_set_and_measure_are_shown(opened: Opened, page: Any) -> None:
    page.locator("#set").select_option("1")
    opened.see_all()
    assert page.locator("#pairs .of").inner_text().startswith("web: 3 test topics")
    assert page.locator("#topic option").count() == 3
    page.locator("#pairs .measure").select_option("1")
    assert page.locator("#effort .measure").input_value() == "1"
    assert "StRecall@5" in page.locator("#differences svg").text_content()
    assert opened.complaints == []


def test_two_rankers_are_compared_and_a_topic_leads_to_its_rankings(page: Any) -> None:
    page.locator("#first").select_option(label="oracle")
    page.locator("#second").select_option(label="random")
    assert page.locator("#tally").inner_text().startswith("oracle is higher on ")
    page.locator("#swap").click()
    assert page.locator("#tally").inner_text().startswith("random is higher on 0 topics, oracle on ")
    lead = page.locator("#extremes button").first
    name = lead.inner_text()
    lead.click()
    assert page.locator("#topic option:checked").inner_text() == name
    assert page.locator("#lists thead bdi").all_inner_texts() == ["random", "oracle"]


def test_everything_is_reached_by_keyboard(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    chart = page.locator("#differences svg")
    chart.focus()
    page.keyboard.press("End")
    assert "(15 of 15;" in page.locator("#cursor").inner_text()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert "(2 of 15;" in page.locator("#cursor").inner_text()
    topic = page.locator("#cursor").inner_text().split(":")[0].split(" (")[0]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "topic"
    assert page.locator("#topic option:checked").inner_text().startswith(topic)
    assert page.locator("#lists td[tabindex='0']").count() == 1
    page.locator("#lists td[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    at = page.evaluate("[document.activeElement.dataset.rank, document.activeElement.dataset.column]")
    assert at == ["1", "1"]
    assert page.locator("#lists td[tabindex='0']").count() == 1
    same = page.evaluate("[...document.querySelectorAll('#lists td.same')].map(cell => cell.dataset.doc)")
    assert len(set(same)) == 1
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select, a')].filter(e => !(e.textContent.trim() || "
        "e.getAttribute('aria-label') || (e.labels && e.labels.length))).map(e => e.outerHTML)"
    )
    assert unnamed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(browser: Any, file: Path, scheme: str) -> None:
    opened = Opened(browser, file, viewport=PHONE, color_scheme=scheme, has_touch=True)
    opened.see_all()
    sizes = opened.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert sizes[0] <= sizes[1] == 390
    assert beyond(opened.page, "!e.closest('.scroll')") == []
    assert opened.complaints == []
    opened.page.close()


def test_without_texts_and_runs_it_says_why(browser: Any, tmp_path: Path) -> None:
    broken = {"schema_version": 2, "cell": "made.x", "error": f"ValueError: {HOSTILE}"}
    results = write_records(tmp_path, [record("mmr"), record("random"), broken])
    write_text(tmp_path / "page.html", report(results).html()[0])
    opened = Opened(browser, tmp_path / "page.html")
    opened.see_all()
    problems = opened.page.locator("#problems").inner_text()
    assert f"made.x: ValueError: {HOSTILE}" in problems
    assert "runs/made.mmr.fold1.seed0.run" in problems
    assert "no recipe beside the results" in opened.page.locator("#explorer-why").inner_text()
    assert "the run files are missing" in opened.page.locator("#lists").inner_text()
    assert opened.page.evaluate("window.pwned") is None
    assert opened.complaints == []
    opened.page.close()


def test_runs_alone_make_a_page(browser: Any, tmp_path: Path) -> None:
    made = made_runs(tmp_path, topics=12)
    runs = {name: read_run(made[name]) for name in ("first", "second", "third")}
    about = {"1": TopicText(query_text=f"one {HOSTILE}", subtopics={"1": "a side"})}
    compare(read_qrels(made["qrels"]), runs, ["alpha_nDCG@5"], topics=about).write(html=tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    opened.see_all()
    page = opened.page
    assert page.locator("h1").inner_text() == "3 runs compared"
    assert page.locator("#effort, #learning").count() == 0
    assert sorted(rankers(opened.page)) == ["first", "second", "third"]
    assert page.locator("#topic option:checked").inner_text() == f"one {HOSTILE} (1)"
    assert page.locator("#subtopics bdi").all_inner_texts() == [f"one {HOSTILE}", "a side", "2", "3"]
    assert page.locator("#lists td[data-doc]").count() == 15
    assert not page.locator("#seed").is_visible()
    assert page.evaluate("window.pwned") is None
    assert opened.complaints == []
    page.close()


def test_where_lower_is_better_lists_have_their_scores_and_documents_take_away(browser: Any, tmp_path: Path) -> None:
    made = made_runs(tmp_path, topics=1)
    runs, qrels = {name: read_run(made[name]) for name in ("first", "second", "third")}, read_qrels(made["qrels"])
    risks = {name: evaluate_run(qrels, run, ["VRisk@5"]).measures["VRisk@5"] for name, run in runs.items()}
    assert risks["second"] != risks["third"]
    compare(qrels, runs, ["VRisk@5"]).write(html=tmp_path / "page.html")
    opened = Opened(browser, tmp_path / "page.html")
    opened.see_all()
    best = min(("second", "third"), key=risks.__getitem__)
    assert opened.page.locator("#first option:checked").inner_text() == best
    assert opened.page.locator("#lists thead bdi").all_inner_texts() == ["first", "second", "third"]
    for name, value in zip(
        opened.page.locator("#lists thead bdi").all_inner_texts(),
        opened.page.locator("#lists .value").all_inner_texts(),
        strict=True,
    ):
        assert float(value) == pytest.approx(risks[name], abs=1e-3)
    assert any(gain.startswith("\N{MINUS SIGN}") for gain in opened.page.locator("#lists .gain").all_inner_texts())
    assert opened.complaints == [], "no bar has a negative width"
    opened.page.close()


def test_without_scripts_the_tables_are_there(browser: Any, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("table.results tbody tr").count() == 8
    assert page.locator("#parts").is_hidden()
    assert "the tables above are complete" in page.locator("noscript").inner_text()
    context.close()
