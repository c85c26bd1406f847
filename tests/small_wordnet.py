"""A small dictionary in the form of WordNet's files, made here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

LICENCE = "  1 This software and database is being provided to you, the LICENSEE\n"


@dataclass
class Dictionary:
    """Files of the form of wndb(5WN), from entries by number."""

    lines: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in ("noun", "verb", "adj", "adv")})
    index: list[str] = field(default_factory=list)

    def add(
        self, number: int, words: str, gloss: str, *links: tuple[str, int, str], name: str = "noun", kind: str = "n"
    ) -> None:
        """An entry; links are symbol, number, and source and target words."""
        own = words.split()
        pointers = "".join(f"{symbol} {other:08d} n {numbers} " for symbol, other, numbers in links)
        named = " ".join(f"{word} 0" for word in own)
        line = f"{number:08d} 03 {kind} {len(own):02x} {named} {len(links):03d} {pointers}"
        self.lines[name].append(f"{line}{'01 + 02 00 ' if name == 'verb' else ''}| {gloss}  \n")

    def word(self, word: str, *numbers: int) -> None:
        """A noun and its senses."""
        offsets = " ".join(f"{number:08d}" for number in numbers)
        self.index.append(f"{word} n {len(numbers)} 2 @ ~ {len(numbers)} 1 {offsets}  \n")

    def write(self, folder: Path) -> Path:
        """All files."""
        folder.mkdir(exist_ok=True)
        for name, lines in self.lines.items():
            (folder / f"data.{name}").write_text(LICENCE + "".join(lines), encoding="utf-8")
        (folder / "index.noun").write_text(LICENCE + "".join(self.index), encoding="utf-8")
        return folder


def dictionary() -> Dictionary:
    """A "bank" of three senses, of which two have kinds, and others that only speak of banks."""
    made = Dictionary()
    made.add(1, "bank money_box", "a bank for coins", ("@", 4, "0000"), ("+", 5, "0201"), ("+", 6, "0101"))
    made.add(2, "bank", "sloping land", ("~", 50, "0000"))
    made.add(3, "bank", "a flight of a plane")
    made.add(4, "container", "holds things")
    made.add(5, "boxer", "of the other word, near a bank")
    made.add(6, "banker", "works in a bank")
    for number in range(50, 75):
        link = (("@", 2, "0000"),) if number == 50 else ()
        made.add(number, f"river_{number}", f"water number {number} near a bank", *link)
    made.add(80, "shore", "above the water", ("@", 2, "0000"))
    made.add(90, "big(p)", "of a bank", name="adj", kind="s")
    made.add(91, "lean", "as a plane in a bank", name="verb", kind="v")
    made.word("bank", 1, 2, 3)
    made.word("lone", 4)
    made.word("river_bank", 1, 2, 3)
    return made
