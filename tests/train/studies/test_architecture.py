"""The design page's picture names the packages that there are."""

from __future__ import annotations

from importlib import import_module

from studies.architecture import PACKAGES, PICTURE, drawn


def test_the_picture_is_what_its_command_makes() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn(), "make it anew: python -m studies.architecture"
    for name, *_ in PACKAGES:
        import_module(name)
