"""Topic sets that only experiments of our own use, and the recipes that compare rankers on them."""

from __future__ import annotations

from pathlib import Path

RECIPES = Path(__file__).parent / "recipes"
"""The folder of the recipes."""
