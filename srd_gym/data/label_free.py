"""A candidate order that knows nothing of the labels, for sets whose files come without a retrieval order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def label_free_order(query_id: str, doc_ids: Iterable[str]) -> tuple[str, ...]:
    """The documents in a fixed shuffle: sorted by a digest of query and document id.

    The published files of MDP-DIV and DU-DIV list documents in (nearly) ideal order, so that whoever breaks ties by
    position would read the labels. This order depends on the ids alone: not on the file's order, not on which other
    documents there are, and not on any library's random numbers, so it is the same everywhere and for ever.

    Args:
        query_id: the topic; the same documents stand in another order in another topic.
        doc_ids: the documents, in any order.

    Returns:
        The same ids, shuffled.
    """

    def digest(doc_id: str) -> bytes:
        return hashlib.blake2b(f"{query_id}\0{doc_id}".encode(errors="surrogatepass"), digest_size=16).digest()

    return tuple(sorted(doc_ids, key=lambda doc_id: (digest(doc_id), doc_id)))
