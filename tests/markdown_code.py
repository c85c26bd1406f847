"""Runs the code on a Markdown page as a reader would: one page, one session, one folder.

```python fences of a page share a namespace; ```bash fences run in the same folder, line by line, with the programs
beside the interpreter first on the path. Lines that are a command of `srd` and nothing else run in this process, where
what they import is there already. Lines that `pip install` a folder install it beside the page, not into the
environment of the tests. A fence after `<!-- not run: reason -->` is shown only.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
THIRD_PARTY = ROOT / "docs" / "third_party"
FENCE = re.compile(r"(?P<skip><!-- not run: [^>]+ -->\n+)?^```(?P<kind>python|bash)\n(?P<code>.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^(srd (?:[^\n|<>$;&*`\\]|\\\n)+\n)", re.M)
"""A line that is a command of `srd`, and nothing that a shell does."""
INSTALL = re.compile(r"^(pip install \./[\w-]+\n)", re.M)
ENVIRONMENT = re.compile(r"^<!-- environment: (\w+) -->$", re.M)


def fences(page: Path) -> list[tuple[int, str, str]]:
    """(line, kind, code) of every fence of the page that is to run."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("code")), match["kind"], match["code"])
        for match in FENCE.finditer(text)
        if not match["skip"]
    ]


def install(command: str, target: Path) -> None:
    """Run `pip install ./FOLDER` into a folder of packages, offline: what the page's distribution needs is there."""
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    words = ["-m", "pip", *shlex.split(command)[1:], "--quiet", "--target", str(target), *offline]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run_page(page: Path) -> dict[str, object]:
    """Run the page's code in the current folder; returns the names that its Python code leaves behind."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    installed = Path("installed").absolute()
    with _main_module() as names:
        for line, kind, code in fences(page):
            if kind == "python":
                exec(compile("\n" * line + code, str(page), "exec"), names)
                continue
            for part in [part for piece in INSTALL.split(code) for part in COMMAND.split(piece)]:
                where = f"{page}:{line}: {part}"
                if INSTALL.fullmatch(part):
                    install(part, installed)
                    sys.path.append(str(installed))
                elif COMMAND.fullmatch(part):
                    from srd_train.cli import main

                    assert main(shlex.split(part.replace("\\\n", ""))[1:]) == 0, where
                elif part.strip():
                    done = subprocess.run(["bash", "-euc", part], capture_output=True, text=True, env=environment)
                    assert done.returncode == 0, f"{where}\n{done.stdout}\n{done.stderr}"
    return names


@contextmanager
def _main_module() -> Iterator[dict[str, object]]:
    """The names of a new main module: libraries that pickle what a page defines look for it there, as in a script.

    It imports from the current folder, as a script or a session there does.
    """
    module, main, path = ModuleType("__main__"), sys.modules["__main__"], sys.path.copy()
    sys.modules["__main__"] = module
    sys.path.insert(0, os.getcwd())
    try:
        yield vars(module)
    finally:
        sys.modules["__main__"], sys.path[:] = main, path
        for name, known in list(sys.modules.items()):  # the page's own, of which another page may have one of the name
            if str(getattr(known, "__file__", None)).startswith(f"{Path.cwd()}{os.sep}"):
                del sys.modules[name]


def environments_of(page: Path) -> list[str]:
    """What a page in docs/third_party/ says of where it runs: `<!-- environment: main -->`."""
    return ENVIRONMENT.findall(page.read_text(encoding="utf-8"))


def code_of_pages(environment: str) -> Callable[..., None]:
    """A test that runs the code of each of them in a folder with the scripts that lie beside it."""

    pages = [page for page in sorted(THIRD_PARTY.glob("*.md")) if environments_of(page) == [environment]]

    @pytest.mark.parametrize("page", pages, ids=lambda page: page.name)
    def code_of_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for script in THIRD_PARTY.glob("*.py"):
            shutil.copy(script, tmp_path)
        monkeypatch.chdir(tmp_path)
        run_page(page)

    return code_of_page_runs


def code_below(page: Path, heading: str) -> str:
    """The Python code of a page's section, run or only shown there: for tests where its library is."""
    section = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S))
