"""How Sphinx builds these pages: `make docs`."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import nbclient
from docutils import nodes
from jupyter_cache.executors import utils as executors

project = "srd_gym"
author = "The srd_gym developers"
copyright = author
version = release = version_of("srd-gym")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"srd_gym {version}"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["style.css"]

# Headings are link targets, as on the hosts that show these pages unbuilt.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

# Tutorials are notebooks without outputs: each build executes them, and one that fails ends it.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_excludepatterns = ["tutorials/language_model.ipynb"]  # tests/third_party/trl runs it: it needs TRL
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_output_stderr = "remove"
# nbclient itself joins the parts of an output, which come as they were printed.
executors.executenb = partial(nbclient.execute, coalesce_streams=True)
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where their cells find `srd`


# Docstrings are in Google's style, with Markdown's backticks for code.
default_role = "code"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# Shown by these names, not by what they stand for.
autodoc_type_aliases = {
    name: name
    for name in (
        "ArrayLike",
        "BoolArray",
        "DTypeLike",
        "FloatArray",
        "Frame",
        "GradeArray",
        "IntArray",
        "Rows",
        "ScoreArray",
    )
} | {
    # Ranges of options are their docstrings' and errors' to tell.
    "Count": "int",
    "CountFromZero": "int",
    "NotNegative": "float",
    "Positive": "float",
    "Share": "float",
}
maximum_signature_line_length = 100
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True


def setup(app: Any) -> None:
    """Tell Sphinx of the functions below."""
    app.connect("builder-inited", check_results)
    app.connect("source-read", link_to_pages)
    app.connect("doctree-read", shelve_results)
    app.connect("doctree-read", align_words)
    app.connect("autodoc-process-docstring", from_markdown, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", as_written)


def check_results(app: Any) -> None:
    """Build nothing where a page says what the stored scores do not."""
    from sphinx.errors import ExtensionError

    sys.path.insert(0, str(Path(app.srcdir).parent / "train"))  # studies are no part of the wheel
    from studies.results.pages import faults

    found = faults(Path(app.srcdir))
    if found:
        raise ExtensionError("\n".join(["what the pages say must be what the stored scores say:", *found]))


def link_to_pages(app: Any, page: str, source: list[str]) -> None:
    """Let links to files of the project's top lead to the pages that include them."""
    pages = {"CONTRIBUTING": "contributing", "CHANGELOG": "changelog", "README": "index"}
    source[0] = re.sub(
        r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG|README)\.md", lambda found: f"](/{pages[found[1]]}.md", source[0]
    )
    # Included pages stand at the top, where docs/ is a folder.
    source[0] = source[0].replace("](docs/", "](/")


def shelve_results(app: Any, doctree: Any) -> None:
    """Call a page of results by its recipe in the sidebar, and keep it out of the search: tables name everything."""
    folder, _, recipe = app.env.docname.partition("/")
    if folder == "results" and recipe:
        entry = next(app.env.tocs[app.env.docname].findall(nodes.reference))
        entry.children = [nodes.Text(recipe)]
        app.env.metadata[app.env.docname]["no-search"] = ""


def align_words(app: Any, doctree: Any) -> None:
    """Align columns of words to the left, where they may break: generated tables have them on the right."""
    for group in doctree.findall(nodes.tgroup):
        for column in zip(*([*row] for row in group.findall(nodes.row)), strict=True):
            if not any(re.match(r"[-+<]?\s?\d", entry.astext()) for entry in column[1:]):
                for entry in column:
                    entry["classes"] = ["text-left" if name == "text-right" else name for name in entry["classes"]]


def from_markdown(app: Any, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Write a docstring's tables and indented code as reStructuredText, in place."""
    lines[:] = _with_code_blocks(_with_list_tables(lines))
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # a comment, as napoleon takes a first line "text: more" for a type and its text


def as_written(
    app: Any, what: str, name: str, item: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Write aliases by their names alone, and what a dataclass makes anew for each object as "..."."""
    found = [
        text if text is None else re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text.replace("<factory>", "..."))
        for text in (signature, returns)
    ]
    return found[0], found[1]


def _with_list_tables(lines: list[str]) -> list[str]:
    """Markdown tables as list tables; what stands around them stays."""
    found: list[str] = []
    for index, line in enumerate(lines):
        row = re.fullmatch(r"\s*\|(.*)\|\s*", line)
        if row is None:
            found.append(line)
            continue
        if set(row[1]) <= set("-:| "):
            continue
        indent = " " * (len(line) - len(line.lstrip()))
        if not index or "|" not in lines[index - 1]:
            found += [f"{indent}.. list-table::", f"{indent}   :header-rows: 1", ""]
        cells = [cell.strip() for cell in row[1].split("|")]
        found += [f"{indent}   {'*' if not place else ' '} - {cell}" for place, cell in enumerate(cells)]
        if index + 1 == len(lines) or "|" not in lines[index + 1]:
            found.append("")
    return found


def _with_code_blocks(lines: list[str]) -> list[str]:
    """Paragraphs set in by four columns, which Markdown reads as code, as literal blocks; sections are set in too."""
    found: list[str] = []
    section = code = False
    for before, line in zip(["", *lines], lines, strict=False):
        if line.strip() and not line.startswith(" "):
            section, code = re.fullmatch(r"[A-Z][a-z]+:", line.rstrip()) is not None, False
        begins = line.startswith("    ") and not before.strip()
        if begins and not section and not code:
            found += [".. code-block:: text", ""]
            code = True
        found.append(line)
    return found
