"""Topics of sets that are larger than memory: their arrays and the ids of documents stay on disk.

A text of Python's takes some 50 bytes more than its letters, and most of what a large set without its arrays takes are
ids.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import ref

import numpy as np

from srd_gym.data.mapped import MappedFile, StoredArray
from srd_gym.topic import Topic
from srd_gym.topic_fields import ARRAYS, PlainIds

_APART = "\0"
_RECENT = 256
"""Topics whose ids stay in memory: loops ask for those of a topic again and again."""
_recent = deque["ref[_StoredIds]"]()


class _StoredIds:
    """Ids in one array of letters."""

    __slots__ = ("__weakref__", "_count", "_ids", "_letters")

    def __init__(self, ids: tuple[str, ...], joined: str, aside: MappedFile) -> None:
        self._letters = aside.stored(np.frombuffer(joined.encode(), np.uint8))
        self._count = len(ids)
        self._ids: PlainIds | None = None

    def __len__(self) -> int:
        return self._count

    def read(self) -> PlainIds:
        """They as a tuple."""
        ids = self._ids
        if ids is None:
            self._ids = ids = PlainIds(self._letters.read().tobytes().decode().split(_APART))
            _recent.append(ref(self))
            if len(_recent) > _RECENT and (first := _recent.popleft()()) is not None:
                first._ids = None
        return ids


def _on_demand(slot: Any) -> Any:
    """A field that is a tuple or an array to whoever asks for it, whatever its slot holds."""

    def read(topic: Topic) -> Any:
        value = slot.__get__(topic)
        return value.read() if isinstance(value, _StoredIds | StoredArray) else value

    return property(read, slot.__set__)


_IDS = ("doc_ids", "pool_ids")
_SLOTS = {name: getattr(Topic, name) for name in (*_IDS, *ARRAYS)}


class PackedTopic(Topic):
    """A topic whose arrays and ids of documents can stay on disk; they are read when they are asked for."""

    __slots__ = ()

    @property
    def n_candidates(self) -> int:
        """N."""
        return len(_SLOTS["doc_ids"].__get__(self))

    def pack(self, aside: MappedFile) -> None:
        """Move arrays and ids into a file; ids not where one holds the letter that keeps them apart there.

        Raises:
            OSError: the disk is full.
        """
        for name in _IDS:
            ids = getattr(self, name)
            joined = _APART.join(ids or ())
            if ids and joined.count(_APART) == len(ids) - 1:
                _SLOTS[name].__set__(self, _StoredIds(ids, joined, aside))
        for name in ARRAYS:
            if (array := getattr(self, name)) is not None:
                _SLOTS[name].__set__(self, aside.stored(array))
        aside.flush()


for _name, _slot in _SLOTS.items():
    setattr(PackedTopic, _name, _on_demand(_slot))
