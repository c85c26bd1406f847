"""Answers of chat models as they come: lists of names, refusals, and rankings of passages."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest
from fuzz.texts import timely
from small_topics import refused

from srd_agents.llm.answers import parse_names, parse_permutation

EN = ["big cat", "car", "operating system"]
DE = ["Raubkatze in Südamerika", "Auto", "Betriebssystem"]
ZH = ["美洲豹动物", "捷豹汽车", "苹果操作系统"]
SO = "Here are the subtopics:\n\n"
HELPS = "\n\nLet me know if you need more."
KLAR = "Klar! Hier sind die Unterthemen:\n\n"
GERN = "\n\nSag mir gern, ob du mehr davon brauchst."
YIXIA = "以下是一些子主题\uff1a\n\n"
QING = "\n\n如果需要更多\uff0c请告诉我。"


PARSERS: tuple[Any, ...] = (
    parse_names, partial(parse_permutation, count=3),
)  # fmt: skip


def lines(names: list[str]) -> str:
    return "\n".join(names)


def numbered(names: list[str], mark: str = "{}. ") -> str:
    return lines([mark.format(number) + name for number, name in enumerate(names, 1)])


def bullets(names: list[str], mark: str = "- ") -> str:
    return lines([mark + name for name in names])


def listed(names: list[str], indent: int | None = None) -> str:
    return json.dumps(names, ensure_ascii=False, indent=indent)


def objects(names: list[str], key: str = "name", **more: Any) -> str:
    return json.dumps([{key: name} | more for name in names], ensure_ascii=False, indent=2)


def under(names: list[str], key: str = "subtopics", **more: Any) -> str:
    return json.dumps({**more, key: names}, ensure_ascii=False)


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{text}\n```"


def headings(names: list[str], level: str = "## ") -> str:
    return "\n\n".join(f"{level}{name}\nMany people look for it, and it can be found in most lists." for name in names)


def table(names: list[str], head: str = "| # | Subtopic | Note |\n|---|:---|---|\n") -> str:
    return head + lines([f"| {number} | {name} | often |" for number, name in enumerate(names, 1)])


ANSWERS: list[tuple[str, list[str]]] = [
    # Lines
    (lines(EN), EN),
    (SO + lines(DE) + HELPS, DE),
    ("Sure!\n\n" + "\n\n".join(EN) + "\n\nHope this helps!", EN),
    (KLAR + lines(DE) + GERN, DE),
    (YIXIA + lines(ZH) + QING, ZH),
    (lines([f'"{name}",' for name in EN]), EN),
    (SO + fenced(lines(EN), "text") + HELPS, EN),
    (lines([f"**{name}**" for name in ZH]), ZH),
    # Numbers
    (numbered(EN), EN),
    (numbered(EN, "{}) ") + HELPS, EN),
    (SO + numbered(EN, "({}) ") + HELPS, EN),
    (numbered(DE, "{}: "), DE),
    (KLAR + numbered(DE, "**{}.** ") + GERN, DE),
    (YIXIA + numbered(ZH, "{}、") + QING, ZH),
    (numbered(ZH, "{}."), ZH),
    ("一、美洲豹动物\n二、捷豹汽车\n三、苹果操作系统", ZH),
    (numbered(EN, "{}\ufe0f\u20e3 "), EN),
    (numbered([f"**{name}**: one of the meanings that people look for." for name in EN]), EN),
    (numbered([f"**{name}:** one of the meanings that people look for." for name in EN]) + HELPS, EN),
    (numbered([f"**{name}** \u2013 eine der Bedeutungen" for name in DE]), DE),
    (numbered([f"{name}: and a long description of it, which nobody has asked for in the prompt" for name in EN]), EN),
    (numbered([f"{name}." for name in EN]), EN),
    ("1. big cat 2. car 3. operating system", EN),
    (numbered(EN).replace("\n", "\n   It is one of the meanings that people look for.\n"), EN),
    # Bullets
    (bullets(EN), EN),
    (SO + bullets(EN, "* ") + HELPS, EN),
    (bullets(DE, "• ") + GERN, DE),
    (YIXIA + bullets(ZH, "· ") + QING, ZH),
    (bullets([f"**{name}**" for name in EN], "*   "), EN),
    (bullets([f"`{name}`" for name in EN], "- [ ] "), EN),
    (bullets([f"[{name}](https://example.org/a_b)" for name in EN]), EN),
    ("- big cat\n  - habitat\n  - diet\n- car\n\t- prices", ["big cat", "habitat", "diet", "car", "prices"]),
    ("1. big cat\n   * habitat\n2. car", ["big cat", "habitat", "car"]),
    ("1. **big cat**: in the Americas\n   - It hunts at night.\n2. **car**: British\n   - fast", ["big cat", "car"]),
    ("**Animals**\n- big cat\n- its habitat\n\n**Machines**\n- car", ["big cat", "its habitat", "car"]),
    ("### Tiere\n* Raubkatze\n### Maschinen\n* Auto", ["Raubkatze", "Auto"]),
    # JSON lists of texts
    (listed(EN), EN),
    (listed(ZH, 2), ZH),
    ("Here you go:\n" + fenced(listed(EN), "json"), EN),
    (KLAR + fenced(listed(DE, 2), "json") + GERN, DE),
    ("Here is the list: " + listed(EN), EN),
    (listed(EN) + HELPS, EN),
    (YIXIA + listed(ZH) + QING, ZH),
    ("<think>\nIs it [the cat]? 1. no\n</think>\n\n" + listed(EN), EN),
    ("The word [jaguar] has 3 senses [1]. " + listed(EN), EN),
    (listed([f"{number}. {name}" for number, name in enumerate(EN, 1)]), EN),
    (fenced("subtopics = " + listed(EN), "python"), EN),
    ("['big cat', 'driver's car', 'operating system']", ["big cat", "driver's car", "operating system"]),
    ('[\n  "big cat",\n  "car",\n]', ["big cat", "car"]),
    ('["big cat", "car", "opera', ["big cat", "car"]),
    # JSON objects
    (objects(EN), EN),
    (KLAR + fenced(objects(DE, "title", description="..."), "json") + GERN, DE),
    (objects(ZH, "主题", id=3), ZH),
    (under(EN), EN),
    (SO + under(DE, query="jaguar", count=3) + HELPS, DE),
    (fenced(under(ZH, "子主题"), "json"), ZH),
    ('{"result": {"subtopics": [{"id": "7", "label": "big cat"}, {"id": "8", "label": "car"}]}}', ["big cat", "car"]),
    # Between commas, headings, tables
    ("big cat, car, operating system", EN),
    ("Subtopics: big cat, car, and operating system.", EN),
    (SO + "big cat; car; operating system" + HELPS, EN),
    ("Unterthemen: Raubkatze in Südamerika, Auto und Motor, Betriebssystem", [DE[0], "Auto und Motor", DE[2]]),
    (YIXIA + "美洲豹动物、捷豹汽车、苹果操作系统", ZH),
    ('"big cat", "car"', ["big cat", "car"]),
    (headings(EN), EN),
    ("# Jaguar\n\n" + headings(DE, "### ") + GERN, DE),
    (headings(ZH, "## 1. "), ZH),
    (SO + table(EN) + HELPS, EN),
    (table(ZH, "| 序号 | 子主题 | 说明 |\n| --- | --- | --- |\n"), ZH),
    ("| Unterthema |\n|---|\n| Auto |\n| Tier |", ["Auto", "Tier"]),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "names"), ANSWERS)
def test_the_names_in_an_answer_are_read_whatever_is_around_them(answer: str, names: list[str]) -> None:
    assert parse_names(answer) == names
    assert parse_names(answer.replace("\n", "\r\n")) == names


@pytest.mark.parametrize("answer", [
    "",
    "   \n",
    "I'm sorry, but I can't help with that.",
    "I\u2019m sorry, but I can\u2019t help with that request\nPlease ask me something else",
    "I am unable to assist with this. You could:\n- ask somebody else\n- ask something else",
    "As an AI, I cannot know, guess, or list that",
    "Es tut mir leid, dabei kann ich nicht helfen:\n1. Das geht nicht\n2. Das auch nicht",
    "抱歉\uff0c我无法回答这个问题。",
    "我无法提供\uff1a\n- 这个\n- 那个",
    "Lo siento, no puedo ayudar con eso.",
    "big cat",
    "Jaguar, the big cat",
    "Jaguar may mean the big cat, the car or the system.",
    "Jaguar may mean the big cat, the car or the system.\nTell me more about what you want!",
    "The word has several meanings, which I list here one after the other for you\nbig cat",
    '["big cat", 2]',
    '["big cat", ["car"]]',
    '{"subtopics": "jaguar"}',
    '{"error": "I cannot help with that"}',
    '{"subtopics": ["I\'m sorry, but I can\'t help with that."]}',
    '[{"name": "big cat"}, {"name": "c',
    '[{"id": 1}, {"id": 2}]',
    "[1, 2, 3]",
    "<think>\n1. big cat\n2. car\n",
    "- " + "cat " * 80,
    "[" * 100_000,
    "```json\n```",
])  # fmt: skip
def test_refusals_prose_and_half_answers_are_no_names(answer: str) -> None:
    with pytest.raises(ValueError, match="expected a JSON list of subtopics, numbered") as error:
        parse_names(answer)
    assert repr(answer)[:150] in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("answer", ["[]", '{"subtopics": []}', "```json\n[ ]\n```", "<think>Any?</think>[]"])
def test_an_empty_list_says_that_there_are_none(answer: str) -> None:
    assert parse_names(answer) == []


RIGHT = [
    "[3] > [1] > [2]", "[3]>[1]>[2]", "3 > 1 > 2", "3 > 1 > 2.", "[3] [1] [2]", "3 1 2", "3, 1, 2", "[3], [1], [2]",
    "[3, 1, 2]", "[3,\n 1,\n 2]", '["3", "1", "2"]', '["[3]", "[1]", "[2]"]', "[[3], [1], [2]]", "[3]\n[1]\n[2]\n",
    "3\n1\n2", "- [3]\n- [1]\n- [2]", "1. [3]\n2. [1]\n3. [2]", "3 > 1\n> 2", "[3] > [1] >\n[2]", "[3] = [1] > [2]",
    "[3] = [1] = [2]", "3 >= 1 >= 2", "[3] >> [1] >> [2]", "[3] ≻ [1] ≻ [2]", "[3] → [1] → [2]", "[3] ≈ [1] > [2]",
    "\uff3b3\uff3d \uff1e \uff3b1\uff3d \uff1e \uff3b2\uff3d", "【3】>【1】>【2】",
    "\u30143\u3015\u30141\u3015\u30142\u3015",
    "\uff13 \uff1e \uff11 \uff1e \uff12", "\u0663 > 1 > 2", "3\uff0c1\uff0c2",
    "Passage [3] > Passage [1] > Passage [2]",
    "passage 3 > passage 1 > passage 2", "Document 3, Document 1, Document 2", "Doc [3]\nDoc [1]\nDoc [2]",
    "段落[3] > 段落[1] > 段落[2]", "**[3] > [1] > [2]**", "`[3] > [1] > [2]`", "```\n[3] > [1] > [2]\n```",
    "<think>[1] > [2]? No.</think>\n[3] > [1] > [2]", "[3] &gt; [1] &gt; [2]", "(3) > (1) > (2)", "[3] | [1] | [2]",
    "[1] > [2] > [3]\n\n[3] > [1] > [2]", "[1] > [2]\n[3] > [1] > [2]", "[3] > [1] > [2]\n[2] > [1]",
]  # fmt: skip
MORE_TEXT = [
    "Here is the ranking:\n[3] > [1] > [2]\nI hope this helps!", "Final answer: [3] > [1] > [2].", "Ranking: 3 > 1 > 2",
    "The order is:\n3, 1, 2\nas asked.", "Ranking of the 3 passages: 3, 1, 2", '{"ranking": [3, 1, 2]}',
    '{"rerank_list": "[3] > [1] > [2]"}', "First [1] > [2] > [3], but then:\n[3] > [1] > [2]",
    "As in [2] > [1]: [3] > [1] > [2]", "1. [3] has the most about it\n2. [1] comes next\n3. [2] is off",
    "[3] The big cat\n[1] The car\n[2] Something else", "Passage [3]: cats\nPassage [1]: cars\nPassage [2]: nothing",
    "最终排序\uff1a[3] > [1] > [2]", "Reihenfolge: Dokument [3] > Dokument [1] > Dokument [2]",
    "It was written in 2019.\n\n[3] > [1] > [2]",
]  # fmt: skip
FLAWED: list[tuple[str, list[int], dict[str, int]]] = [
    ("[3] > [3] > [1] > [3]", [3, 1, 2], {"repeated": 2, "missing": 1}),
    ("[3] > [0] > [7] > [1]", [3, 1, 2], {"outside": 2, "missing": 1}),
    ("[3] > [12345678] > [1] > [2]", [3, 1, 2], {"outside": 1}),
    ("[3] > [1] > [2", [3, 1, 2], {}),
    ("[3] > [1] >", [3, 1, 2], {"missing": 1}),
    ("[2]", [2, 1, 3], {"missing": 2}),
    ("1. Passage 3\n2. Passage 1\n3. Passage 2", [3, 1, 2], {"wrong_format": 1}),
    ("1) **Document 3**\n2) **Document 1**\n3) **Document 2**", [3, 1, 2], {"wrong_format": 1}),
    ("1. Passage 3. 2. Passage 1. 3. Passage 2.", [3, 1, 2], {"wrong_format": 1}),
    ("3 > 1 > 2. Document 3 is most relevant", [3, 1, 2], {"wrong_format": 1, "repeated": 1}),
    ("Here are 3, best first: [3] > [1]. Passage 2 is off.", [3, 1, 2], {"wrong_format": 1, "missing": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "order", "flaws"), [
    *((answer, [3, 1, 2], {}) for answer in RIGHT),
    *((answer, [3, 1, 2], {"wrong_format": 1}) for answer in MORE_TEXT),
    *FLAWED,
])  # fmt: skip
def test_rankings_are_read_by_the_grammar_repaired_and_counted(answer: str, order: list[int], flaws: Any) -> None:
    places, counted = parse_permutation(answer, 3)
    assert (places.tolist(), dict(counted)) == ([number - 1 for number in order], flaws)


@pytest.mark.parametrize("answer", [
    "I like 3 and 2.", "I like [3] best.", "Passage 3 is best, then 1, 2.", "1. 3\n2. 1\n3. 2", "", " > ", "[]",
    "[7] > [8]",
    "I'm sorry, but I cannot rank these 3 passages.",
])  # fmt: skip
def test_other_numbers_are_no_ranking(answer: str) -> None:
    refused(lambda: parse_permutation(answer, 3), "expected numbers of 3 passages")


def test_what_is_no_text_is_refused() -> None:
    for read in PARSERS:
        for answer in (None, ["big cat"], np.zeros(2), True, float("inf"), float("nan"), 10**400):
            refused(lambda read=read, answer=answer: read(answer), "a model must answer with text, got", TypeError)


@pytest.mark.parametrize("answer", [
    " > ".join(map(str, range(1, 21))) + " >",  # cut at the limit of tokens
    " > ".join(map(str, range(1, 14))) + " and the others are off",
    "1" + " " * 1_600 + "x", "[1]" * 20_000 + "x", "[1" * 20_000, "passage " * 10_000 + "x", "\n1" * 20_000,
    "rating" + " " * 20_000 + "x", "5" + " " * 20_000 + "x", "1. " * 20_000, "```" * 20_000, "<think>" * 10_000,
    '["a", ' * 10_000, '[["a"]' * 10_000, "- **a** " * 10_000, '"' * 40_000, "[a](" * 10_000, "* " * 20_000,
])  # fmt: skip
def test_no_answer_takes_longer_than_its_length(answer: str) -> None:
    """Ten microseconds per character; the fuzzers look for others."""
    for read in PARSERS:
        timely(read, answer)


def test_bold_names_may_have_brackets_behind_them() -> None:
    named = "1. **Car** - made in Britain.\n2. **Cat**: a big one.\n3. **System** (Mac OS X 10.2)"
    assert parse_names(named) == ["Car", "Cat", "System"]


def test_half_a_character_of_a_cut_answer_is_replaced() -> None:
    assert parse_names("- big cat\n- car \ud83d") == ["big cat", "car ?"]
