"""Texts of strangers: answers of language models, and notations. Each is read in time that is linear in its length."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from fuzz.damage import mutated

from srd_agents.llm.answers import parse_names, parse_permutation
from srd_agents.own_code import import_own
from srd_agents.pipeline.naming import about
from srd_gym.core.own import made_of
from srd_gym.core.users import users_from
from srd_gym.measures import parse_measure
from srd_gym.pruning import parse_pruning

Case = Callable[[], object]

MICROSECONDS, LEAST, TIMES = 10, 2_000, 5
"""Processor time for each character of a text, how many characters a shorter text counts, and tries (a busy machine
counts the time of others now and then)."""

_NAMES = (
    "big cat",
    "car",
    "operating system",
    "Raubkatze in Südamerika",
    "美洲豹动物",
    "the cost of keeping one",
    "C++",
)
_ANSWERS = (
    "1. **big cat**: animal\n   - habitat\n2. car\n", "- [ ] `big cat`\n* car", "| # | name |\n|--|--|\n| 1 | car |",
    'Here you go:\n```json\n["big cat", "car"]\n```\nBye!', '{"subtopics": [{"name": "big cat"}, {"name": "car"}]}',
    "# Jaguar\n## big cat\ntext\n## car", "Subtopics: big cat, car, and system.", "I'm sorry, but I can't help.",
    "<think>no</think>\n[3] > [1] = [2]", "Ranking:\n3, 1, 2\n", "1. [3] cats\n2. [1]", "Passage [2] > Passage [1]",
    "\uff3b2\uff3d\uff1e【1】", '{"ranking": [2, 1]}', "Rating: 4/5", "**No**", "以下是\uff1a\n一、动物\n二、汽车",
)  # fmt: skip
_PIECES = (
    "[", "]", "[2]", "[12", "(", ")", "{", "}", "【", "】", "\uff3b", "\uff3d", '"', "'", '", "', "',", "“", "”", "```",
    "`", "\n", "\r\n", "\n\n", "\t", " ", "  ", "\x0b", "\u2028", "\u00a0", "1", "12", "20. ", "0", "\u0663", "9" * 40,
    " > ", ">", "=", ",", ", ", ";", "、", ":", ": ", "\uff1a", ".", ". ", "。", "!", "?", "-", "- ", "* ", "**", "__",
    "3) ", "### ", "|", "| ", "---", "+", "@", "\\", "/", "/5", "&gt;", "<", "<b>", "</", "<think>",
    "[a](b)", "</think>", "](", "passage ", "documents", "doc", "rating ", "yes", "no", "and ", "sorry, ", "I can't ",
    "a", "Apple Inc.",
    "\u0301", "\ud83d", "\U0001f406", "\ufe0f\u20e3", "①", "一、", "knn:", "ranker:", "Clicks", "alpha_nDCG", "@10",
    "module:Name", "null", '{"name": "', "[]", "{}", "\0", "alpha=", "jaguar ", "jaguar car",
)  # fmt: skip


def random_text(rng: random.Random, sound: tuple[str, ...]) -> str:
    """Pieces, the same again and again, a sound text with damage, or characters of any script."""
    some = [rng.choice(_PIECES) for _ in range(rng.choice((1, 2, 2, 3, 8, 40)))]
    kind = rng.randrange(4)
    if kind == 0:
        return "".join(rng.choice((*some, *_NAMES)) for _ in range(rng.choice((3, 20, 200))))
    if kind == 1:
        head, tail = rng.choice(("", *_PIECES, *sound)), rng.choice(("", "x", *_PIECES, *sound))
        return head + "".join(some) * rng.choice((10, 100, 1000)) + tail
    if kind == 2:
        text = mutated(rng.choice(sound).encode(), rng, [piece.encode(errors="replace") for piece in some])
        return text.decode(errors="replace")
    return "".join(chr(rng.randrange(rng.choice((0x80, 0x3100, 0x110000)))) for _ in some)


class HangError(BaseException):
    """A case that took too long; no Exception, so that nobody takes it for a fault of the file."""


def timely(read: Callable[[str], Any], text: str, least: int = LEAST) -> Any:
    """What is read, or the refusal; the best of some tries counts.

    Args:
        read: the parser.
        text: its text.
        least: how many characters a shorter text counts.

    Raises:
        HangError: it takes longer than a text of this length may.
    """
    for _ in range(TIMES):
        begun = time.thread_time()
        try:
            result = read(text)
        except (ValueError, TypeError) as error:
            result = error
        if (time.thread_time() - begun) * 1e6 <= MICROSECONDS * max(len(text), least):
            return result
    raise HangError(f"over {MICROSECONDS} us per character of {text[:80]!r}, {len(text)} in all")


def answers(rng: random.Random) -> Case:
    """An answer of a model, for every parser of answers."""
    text, count = random_text(rng, _ANSWERS), rng.choice((0, 1, 2, 3, 20, 100))

    def read() -> None:
        ranking = timely(partial(parse_permutation, count=count), text)
        assert isinstance(ranking, Exception) or sorted(ranking[0].tolist()) == list(range(count))
        names = timely(parse_names, text)
        if isinstance(names, Exception):
            raise names
        assert all(0 < len(name) <= 200 and name == " ".join(name.split()) for name in names)
        assert len({name.casefold() for name in names}) == len(names)
        assert not any("```" in name for name in names)
        for name in names[:3]:
            timely(partial(about, text), name)

    return read


_NOTATIONS: tuple[Callable[[str], object], ...] = (
    parse_measure, users_from, made_of, parse_pruning, partial(import_own, trust=False),
)  # fmt: skip
_LOOKED_UP = 5_000
"""`LEAST` where names are looked up among those of installed distributions, and compared with them."""
_SOUND = (
    "alpha_nDCG(alpha=0.5)@10", "ERR_IA(normalization=None)@5", "Clicks(model='dbn', patience=0.8)@10",
    "knn:0.3:cosine", "knn:20+ranker:0.5:step:models/ntn-div", "module:Name(argument=[1, 'a'])",
    "module:Name + other:Name(x=1)@10",
)  # fmt: skip


def notations(rng: random.Random) -> Case:
    """A text for everything that stands for a measure, a reward, users, a pruning strategy or code."""
    text = random_text(rng, _SOUND)

    def read() -> None:
        results = [timely(notation, text, _LOOKED_UP) for notation in _NOTATIONS]
        if isinstance(results[0], Exception):
            raise results[0]

    return read
