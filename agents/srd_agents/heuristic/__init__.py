"""Rankers that need no training."""
