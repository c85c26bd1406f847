from __future__ import annotations

from pathlib import Path

import pytest

from srd_train.report.markup import markdown, with_parts, write_page


def test_tables_are_written_between_their_marks_and_nowhere_else() -> None:
    page = "before\n<!-- t: begin -->\nold\n<!-- t: end -->\nafter\n"
    table = markdown(("", "a"), [["row", "1"]])
    assert with_parts(page, {"t": table}) == (
        "before\n<!-- t: begin -->\n|  | a |\n| --- | ---: |\n| row | 1 |\n<!-- t: end -->\nafter\n"
    )
    assert with_parts(with_parts(page, {"t": table}), {"t": table}) == with_parts(page, {"t": table})
    with pytest.raises(ValueError, match="the page has no marks <!-- u: begin -->"):
        with_parts(page, {"u": table})


def test_a_page_with_marks_keeps_its_text_and_one_without_is_written_whole(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_page(page, "smoke", "| table |", "# Whole\n\n| table |")
    assert page.read_text() == "# Whole\n\n| table |\n"
    page.write_text("Mine.\n<!-- smoke: begin -->\nold\n<!-- smoke: end -->\nMine too.\n")
    write_page(page, "smoke", "| new |", "# Whole")
    assert page.read_text() == "Mine.\n<!-- smoke: begin -->\n| new |\n<!-- smoke: end -->\nMine too.\n"
