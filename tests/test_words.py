"""How the project's words read: the measurable habits of its pages and docstrings, each rule with its reason."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_code import ROOT

PACKAGES = ("srd_gym", "agents/srd_agents", "train/srd_train")
README, INDEX = ROOT / "README.md", ROOT / "docs" / "index.md"
DEVELOPERS = (
    *("design", "changelog", "contributing", "speed", "fuzz", "extending", "stable", "api"),
    *("without_scores", "audit_study", "reliability"),
)
"""Pages for who works on the package; the others are for who uses it."""
USERS = sorted(
    path
    for path in (README, *(ROOT / "docs").rglob("*.md"))
    if path.stem not in DEVELOPERS and not {"results", "api", "_build"} & set(path.relative_to(ROOT).parts[:-1])
)
READERS = r"\b(you|your|users|researchers|developers|engineers|evaluators|newcomers|readers|those who|anyone)\b"
"""Whom a page's first line names."""
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BANNED = (
    "as it comes",
    "untouched order",
    "the engine's order",
    "nothing judged",
    "near copy",
    "near copies",
    "told subtopics",
    "private subtopics",
    "first weights",
    "step size",
    "off offer",
    "on offer",
    "wasted rank",
    "level with",
    "upper reference",
    "no competitor",
    "fit CPU seconds",
    "ms a topic",
    "a room",
    "a seam",
    "a skin",
    "is no learner",
    "competes with nobody",
    "to the last digit",
    "the order of the engine",
    "wrong subtopics",
    "wasted ranks",
    "a topic's own subtopics",
    "relevance alone",
    "bears missing",
    "thousand million",
    "of before",
    "as they come",
    "as it came",
    "the engine orders",
    "told the subtopics",
    "private",
    "wasted",
    "paid",
    "promised",
    "what is ranked",
    "whatever",
)
"""Words of ours for which the field has its own."""
PLAIN = set(BANNED) - {"private", "paid", "promised", "wasted", "whatever", "what is ranked"}
"""Those that no docstring needs: code has private members, and a step returns what it paid."""


def banned_in(text: str) -> list[str]:
    """Banned words of a text, however its lines break."""
    text = " ".join(text.split()).lower()
    return [word for word in BANNED if re.search(rf"\b{re.escape(word.lower())}\b", text)]


def prose(path: Path) -> str:
    """The page without code, generated parts, links' targets and tables' rules."""
    text = path.read_text(encoding="utf-8")
    for pattern in (
        r"<!-- (\w+):[ \n](?:(?!-->).)*-->\n.*?<!-- end -->",
        r"<!-- ([^\n]*?): begin -->\n.*?<!-- \1: end -->",
        r"<!-- (made by [^\n]*?) -->\n.*?<!-- \1 -->",
        r"<!--.*?-->",
        r"^( *)(`{3,}|~{3,}).*?^ *\2`*$",
        r"(?<=\n\n)(?: {4}[^\n]*\n)+",
    ):
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "`code`", re.sub(r"\]\([^)\s]*\)", "]", text))


def notebook_prose(path: Path) -> str:
    """The text between a notebook's code."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"```.*?```|`[^`\n]*`", "`code`", text, flags=re.DOTALL)


def words(path: Path) -> list[str]:
    """Words of the page's prose: no rules of tables, no marks of lists."""
    return [word for word in prose(path).split() if re.search(r"\w", word)]


def docstrings() -> Iterator[tuple[str, str]]:
    """Place and first line of every docstring of the packages, those of constants and fields included."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for statement in getattr(node, "body", ()) if isinstance(node, DOCUMENTED) else ():
                    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                        text = str(statement.value.value).strip()
                        yield f"{path.relative_to(ROOT)}:{statement.lineno}", text.partition("\n")[0]


def test_docstrings_say_what_the_object_is_or_does() -> None:
    """A first line is read in lists of names: it names the thing, and does not ask the reader to resolve a clause."""
    found = [f"{place}: {line}" for place, line in docstrings() if re.match(r"(What|Whatever|Whoever|How|Of)\b", line)]
    assert not found, "\n".join(found)


def test_docstrings_use_the_fields_words() -> None:
    """Their first lines are the reference, and what editors show."""
    lines = [(place, line) for place, line in docstrings() if not PLAIN.isdisjoint(banned_in(line))]
    assert not lines


@pytest.mark.parametrize("page", USERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_fields_words(page: Path) -> None:
    """Readers search for the field's terms, and should not have to learn ours."""
    assert not banned_in(prose(page))


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")), ids=lambda page: page.name)
def test_tutorials_use_the_fields_words(page: Path) -> None:
    """They are the first pages that a newcomer reads to the end."""
    assert not banned_in(notebook_prose(page))


@pytest.mark.parametrize("page", USERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_begin_with_their_subject(page: Path) -> None:
    """Who reads fast reads the first words: "What ..." and "Of ..." make them read the sentence twice."""
    starts = re.findall(r"(?:^|[.!?:]\s+|\n\s*[-*]\s+|\n\n)((?:What|Whatever|Whoever|Of) [^.?!]*[.?!])", prose(page))
    assert not [" ".join(one.split()) for one in starts if not one.rstrip().endswith("?")]


def test_the_readme_shows_what_its_code_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """Who tries the first lines and gets something else tries nothing more."""
    for block in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, "README.md", "exec"), {})
        printed = capsys.readouterr().out.strip()
        assert printed
        assert re.sub(r"\n#\s*", " ", block).rstrip().endswith(printed)


def test_the_readme_shows_what_its_commands_print(tmp_path: Path) -> None:
    """The commands that need no file of the reader's."""
    (block,) = re.findall(
        r"```console\n(\$ srd rank retrieval-order.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    script = "\n".join(re.findall(r"^\$ (.*)", block, flags=re.MULTILINE))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert not [line for line in block.splitlines() if not line.startswith("$") and line not in printed]


def test_the_readme_is_short() -> None:
    """A newcomer decides within a minute."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 126


@pytest.mark.parametrize("page", [README, INDEX], ids=lambda page: page.name)
def test_first_pages_have_narrow_tables(page: Path) -> None:
    """More than six columns or eight rows are not read, and do not fit on a telephone."""
    for table in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        rows = table.splitlines()
        assert max(len(re.findall(r"(?<!\\)\|", row)) - 1 for row in rows) <= 6, rows[0]
        assert len(rows) - 2 <= 8, rows[0]


def test_pictures_have_alternative_texts() -> None:
    """Screen readers read them, and so does everybody whose network is slow."""
    for page in (README, *(ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"!\[\s*\]\(", text), page
        for block in re.findall(r"```\{(?:image|figure)\}.*?```", text, flags=re.DOTALL):
            assert re.search(r"^:alt: \S+ \S+", block, flags=re.MULTILINE), (page, block)


@pytest.mark.parametrize("page", USERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_say_first_for_whom_they_are(page: Path) -> None:
    """Who opens the wrong page notices at its first line, which no table, picture or formula may be."""
    first = prose(page).partition("\n")[2].lstrip().partition("\n\n")[0]
    sentence = re.split(r"(?<=[.:])\s", " ".join(first.split()))[0]
    assert re.match(r"[\w*`]", sentence)
    assert re.search(READERS, sentence, flags=re.IGNORECASE), sentence
    assert len(sentence.split()) <= 30


def test_user_pages_are_short_together() -> None:
    """Who has to read more than 14,000 words asks instead."""
    counts = {str(page.relative_to(ROOT)): len(words(page)) for page in USERS}
    assert sum(counts.values()) <= 14_000, counts
