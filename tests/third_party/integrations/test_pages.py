"""The code on the page that names this environment."""

from __future__ import annotations

import re

import pytest
from markdown_code import THIRD_PARTY, code_of_pages

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
