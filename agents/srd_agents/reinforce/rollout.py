"""The policy at work, in numpy as its networks in torch: how rankings stand, and episodes to learn from.

Shapes: B topics, R rankings or episodes of each, T ranks, N candidates, F vector width, D relations, H hidden width,
E weights of relations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from srd_agents.heuristic.greedy import in_blocks
from srd_agents.networks.features import query_vectors, side_by_side
from srd_agents.relational.decoding import Draft
from srd_agents.relational.ranker import Related, Weights, checked_weights, relations_of
from srd_agents.relational.relations import ANCHORS, DYNAMIC, POSITION, Array, Ranked, Relations
from srd_gym.core import SelectionCore
from srd_gym.protocols import BoolArray, IntArray
from srd_gym.topic import Topic

KEPT = 2**29
"""Bytes of relations that are kept for the next time; those of further topics are computed whenever asked for."""


def ready_directions(arrays: Mapping[str, NDArray[Any]]) -> Weights:
    """The arrays of `srd_agents.networks.directions.Directions`, ready to multiply with from the left.

    Matrices are [inputs, outputs]. The fixed scale of the vectors is divided out, the fixed shift is taken off the
    biases. "query" makes both the rows' part and the query's own row, [F, 2H]; "context" is the part of the state that
    stays, [3H, H], and "ranked" the part that changes, [3H + 1, H].
    """
    hidden, scale = arrays["row.weight"].shape[0], arrays["inputs.scale"]
    document = np.ascontiguousarray((arrays["from_document.weight"] / scale).T)
    own = np.concatenate([np.zeros(hidden, np.float32), arrays["query.bias"]])
    query = np.ascontiguousarray((np.concatenate([arrays["from_query.weight"], arrays["query.weight"]]) / scale).T)
    state = np.ascontiguousarray(arrays["state.weight"].T)
    size = np.float32(hidden**-0.5)
    return {
        "document": document,
        "document_bias": arrays["from_document.bias"] - arrays["inputs.shift"] @ document,
        "query": query,
        "query_bias": own - arrays["inputs.shift"] @ query,
        "no_query_bias": own,
        "columns": np.ascontiguousarray(arrays["from_columns.weight"].T),
        "row": np.ascontiguousarray(arrays["row.weight"].T),
        "row_bias": arrays["row.bias"],
        "context": state[: 3 * hidden],
        "state_bias": arrays["state.bias"],
        "ranked": state[3 * hidden :],
        "pointer": np.ascontiguousarray(arrays["pointer.weight"].T) * size,
        "pointer_bias": arrays["pointer.bias"] * size,
        "prior": arrays["prior.weight"][0],
    }


@dataclass(frozen=True, kw_only=True)
class PolicyWeights:
    """What a policy is: its two parts, one of which may be missing."""

    relations: Weights | None
    directions: Weights | None

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> PolicyWeights:
        """From the network's arrays by name, `PolicyNetwork`'s."""
        relations, directions = (
            {name.removeprefix(part): array for name, array in arrays.items() if name.startswith(part)}
            for part in ("relations.", "directions.")
        )
        return cls(
            relations=checked_weights(relations) if relations else None,
            directions=ready_directions(directions) if directions else None,
        )


class Seen(NamedTuple):
    """B topics as the policy sees them."""

    relations: Relations
    documents: Array
    """[B, N, F]; rows of padding are 0."""
    queries: Array
    """[B, F]; zeros where a topic has no query vector."""
    present: BoolArray
    """[B, N], the real candidates."""


class Standing:
    """R rankings of each of B topics, as far as they have come.

    Args:
        weights: of the policy.
        seen: the topics.
        rankings: R.
    """

    def __init__(self, weights: PolicyWeights, seen: Seen, rankings: int = 1) -> None:
        self.ranked: Ranked | None = None
        """What is ranked so far in terms of relations; None where the policy has no such part."""
        self._parts: list[Draft] = []
        if weights.relations is not None:
            related = Related(weights.relations, seen.relations, rankings, seen.present)
            self.ranked = related.ranked
            self._parts.append(related)
        if weights.directions is not None:
            self._parts.append(_Pointing(weights.directions, seen, rankings))

    def scores(self) -> Array:
        """[B, R, N] float32, of every candidate as the next document, ranked ones included."""
        found = self._parts[0].scores()
        for part in self._parts[1:]:
            found += part.scores()
        return found

    def add(self, chosen: IntArray) -> None:
        """Put these candidates, [B, R] int64, at the next rank."""
        for part in self._parts:
            part.add(chosen)

    def keep(self, rankings: IntArray) -> None:
        """Go on from some of the rankings: [B, R] int64, the ranking that each is a copy of."""
        for part in self._parts:
            part.keep(rankings)


class _Pointing:
    """The directions' part of `Standing`."""

    def __init__(self, weights: Weights, seen: Seen, rankings: int) -> None:
        self._weights, hidden = weights, len(weights["row"])
        given = np.any(seen.queries, axis=1, keepdims=True)[:, None]
        # One product a topic ([B, 1, F] times a matrix), so that a topic's numbers do not depend on the others.
        query = np.matmul(seen.queries[:, None], weights["query"])
        query += np.where(given, weights["query_bias"], weights["no_query_bias"])
        static = seen.relations.static
        rows = np.matmul(seen.documents, weights["document"])
        rows += np.matmul(static, weights["columns"])
        rows += query[..., :hidden] + weights["document_bias"]
        np.maximum(rows, 0, out=rows)
        rows = np.matmul(rows, weights["row"])
        rows += weights["row_bias"]
        np.maximum(rows, 0, out=rows)
        self._prior = (np.matmul(rows, weights["prior"][:hidden]) + np.matmul(static, weights["prior"][hidden:]))[
            :, None
        ]
        self._rows, self._topics = rows, np.arange(len(rows))[:, None]
        self._columns = rows.swapaxes(1, 2)
        real = rows if seen.present.all() else rows * seen.present[..., None]
        mean = real.sum(axis=1) / seen.present.sum(axis=1, keepdims=True, dtype=np.float32)
        context = np.concatenate([np.maximum(query[:, 0, hidden:], 0), mean, real.max(axis=1)], axis=1)
        self._fixed = np.matmul(context[:, None], weights["context"]) + weights["state_bias"]
        self._state = np.zeros((len(rows), rankings, 3 * hidden + 1), np.float32)
        self._size = 0

    def scores(self) -> Array:
        summary = np.matmul(self._state, self._weights["ranked"])
        summary += self._fixed
        np.maximum(summary, 0, out=summary)
        pointers = np.matmul(summary, self._weights["pointer"])
        pointers += self._weights["pointer_bias"]
        found = np.matmul(pointers, self._columns)
        found += self._prior
        return np.asarray(found)

    def add(self, chosen: IntArray) -> None:
        self._size += 1
        rows, hidden = self._rows[self._topics, chosen], len(self._weights["row"])
        self._state[..., :hidden] += rows * np.float32(10**-0.5)
        self._state[..., hidden : 2 * hidden] += rows * np.float32(10**-0.5 / np.log2(self._size + 1))
        largest = self._state[..., 2 * hidden : -1]
        np.maximum(largest, rows, out=largest)
        self._state[..., -1] += np.float32(0.1)

    def keep(self, rankings: IntArray) -> None:
        self._state = self._state[self._topics, rankings]


def seen_together(topics: Sequence[Topic]) -> Seen:
    """Topics of equal size and width.

    Raises:
        ValueError: a topic without document vectors.
    """
    documents = np.stack([topic.require_vectors("a learned ranker") for topic in topics])
    queries = query_vectors(topics, documents.shape[2])
    return Seen(relations_of(topics), documents, queries, np.ones(documents.shape[:2], np.bool_))


class Episodes(NamedTuple):
    """What the episodes of B topics saw, did and earned."""

    seen: Seen
    """The topics, padded to the largest."""
    dynamic: Array
    """[B, D, T, R, N], what each candidate looked like at each rank; no ranks where relations are not looked at."""
    position: Array
    """[T, P]."""
    allowed: BoolArray
    """[B, R, T, N]."""
    scores: Array
    """[B, R, T, N], the policy's."""
    actions: IntArray
    """[B, R, T]; any index after an episode's end."""
    rewards: Array
    """[B, R, T]; 0 after an episode's end."""
    active: BoolArray
    """[B, R, T], whether the rank was filled."""


class SeenTopics:
    """A topic set as the policy sees it: each topic's relations are taken alone, so that padding changes nothing.

    Args:
        topics: with document vectors.
    """

    def __init__(self, topics: Sequence[Topic]) -> None:
        self._topics = topics
        self.n_candidates = np.array([topic.n_candidates for topic in topics])
        self._anchors = min(int(self.n_candidates.max()), ANCHORS)
        self._kept: dict[int, list[Array]] = {}
        self._room = KEPT

    def by_size(self, batch: IntArray, count: int) -> list[IntArray]:
        """The topics of a batch in parts of at most `count`, small topics with small ones."""
        rising = batch[np.argsort(self.n_candidates[batch], kind="stable")]
        return [rising[start : start + count] for start in range(0, len(batch), count)]

    def of(self, batch: IntArray) -> Seen:
        """Some topics, padded to the largest of them."""
        found = Relations(*[side_by_side(parts) for parts in zip(*self._of_each(batch), strict=True)])
        # Padding of ramps goes by the whole set, so that products with them do not depend on the batch.
        more = self._anchors - found.ramps.shape[3]
        if more:
            found = found._replace(ramps=np.pad(found.ramps, [(0, 0), (0, 0), (0, 0), (0, more)]))
        topics = [self._topics[index] for index in batch]
        documents = side_by_side([topic.require_vectors("a learned ranker") for topic in topics])
        present = np.arange(documents.shape[1]) < self.n_candidates[batch][:, None]
        return Seen(found, documents, query_vectors(topics, documents.shape[2]), present)

    def _of_each(self, batch: IntArray) -> list[list[Array]]:
        """The relations of each topic, without padding."""
        new = [index for index in batch.tolist() if index not in self._kept]
        computed = in_blocks(new, [(int(self.n_candidates[index]),) for index in new], 4096, self._computed)
        found = dict(zip(new, computed, strict=True))
        return [self._kept.get(index) or found[index] for index in batch.tolist()]

    def _computed(self, block: Sequence[int]) -> list[list[Array]]:
        """The relations of topics of one size; kept, where there is room."""
        relations = relations_of([self._topics[index] for index in block])
        found = [[part[place] for part in relations] for place in range(len(block))]
        self._room -= sum(part.nbytes for part in relations)
        if self._room >= 0:
            self._kept |= dict(zip(block, found, strict=True))
        return found


def roll_out(
    weights: PolicyWeights, core: SelectionCore, seen: Seen, batch: IntArray, rollouts: int, rng: np.random.Generator
) -> Episodes:
    """Act until all episodes end, each action drawn from the softmax of the scores.

    Args:
        weights: of the policy.
        core: the simulator; it is reset.
        seen: these topics.
        batch: [B] topics.
        rollouts: R.
        rng: draws the actions.
    """
    count, n = seen.present.shape
    core.reset(np.repeat(batch, rollouts))
    standing, ranks, episodes = Standing(weights, seen, rollouts), int(core.length.max()), (count, rollouts)
    ranked = standing.ranked
    dynamic = np.zeros((count, DYNAMIC, ranks if ranked else 0, rollouts, n), np.float32)
    position = np.zeros((ranks, POSITION), np.float32)
    allowed, kept = np.zeros((*episodes, ranks, n), np.bool_), np.zeros((*episodes, ranks, n), np.float32)
    actions, active = np.zeros((*episodes, ranks), np.int64), np.zeros((*episodes, ranks), np.bool_)
    rewards = np.zeros((*episodes, ranks), np.float32)
    for rank in range(ranks):
        if ranked is not None:
            dynamic[:, :, rank], position[rank] = ranked.features, ranked.position()
        allowed[:, :, rank] = core.allowed[:, :n].reshape(*episodes, n)
        active[:, :, rank] = ~core.done.reshape(episodes)
        scores = kept[:, :, rank] = standing.scores()
        # Gumbel-max: the largest of score + noise is a draw from the softmax. Minus the log of an exponential is that.
        noisy = scores - np.log(rng.standard_exponential(scores.shape)).astype(np.float32)
        actions[:, :, rank] = np.where(allowed[:, :, rank], noisy, -np.inf).argmax(axis=2)
        rewards[:, :, rank] = core.step(actions[:, :, rank].ravel()).reward.reshape(episodes)
        if rank + 1 < ranks:
            standing.add(actions[:, :, rank])
    return Episodes(seen, dynamic, position, allowed, kept, actions, rewards, active)
