"""The code on the README and in docs/ is run as a reader would: one page, one session, one folder.

```python fences of a page share a namespace; ```bash fences run in the same folder, line by line, `srd` being ours.
A fence after `<!-- not run: reason -->` is shown only; pages that read the real files say so in `<!-- needs: data -->`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"(?P<skip><!-- not run: [^>]+ -->\n+)?^```(?P<kind>python|bash)\n(?P<code>.*?)^```$", re.M | re.S)


def fences(page: Path) -> list[tuple[int, str, str]]:
    """(line, kind, code) of every fence of the page that is to run."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("code")), match["kind"], match["code"])
        for match in FENCE.finditer(text)
        if not match["skip"]
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    blocks = fences(page)
    if not blocks:
        pytest.skip("the page has no code to run")
    if "<!-- needs: data -->" in page.read_text(encoding="utf-8"):
        request.getfixturevalue("data_dir")
    monkeypatch.chdir(tmp_path)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    names: dict[str, object] = {"__name__": "__main__"}
    for line, kind, code in blocks:
        if kind == "python":
            exec(compile("\n" * line + code, str(page), "exec"), names)
        else:
            done = subprocess.run(["bash", "-euc", code], capture_output=True, text=True, env=environment)
            assert done.returncode == 0, f"{page}:{line}: {code}\n{done.stdout}\n{done.stderr}"
