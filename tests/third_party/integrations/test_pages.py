"""The code on the page that names this environment, and the lines of the README that need these libraries."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from adapters import Known
from langchain_core.documents import Document
from markdown_code import FENCE, ROOT, THIRD_PARTY, code_of_pages

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (THIRD_PARTY / "retrieval.md").read_text(encoding="utf-8")
BY_ITSELF = re.compile(r"^## (\w+)(?:(?!^## ).)*?^<!-- by itself -->\n```python\n(.*?)^```$", re.M | re.S)


test_code_of_page_runs = code_of_pages("integrations")


def test_three_libraries_have_lines_of_their_own() -> None:
    assert [library for library, _ in BY_ITSELF.findall(PAGE)] == ["LangChain", "Haystack", "LlamaIndex"]


@pytest.mark.parametrize(("library", "code"), BY_ITSELF.findall(PAGE))
def test_a_fake_model_names_subtopics_in_under_15_lines(
    library: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but the library is imported, and a document of each subtopic is shown."""
    assert sum(bool(line.strip()) for line in code.splitlines()) < 15
    exec(compile(code, library, "exec"), {"__name__": "page"})
    shown = eval(capsys.readouterr().out)
    assert sorted(shown) == ["Apple Jaguar", "Jaguar car", "Jaguar cat"]


def test_lines_of_the_readme_run() -> None:
    blocks = [
        match["code"] for match in FENCE.finditer(README) if "tests/third_party/integrations" in (match["skip"] or "")
    ]
    assert len(blocks) == 1
    vectors = np.random.default_rng(0).normal(size=(12, 4))
    found = pd.DataFrame({"qid": "1", "docno": [str(i) for i in range(12)], "score": -np.arange(12.0)})
    names: dict[str, Any] = {
        "model": Known(vectors[0], vectors),
        "first_stage": pt.Transformer.from_df(found.assign(doc_vec=list(vectors))),
        "vectors": vectors,
    }
    exec(compile(blocks[0], "README.md", "exec"), names)
    assert len(names["pipeline"].search("jaguar")) == 5
    assert not pt.java.started()
    assert names["search"].predict(vectors[:1]).shape == (1, 5)
    assert len(names["compressor"].compress_documents([Document(str(i)) for i in range(12)], "jaguar")) == 5
    assert not pt.java.started()
