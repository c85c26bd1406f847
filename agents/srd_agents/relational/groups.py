"""Groups of relations that can be left out, to see what they are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from srd_agents.relational.relations import CONTEXT, DYNAMIC, STATIC, Array
from srd_gym.names import unknown

BLOCKS: Mapping[str, tuple[str, ...]] = {"static": STATIC, "dynamic": DYNAMIC, "context": CONTEXT}
"""Matrix of the first layer -> the relations that its rows weigh."""
GROUPS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "order": {
        "static": (
            "rank_reciprocal",
            "rank_discount",
            "rank",
            "score",
            "neighbours_discount",
            "neighbours_rank",
            "neighbours_score",
            "ahead_nearest",
            "ahead_near",
            "ahead_very_near",
        ),
        "context": (
            "has_order",
            "score_and_query",
            "score_and_centroid",
            "rank_and_nearest",
            "rank_and_neighbours",
            "rank_and_density",
        ),
    },
    "query": {
        "static": ("query_cosine", "neighbours_query"),
        "context": ("has_query", "score_and_query", "query_and_centroid", "query_and_density"),
    },
    "density": {
        "static": (
            "centroid_cosine",
            "nearest",
            "near_count",
            "near_share",
            "very_near_count",
            "very_near_share",
            "nearest_count",
            "nearest_share",
            "neighbours_centroid",
        ),
        "context": (
            "very_near_share",
            "nearest_share",
            "score_and_centroid",
            "query_and_centroid",
            "rank_and_nearest",
            "query_and_density",
            "rank_and_density",
        ),
    },
    "neighbours": {
        "static": (
            "neighbours_discount",
            "neighbours_rank",
            "neighbours_score",
            "neighbours_query",
            "neighbours_centroid",
        ),
        "context": ("rank_and_neighbours",),
    },
    "ahead": {"static": ("ahead_nearest", "ahead_near", "ahead_very_near")},
    "ranked": {
        "dynamic": (
            "nearest",
            "mean",
            "last",
            "near_share",
            "very_near_share",
            "near_count",
            "very_near_count",
            "nearest_here",
        )
    },
    "fresh": {"dynamic": ("fresh_near", "fresh_very_near", "covered_near", "covered_very_near")},
    "context": {"context": CONTEXT},
}
"""Name -> the relations of a group, by block. Groups overlap: a relation that is made of two things is in both.

`order` is all that retrieval rank and score say, `query` all that the query's vector says, `density` how close the
candidates are to each other, `neighbours` what those near to a candidate are like, `ahead` how close it is to those
that were retrieved before it, `ranked` how close it is to the documents ranked so far, `fresh` how many of its
neighbours no ranked document is near to, `context` what the topic as a whole is like. Without `ranked` and `fresh` a
ranking cannot know what it holds already.
"""


def check_groups(names: Sequence[str]) -> None:
    """Refuse what is no tuple of different groups.

    Raises:
        TypeError: one word instead of several.
        ValueError: an unknown group (the message suggests the nearest), or one that comes twice.
    """
    if isinstance(names, str):
        raise TypeError(f"without must be a list of groups of relations, got {names!r}; write [{names!r}]")
    for name in names:
        if name not in GROUPS:
            raise unknown("group of relations:", str(name), GROUPS)
    if len(set(names)) < len(names):
        raise ValueError(f"without names a group of relations twice: {', '.join(names)}; name each once")


def rows_kept(without: Sequence[str]) -> dict[str, Array]:
    """Which rows of the first layer's matrices stay where groups are left out.

    Args:
        without: names in `GROUPS`.

    Returns:
        Block -> [D, 1] float32, 1 for rows that stay and 0 for those of the groups; blocks that lose none are absent.
    """
    kept = {}
    for block, names in BLOCKS.items():
        gone = {name for group in without for name in GROUPS[group].get(block, ())}
        if gone:
            kept[block] = np.array([[name not in gone] for name in names], np.float32)
    return kept
