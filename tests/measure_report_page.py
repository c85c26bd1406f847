"""Measures the page of a large report: its bytes, and how long headless Chromium takes to open it.

    python tests/measure_report_page.py [TOPICS]

Made up are TOPICS (10,000) topics x 5 rankers x 4 measures (200,000 scores by topic), runs of 10 documents, and topics
with texts. "Opened" is from the start of the navigation until the load event, all scripts run and two frames painted;
the best and the median of nine fresh pages are printed.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from made_results import recipe_file, record, write_large
from playwright.sync_api import sync_playwright

from srd_gym.data.parquet import write_topics
from srd_gym.data.synthetic import generate
from srd_train.experiment.benchmark import write_recipe
from srd_train.experiment.recipe import load_recipe
from srd_train.experiment.sources import load_entry
from srd_train.report.markup import write_text
from srd_train.report.page import report

MEASURES = ("alpha_nDCG@10", "alpha_nDCG@5", "ERR_IA@10", "StRecall@10")
RANKERS = ("mmr", *(f"ranker-{i}" for i in range(1, 5)))
ROUNDS = 9


def make_results(folder: Path, count: int) -> Path:
    """The folder of the results."""
    made = generate("tiny", n_topics=count, seed=0)
    words = ["diverse", "results", "cover", "many", "subtopics", "of", "one", "query", "and", "say", "little", "twice"]
    texts = made.replace(
        dataclasses.replace(
            topic,
            query_text=f"query {topic.query_id}",
            doc_texts=tuple(f"{doc_id}\n{' '.join(words[i % 7 :])} " * 2 for i, doc_id in enumerate(topic.doc_ids)),
        )
        for topic in made
    )
    write_topics(folder / "topics.parquet", texts)
    entries = [f'name = "{name}"\nranker = "random"' for name in reversed(RANKERS)]
    source = json.dumps(str(folder / "topics.parquet"))
    made_of = load_recipe(str(recipe_file(folder, *entries, topics=f"source = {source}")))
    topics = load_entry(made_of.topics[0])
    topic_set = {**record()["topic_set"], "name": "tiny", "fingerprint": topics.fingerprint, "test": count}
    documents = {topic.query_id: topic.doc_ids for topic in topics}
    results = write_large(folder / "results", documents, RANKERS, MEASURES, topic_set=topic_set)
    write_recipe(results, made_of)
    return results


def seconds_to_open(file: Path) -> list[float]:
    """Of fresh pages in one browser."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    painted = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
    found = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(ROUNDS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            before = time.perf_counter()
            page.goto(file.as_uri(), wait_until="load")
            page.evaluate(painted)
            found.append(time.perf_counter() - before)
            page.locator("#explorer").scroll_into_view_if_needed()
            page.wait_for_selector("#lists td[data-doc]")
            page.close()
        browser.close()
    return found


def main() -> None:
    """Make, measure, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        results = make_results(Path(folder), count)
        before = time.process_time()
        text, problems = report(results).html()
        spent = time.process_time() - before
        file = Path(folder) / "page.html"
        write_text(file, text)
        times = seconds_to_open(file)
        scores = count * len(RANKERS) * len(MEASURES)
        lines = [
            f"{scores:,} scores by topic: {file.stat().st_size / 1e6:.1f} MB, {spent:.1f} s of processor time to make",
            f"opened in {min(times):.2f} s at best, {statistics.median(times):.2f} s in the median of {ROUNDS}",
            *map(str, problems),
        ]
        sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
