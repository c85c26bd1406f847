"""Experiments: a recipe becomes cells, engines run them, and a folder keeps their results."""
