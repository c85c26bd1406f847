"""Episodes as plain text: the ranking so far, what it covers, and what each rank gained."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np

from srd_gym.core.scoring import ScoringCore
from srd_gym.core.selection import SelectionCore
from srd_gym.protocols import IntArray
from srd_gym.topic import Topic

ID_WIDTH = 24
TEXT_WIDTH = 40
GRID_WIDTH = 40


def ansi(core: SelectionCore, episode: int) -> str:
    """One episode as lines of text: a header, then one line a rank filled.

    The grid has a column for each subtopic, in order: "#" where the document covers it for the first time, "+" where it
    was covered before, "." where it does not; no grid and no gains on unlabelled topics. Document ids and texts are
    data: control characters are shown escaped, so that nothing in them can move the cursor of a terminal.

    Args:
        core: the simulator.
        episode: which episode.

    Returns:
        Text without a trailing line break.
    """
    topic = core.arrays.topics[int(core.topic[episode])]
    rank, length = int(core.rank[episode]), int(core.length[episode])
    lines = [_header(topic, rank, length)]
    covered = core.covers[core.topic[episode]]
    before = np.zeros(core.arrays.max_subtopics, dtype=np.int64)
    for place in range(rank):
        candidate = int(core.ranking[episode, place])
        line = f"{place + 1:>4}  "
        if candidate < 0:
            lines.append(line + "(rank wasted: the document was not on offer)")
            continue
        cells = [clipped(topic.doc_ids[candidate], ID_WIDTH).ljust(ID_WIDTH)]
        if topic.labelled:
            row = covered[candidate]
            cells += [_grid(row, before, topic.n_subtopics), f"{core.gains[episode, place]:+.4f}"]
            before += row
        if topic.doc_texts is not None:
            cells.append(clipped(topic.doc_texts[candidate], TEXT_WIDTH))
        lines.append((line + "  ".join(cells)).rstrip())
    lines.append(_summary(core, episode, topic, before))
    return "\n".join(lines)


def printable(text: str) -> str:
    """The text with control, format and line-breaking characters as escapes; everything else, HTML too, as it is."""
    return "".join(
        character.encode("unicode_escape").decode("ascii") if unicodedata.category(character) in _UNSAFE else character
        for character in text
    )


def clipped(text: str, width: int) -> str:
    """The printable text, cut to a width with an ellipsis."""
    # Cut before escaping too: texts may be whole pages, and escapes only make them longer.
    shown = printable(text[: width + 1])
    return shown if len(shown) <= width else shown[: width - 1] + "…"


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def _header(topic: Topic, rank: int, length: int) -> str:
    """Which query, and how far its ranking is."""
    text = "" if topic.query_text is None else f' "{clipped(topic.query_text, TEXT_WIDTH)}"'
    marks = "" if topic.labelled else ", unlabelled"
    return (
        f"query {clipped(topic.query_id, ID_WIDTH)}{text}  rank {rank} of {length} "
        f"({topic.n_candidates} candidates, {topic.n_subtopics} subtopics{marks})"
    )


def _grid(row: np.ndarray, before: np.ndarray, n_subtopics: int) -> str:
    """One character a subtopic."""
    marks = ["." if not covers else "+" if seen else "#" for covers, seen in zip(row, before, strict=True)]
    shown = "".join(marks[: min(n_subtopics, GRID_WIDTH)])
    return shown + ("…" if n_subtopics > GRID_WIDTH else "")


def _summary(core: SelectionCore, episode: int, topic: Topic, coverage: np.ndarray) -> str:
    """What the ranking covers and what it is worth."""
    if not topic.labelled:
        return "      no judgments: nothing to score"
    covered = int((coverage > 0).sum())
    name, value = next(iter(core.episode_measures(episode).items()))
    told = f"return {core.episode_return(episode):.4f}  {printable(name)} = {value:.4f}"
    return f"      {covered} of {topic.n_subtopics} subtopics covered  {told}"


def ansi_scores(
    core: ScoringCore, topic_index: int, scores: IntArray, ranking: Sequence[int], measures: Mapping[str, float]
) -> str:
    """One scoring episode as lines of text: a header, then one line a document by score, with the same grid.

    Args:
        core: the simulator.
        topic_index: the episode's topic.
        scores: [N] the documents' scores.
        ranking: candidates, best first; empty before the step.
        measures: name -> value of the list; empty where there is nothing to score.

    Returns:
        Text without a trailing line break.
    """
    topic = core.arrays.topics[topic_index]
    lines = [_header(topic, len(ranking), topic.n_candidates)]
    covered = core.arrays.covers(1)[topic_index]
    before = np.zeros(core.arrays.max_subtopics, dtype=np.int64)
    for place, candidate in enumerate(ranking, start=1):
        cells = [
            f"{place:>4}  score {scores[candidate]:>3}",
            clipped(topic.doc_ids[candidate], ID_WIDTH).ljust(ID_WIDTH),
        ]
        if topic.labelled:
            cells.append(_grid(covered[candidate], before, topic.n_subtopics))
            before += covered[candidate].astype(np.int64)
        if topic.doc_texts is not None:
            cells.append(clipped(topic.doc_texts[candidate], TEXT_WIDTH))
        lines.append("  ".join(cells).rstrip())
    told = "  ".join(f"{printable(name)} = {value:.4f}" for name, value in measures.items())
    lines.append(f"      {told or ('not scored yet' if topic.labelled else 'no judgments: nothing to score')}")
    return "\n".join(lines)
