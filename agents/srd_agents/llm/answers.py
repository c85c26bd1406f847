"""Answers of language models, read: names and rankings, in time that is linear in the answer's length."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import dropwhile, islice

import numpy as np

from srd_agents.llm.asking import SHOWN
from srd_gym.dtypes import IntArray
from srd_gym.reading import shown, shown_text, with_type

_THOUGHT = re.compile(r"</think(?:ing)?>|\[/THINK\]")
_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.S)


def said(answer: object) -> str:
    """Answer of a model, without its reasoning and without a code fence around it.

    Raises:
        TypeError: no text.
    """
    if not isinstance(answer, str):
        raise TypeError(f"a model must answer with text, got {with_type(answer)}")
    text = _THOUGHT.split(answer)[-1].partition("<think>")[0].strip()
    fenced = _FENCE.fullmatch(text)
    whole = fenced[1].strip() if fenced else text
    return whole.encode(errors="replace").decode()  # half a character, of an answer that was cut


# Names

_LONGEST, _PIECE = 12, 6
"""Words of a name on a line, and of one between commas; more are prose."""
_TRIES = 20
"""Brackets that may turn out to begin no JSON."""
_NONE = re.compile(r'(?:\{\s*"\w+"\s*:\s*)?\[\s*\]\s*\}?')
_OBJECT = re.compile(r"\{\s*\"")
_DECODER = json.JSONDecoder()
_KEYS = ("name", "subtopic", "title", "topic", "label", "text")
_MARK = re.compile(
    r"(?:\*\*)?(?:#{1,6} )?(?:[-*+\u2013\u2014] (?:\[[ xX]?\] )?|[•‣·◦▪●○→✓✔\u2460-\u2473] ?|\d\ufe0f?\u20e3 ?"
    r"|\[\d{1,3}\] |[(\uff08]?\d{1,3}(?:[.):\uff09] |[.)\uff09](?=[^\x00-\x7f]|\*)|[、\uff0e] ?)|[a-z]\) "
    "|[一二三四五六七八九十]{1,3}[、.])"
)
_ROW = re.compile(r"\|(?: ?\d+\.? ?\|)? ?")
_FORMS = (
    (_MARK, 1),
    (_ROW, 3),
    *((re.compile(f"{'#' * level} "), 2) for level in (4, 3, 2, 1)),
    (re.compile(r"(?=\*\*)"), 2),
)
"""Beginnings of lines that name something (items, rows of a table, headings), and how many of them make a list."""
_NEXT = re.compile(r" \(?\d{1,2}[.)] ")
_BOLD = re.compile(r"(.+?)(?:[:\uff1a]\*\* ?.*|\*\* ?(?:[(:\uff1a\u2013\u2014-].*)?)")
_DESCRIBED = re.compile(": |\uff1a| [\u2013\u2014-] ")
_COMMA = re.compile("[,;、\uff0c\uff1b] ?(?:(?:and|or|und|oder|et|ou|y|o) )?")
_QUOTES = ('"', "'", "“", "”")
_BETWEEN = re.compile(r"[\"'”], ?[\"'“]")
_MARKUP = re.compile(r"\*\*|`|~~|</?\w[^<>]{0,40}>|\[([^\[\]]*)\]\([^()\s]*\)")
_EDGES = " *_,;:'\"“”„«»「」《》、。\uff0c\uff1a\uff1b"
_REFUSED = re.compile(
    r"\W*(?:i(?:['\u2019]m| am)? ?(?:so |very )?(?:sorry|afraid|unable|can(?:no|['\u2019])t|won['\u2019]t)\b|sorry,"
    r"|as an ai\b|es tut mir leid|leider kann|(?:je suis )?désolé|lo siento|(?:很|非常)?抱歉|对不起|我无法|申し訳)",
    re.I,
)


def parse_names(answer: object) -> list[str]:
    """The names in a model's answer, without markup, each once.

    The first of these that the answer holds counts, and the text around it does not:

    1. a JSON list of texts, or of objects (the text under "name" or the like, else the first), wherever it stands. The
       list `[]` alone says that there are none.
    2. lines with numbers or bullets, those of nested lists like the others. Where two or more begin with bold text,
       that alone: the name in "**Name**: description".
    3. rows of a table (the first column that is not a number), headings, or lines that begin with bold text.
    4. two short lines or more.
    5. pieces of a line, or of what follows its colon, between commas: three short ones or more, or two in quotes.

    Raises:
        TypeError: no text.
        ValueError: anything else, refusals and prose among it; the message shows the answer.
    """
    text = said(answer)
    if _NONE.fullmatch(text):
        return []
    fenced = _FENCE.search(text)
    names = _of_json(text) or _of_lines(fenced[1] if fenced and fenced[1].strip() else text)
    if len(names) == 1 and _REFUSED.match(names[0]):
        names = []
    elif len(names) > 1 and all(map(_MARK.match, names)):
        names = [_MARK.sub("", name, count=1) for name in names]
    names = [_MARKUP.sub(r"\1", name).strip(_EDGES) for name in names]
    stop = -1 if all(name.endswith(".") for name in names) else None
    if found := tidied(name[:stop] for name in names if len(name) <= SHOWN):
        return found
    raise ValueError(
        "expected a JSON list of subtopics, numbered or bulleted lines, or one short name a line; the model "
        f"answered {shown_text(str(answer), SHOWN)!r}"
    )


def _of_json(text: str) -> list[str]:
    """The texts of the first JSON list that has some."""
    end = 0
    for opening in islice(re.finditer(r"\[", text), _TRIES):
        if opening.start() >= end:  # not in a list that was read
            with suppress(ValueError, RecursionError):
                values, end = _DECODER.raw_decode(text, opening.start())
                names = [name for name in map(_named, values) if name is not None]
                if names and len(names) == len(values):
                    return names
    return []


def _named(entry: object) -> str | None:
    """A text, or that of an object that is its name."""
    if isinstance(entry, dict):
        return next((entry[key] for key in (*_KEYS, *entry) if isinstance(entry.get(key), str)), None)
    return entry if isinstance(entry, str) else None


def _of_lines(text: str) -> list[str]:
    """The names on lines."""
    lines = [" ".join(line.split()) for line in text.splitlines() if any(map(str.isalpha, line))]
    if _REFUSED.match(text) or _OBJECT.search(text):
        return []
    for form, least in _FORMS:
        items = [line[match.end() :] for line in lines if (match := form.match(line))]
        if len(items) >= least:
            items = [item.partition("|")[0] for item in items[1:]] if form is _ROW else items
            return _heads(_NEXT.split(items[0]) if len(lines) == 1 else items)
    short = lines
    for _ in range(2):  # from the head, then from the tail
        short = list(dropwhile(lambda line: _is_prose(line) or line.endswith("!"), short))[::-1]
    if len(short) > 1:
        return [] if any(map(_is_prose, short)) else short
    return next(filter(None, map(_pieces, short or lines)), [])


def _heads(items: list[str]) -> list[str]:
    """The items without the descriptions behind their names."""
    bold = [match[1] for item in items if (match := _BOLD.fullmatch(item))]
    items = bold if 1 < len(bold) == len({*bold}) else items
    return [_DESCRIBED.split(item, maxsplit=1)[0] if len(item.split()) > _LONGEST else item for item in items]


def _is_prose(line: str) -> bool:
    """Whether a line is a sentence, introduces a list, or is too long to be a name."""
    words = len(line.split())
    return (
        words > _LONGEST or line.endswith((":", "\uff1a", "。", "\uff01")) or (words > 3 and line.endswith((".", "!")))
    )


def _pieces(line: str) -> list[str]:
    """The names between the commas of a line, or of what follows its colon; none where it is a sentence."""
    _, colon, after = line.replace("\uff1a", ": ").rpartition(": ")
    body = after.strip("[]. 。,")
    quoted = body.startswith(_QUOTES)
    pieces = (_BETWEEN if quoted else _COMMA).split(body)
    if quoted and not body.endswith(_QUOTES):  # cut
        del pieces[-1]
    if len(pieces) < 3 - quoted or not all(0 < len(piece.split()) <= _PIECE for piece in pieces):
        return []
    return pieces if colon or not _is_prose(line) else []


def tidied(names: Iterable[str]) -> list[str]:
    """Names with single spaces, each once (whatever its case, as first written), without empty ones."""
    once: dict[str, str] = {}
    for name in (" ".join(name.split()) for name in names):
        if name:
            once.setdefault(name.casefold(), name)
    return list(once.values())


# Rankings

_ASCII = str.maketrans("\uff3b【\u3014\uff3d】\u3015\uff1e≻→»\uff1d≈\uff0c、\uff1b\uff1a", "[[[]]]>>>>==,,;:")
_LABEL = re.compile(r"\b(?:passages?|documents?|docs?|texts?|passagen?|dokumente?|pasajes?)\b|段落|文档|文書", re.I)
_RUN = re.compile(rf"(?:[\d\s\[\]()>=,;|~*`\"'-]|\.(?!\s*\d)|{_LABEL.pattern})++", re.I)
_COUNTED = re.compile(rf"((?:{_LABEL.pattern})[\s(\[*]*\d+)|\b\d+[.):][^\w\n]*(?={_LABEL.pattern})", re.I)
_GROUP, _BARE = re.compile(r"\n|\[[^\[\]]*"), re.compile(r"\n|\d+")
_BRACKET = re.compile(r"\[\s*(\d+)\s*\]")
LONGEST_LIST = 20_000
"""Characters of an answer that `parse_ranks` reads at most."""
_INSIDE, _DIGITS = re.compile(r"\[[^\[\]]*"), re.compile(r"\d+")
_MALFORMED = re.compile(r"(?<![\d\]])-\d+|\d+\.\d+")


def parse_permutation(answer: object, count: int) -> tuple[IntArray, Counter[str]]:
    """The order that a model gave to passages 1 to count, and what was wrong with its answer.

    The grammar, for digits of any script, and for brackets and signs of any width:

        ranking = item { joint item }
        item    = [ label ] ( number | "[" number "]" )     label: passage, document, doc or text, in any case
        joint   = any of > = , ; | ~ -, quotes, spaces and line breaks

    `[2, 3, 1]` is three items; numbers without brackets among items in brackets are those of lines; "=" is read as ">".
    The first number of "1. Passage 3" is that of a line, too, and counts as more text. An answer that is one ranking is
    right, in a code fence, bold or with a full stop, too. In more text, which is counted ("wrong_format"), rankings of
    two items or more are looked for:

    - items in brackets, or with ">" between them;
    - items that fill a line, or the rest of it behind a colon;
    - the first item in brackets of each line, if nothing but numbers and labels is before it.

    Other numbers in prose are none. A line with a number that the lines above it have begins another ranking. The
    ranking with the most passages counts, of several the last.

    Returns:
        ([count] int64 places from 0, numbers that lack last in their old order; how many of each flaw: "wrong_format",
        "outside" (no such passage), "repeated", "missing").

    Raises:
        TypeError: the answer is no text.
        ValueError: no ranking, or none of these passages; the message shows the answer.
    """
    whole, flaws = _signs(said(answer)), Counter[str]()
    text = _uncounted(whole)
    right = _RUN.fullmatch(text)
    rankings = _orders(text) if right else [order for order in _rankings(text) if len(order) > 1]
    passages = [len({number for number in ranking if 1 <= number <= count}) for ranking in rankings]
    numbers = max(zip(passages, range(len(rankings)), rankings, strict=True), default=(0, 0, []))[2]
    inside = [number for number in numbers if 1 <= number <= count]
    if not inside:
        raise ValueError(f"expected numbers of {count} passages, as in [2] > [1]; the model answered {shown(answer)}")
    once = dict.fromkeys(inside)
    missing = [number for number in range(1, count + 1) if number not in once]
    flaws.update(wrong_format=int(right is None or text != whole), missing=len(missing))
    flaws.update(outside=len(numbers) - len(inside), repeated=len(inside) - len(once))
    return np.array([*once, *missing], np.int64) - 1, +flaws


def parse_ranks(answer: object, count: int, k: int) -> tuple[IntArray, Counter[str]]:
    """The first k ranks that a model filled with passages 1 to count, and what was wrong with its answer.

    For rewards: nothing is repaired, every fault leaves a rank empty, and text around the ranking counts for nothing.
    The answer, or else the last ranking in it, is read by the grammar of `parse_permutation`. A ranking in more text
    has two items or more, and is in brackets, has ">" between its items, or fills whole lines or the rest of one
    behind a colon. Number i of the ranking fills rank i; the rank stays empty if there is no such passage (negative
    and broken numbers are none), or an earlier rank has it. Numbers behind the k-th count for nothing. An answer of
    more than `LONGEST_LIST` characters, reasoning apart, has no ranking.

    Returns:
        ([k] int64 places from 0, -1 where a rank is empty; how many of each flaw: "wrong_format" (more than a ranking
        of k items, fewer, or none), "outside", "repeated", "missing").

    Raises:
        TypeError: the answer is no text.
    """
    text = said(answer)
    whole = _MALFORMED.sub(" 0", _signs(text)) if len(text) <= LONGEST_LIST else ""
    text = _uncounted(whole)
    right = _RUN.fullmatch(text) is not None
    numbers = _numbers(text) if right else next(filter(lambda each: len(each) > 1, _from_the_end(text)), [])
    ranks, flaws, filled = np.full(k, -1, np.int64), Counter[str](), set[int]()
    for rank, number in enumerate(numbers[:k]):
        if not 1 <= number <= count:
            flaws["outside"] += 1
        elif number in filled:
            flaws["repeated"] += 1
        else:
            filled.add(number)
            ranks[rank] = number - 1
    flaws.update(wrong_format=int(not right or text != whole or len(numbers) != k), missing=max(0, k - len(numbers)))
    return ranks, +flaws


def _from_the_end(text: str) -> Iterator[list[int]]:
    """The numbers of each run of items and joints in more text, last run first."""
    for match in reversed([match for match in _RUN.finditer(text) if _DIGITS.search(match[0])]):
        run, start, stop = match[0], match.start(), match.end()
        if "[" in run or ">" in run:
            yield _numbers(run)
        elif stop == len(text) or "\n" in run[len(run.rstrip()) :]:
            begins = start == 0 or text[start - 1] in ":\n"
            yield _numbers(run if begins else run.partition("\n")[2])


def _numbers(run: str) -> list[int]:
    """Numbers of items; those in brackets, where there are brackets."""
    groups = _INSIDE.findall(run) if "[" in run else [run]
    return [int(digits[:7]) for group in groups for digits in _DIGITS.findall(group)]


def _signs(text: str) -> str:
    """The text with brackets and signs of one width."""
    return text.replace("&gt;", ">").translate(_ASCII)


def _uncounted(text: str) -> str:
    """The text without numbers of lines before labels, as in "1. Passage 3"; they count from 1 on."""
    marks = [match[0] for match in _COUNTED.finditer(text) if not match[1]]
    counted = [int(digits[:7]) for mark in marks if (digits := _DIGITS.findall(mark)[0])]
    if len(counted) < 2 or counted != list(range(1, len(counted) + 1)):
        return text
    return _COUNTED.sub(lambda match: match[1] or "", text)


def _rankings(text: str) -> Iterator[list[int]]:
    """The rankings in more text."""
    lines = text.splitlines()
    heads = [(line[: match.start()], match[1]) for line in lines if (match := _BRACKET.search(line))]
    yield [int(digits[:7]) for before, digits in heads if not any(map(str.isalpha, _LABEL.sub("", before)))]
    runs = [run for line in lines if _RUN.fullmatch(run := line.rpartition(":")[2])]
    runs += [run for run in _RUN.findall(text) if "[" in run or ">" in run]
    for run in runs:
        yield from _orders(run)


def _orders(run: str) -> list[list[int]]:
    """The rankings in items and joints."""
    lines = [list[int]()]
    for part in (_GROUP if "[" in run else _BARE).findall(run):
        lines += [[]] if part == "\n" else []
        lines[-1] += [int(digits[:7]) for digits in re.findall(r"\d+", part)]  # none has so many
    orders, known = [list[int]()], set[int]()
    for line in lines:
        if not known.isdisjoint(line):
            orders.append([])
            known.clear()
        orders[-1] += line
        known.update(line)
    return orders
