"""The code on the pages in docs/third_party/ that name this environment."""

from __future__ import annotations

from markdown_code import code_of_pages

test_code_of_page_runs = code_of_pages("main")
