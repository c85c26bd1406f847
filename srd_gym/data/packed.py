"""Topics of sets that are larger than memory: ids of documents, too, stay on disk.

A text of Python's takes some 50 bytes more than its letters, and most of what a large set without its arrays takes are
ids.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import ref

import numpy as np

from srd_gym.data.mapped import MappedFile
from srd_gym.topic import Topic
from srd_gym.topic_fields import PlainIds

_APART = "\0"
_RECENT = 256
"""Topics whose ids stay in memory: loops ask for those of a topic again and again."""
_recent = deque["ref[_Packed]"]()


class _Packed:
    """Ids in one array of letters."""

    __slots__ = ("__weakref__", "_count", "_ids", "_letters")

    def __init__(self, ids: tuple[str, ...], joined: str, aside: MappedFile) -> None:
        self._letters = aside.moved(np.frombuffer(joined.encode(), np.uint8))
        self._count = len(ids)
        self._ids: PlainIds | None = None

    def __len__(self) -> int:
        return self._count

    def ids(self) -> PlainIds:
        """They as a tuple."""
        ids = self._ids
        if ids is None:
            self._ids = ids = PlainIds(self._letters.tobytes().decode().split(_APART))
            _recent.append(ref(self))
            if len(_recent) > _RECENT and (first := _recent.popleft()()) is not None:
                first._ids = None
        return ids


def _on_demand(slot: Any) -> Any:
    """A field that is a tuple to whoever asks for it, whatever its slot holds."""

    def ids(topic: Topic) -> Any:
        value = slot.__get__(topic)
        return value.ids() if type(value) is _Packed else value

    return property(ids, slot.__set__)


_SLOTS = {name: getattr(Topic, name) for name in ("doc_ids", "pool_ids")}


class PackedTopic(Topic):
    """A topic whose ids of documents can stay on disk; they become a tuple when they are asked for."""

    __slots__ = ()
    doc_ids = _on_demand(_SLOTS["doc_ids"])
    pool_ids = _on_demand(_SLOTS["pool_ids"])

    @property
    def n_candidates(self) -> int:
        """N."""
        return len(_SLOTS["doc_ids"].__get__(self))

    def pack(self, aside: MappedFile) -> None:
        """Move the ids into a file, unless one of them holds the letter that keeps them apart there.

        Raises:
            OSError: the disk is full.
        """
        for name, slot in _SLOTS.items():
            ids = getattr(self, name)
            joined = _APART.join(ids or ())
            if ids and joined.count(_APART) == len(ids) - 1:
                slot.__set__(self, _Packed(ids, joined, aside))
