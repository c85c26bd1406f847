"""The first page's picture shows what `diversify` does today."""

from __future__ import annotations

from studies.jaguar import PICTURE, drawn


def test_the_picture_is_what_diversify_makes_now() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn(), "make it anew: python -m studies.jaguar"
    assert "cover 3 of 7 meanings" in drawn()
    assert "cover 7 of 7 meanings" in drawn()
