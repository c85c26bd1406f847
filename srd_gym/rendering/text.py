"""Episodes as plain text: the ranking so far, what it covers, and what each rank gained."""

from __future__ import annotations

import unicodedata

from srd_gym.dtypes import IntArray
from srd_gym.rendering.scene import Scene

ID_WIDTH = 24
TEXT_WIDTH = 40
GRID_WIDTH = 40


def ansi(scene: Scene) -> str:
    """A moment of an episode as lines of text: a header, then one line a rank filled.

    The grid has a column for each subtopic, in order: "#" where the document covers it for the first time, "+" where it
    was covered before, "." where it does not; no grid and no gains on unlabelled topics. Document ids and texts are
    data: control characters are shown escaped, so that nothing in them can move the cursor of a terminal.

    Returns:
        Text without a trailing line break.
    """
    topic, counts = scene.topic, scene.counts()
    lines = [header(scene)]
    for place, candidate in enumerate(scene.ranking):
        if candidate < 0:
            lines.append(f"{place + 1:>4}  (empty rank: the document was masked)")
            continue
        cells = [f"{place + 1:>4}"] + ([] if scene.scores is None else [f"score {scene.scores[place]:>3}"])
        cells.append(clipped(topic.doc_ids[candidate], ID_WIDTH).ljust(ID_WIDTH))
        if scene.gains is not None:
            cells += [_grid(counts[place]), f"{scene.gains[place]:+.4f}"]
        if topic.doc_texts is not None:
            cells.append(clipped(first_line(topic.doc_texts[candidate]), TEXT_WIDTH))
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, f"      {summary(scene, counts)}"])


def printable(text: str) -> str:
    """The text with control, format and line-breaking characters as escapes; everything else, HTML too, as it is."""
    return "".join(
        character.encode("unicode_escape").decode("ascii") if unicodedata.category(character) in _UNSAFE else character
        for character in text
    )


def first_line(text: str) -> str:
    """The first line that says something: of a page, its title."""
    return text.strip().split("\n", 1)[0]


def clipped(text: str, width: int) -> str:
    """The printable text, cut to a width with an ellipsis."""
    # Cut before escaping too: texts may be whole pages, and escapes only make them longer.
    line = printable(text[: width + 1])
    return line if len(line) <= width else line[: width - 1] + "…"


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def header(scene: Scene) -> str:
    """Line that names the query and how far its ranking is."""
    topic = scene.topic
    text = "" if topic.query_text is None else f' "{clipped(topic.query_text, TEXT_WIDTH)}"'
    marks = "" if topic.labelled else ", unlabelled"
    return (
        f"query {clipped(topic.query_id, ID_WIDTH)}{text}  rank {len(scene.ranking)} of {scene.slots} "
        f"({topic.n_candidates} candidates, {topic.n_subtopics} subtopics{marks})"
    )


def _grid(counts: IntArray) -> str:
    """One character a subtopic."""
    grid = "".join("." if not count else "#" if count == 1 else "+" for count in counts[:GRID_WIDTH].tolist())
    return grid + ("…" if len(counts) > GRID_WIDTH else "")


def summary(scene: Scene, counts: IntArray) -> str:
    """Coverage of the ranking, and its value."""
    if scene.gains is None:
        return "no judgments: nothing to score"
    if not scene.measures:
        return "the documents have not scored themselves yet"
    covered = int((counts > 0).any(axis=0).sum())
    worth = f"return {printable(scene.reward)} = {sum(scene.gains):.4f}"
    name, value = next(iter(scene.measures.items()))
    if name != scene.reward:  # alpha_DCG and ERR_IA are paid as plain sums, which tables divide by a constant
        worth += f"  {printable(name)} = {value:.4f}"
    return f"{covered} of {scene.topic.n_subtopics} subtopics covered  {worth}"
