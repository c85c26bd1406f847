"""Experiments: a recipe becomes cells, engines run them, and a folder keeps what they came to."""
