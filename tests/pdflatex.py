"""Pasting tables into an article, and compiling it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def compiled(text: str, folder: Path) -> str:
    """What pdflatex says of tables pasted into an article; the test is skipped where it is not installed."""
    pdflatex = shutil.which("pdflatex")
    if pdflatex is None:
        pytest.skip("no pdflatex on this machine (Debian: texlive-latex-base, texlive-latex-recommended)")
    page = r"\documentclass{article}\usepackage{booktabs, amssymb}\begin{document}" + text + r"\end{document}"
    (folder / "page.tex").write_text(page)
    words = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    for _ in range(2):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout
