"""Logs of what was shown and clicked, with propensities: made by a simulated user, kept in Parquet.

Shapes: E episodes, K ranks, N candidates.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import chain, compress
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from srd_gym.checks import check_integer
from srd_gym.core.arrays import TopicArrays
from srd_gym.core.users import Clicks
from srd_gym.data.arrow import pa, pq
from srd_gym.data.columns import Law, Table
from srd_gym.data.parquet import metadata_of, opened_for_arrow, opened_parquet, read_rows
from srd_gym.dtypes import BoolArray, IntArray, ScoreArray
from srd_gym.files import PathLike, written_atomically
from srd_gym.offline.policy import EpsilonPolicy
from srd_gym.protocols import Ranker
from srd_gym.reading import Place, few
from srd_gym.reading import shown as as_text
from srd_gym.showing import short_repr
from srd_gym.topic import TopicSet

PART = 4096
"""Episodes that are drawn and written together."""
_KEY, _ORDERS = b"srd_gym.log", b"srd_gym.log.orders"
_WHAT = "log of episodes"
_ADVICE = "write it again (srd data log)"
_REQUIRED = ("query_id", "shown", "propensities", "clicks")
_CHANCE = Law(
    "probabilities above 0 and at most 1 (what has probability 0 is never shown)",
    lambda values: (values > 0) & (values <= 1),
)
_BY_RANK = ("propensities", "slot_propensities", "clicks")


@cache
def _columns() -> Table:
    """The columns that are read; each row has a value."""
    chances = pa.list_(pa.float64())
    laws = {
        ("query_id", pa.string()): None,
        ("shown", pa.list_(pa.string())): None,
        ("propensities", chances): _CHANCE,
        ("slot_propensities", chances): _CHANCE,
        ("clicks", pa.list_(pa.bool_())): None,
    }
    return {pa.field(*about, nullable=False): law for about, law in laws.items()}


@dataclass(frozen=True, kw_only=True)
class Log:
    """Episodes of a topic set: what was shown with which propensity, and what was clicked."""

    __repr__ = short_repr

    topics: TopicSet
    """The topics; an episode names one by its index."""
    topic_index: IntArray
    """[E] topic of each episode."""
    shown: IntArray
    """[E, K] candidates shown, best first; -1 where a rank is empty."""
    propensities: ScoreArray
    """[E, K] probability of the document at each rank, given those above it; 1 where a rank is empty."""
    slot_propensities: ScoreArray | None
    """[E, K] probability of the document at its rank, whatever stands above; None where the log has none."""
    clicks: BoolArray
    """[E, K] whether the document was clicked."""
    policy: EpsilonPolicy | None = None
    """The policy that logged; None where nobody knows it."""
    orders: IntArray | None = None
    """[T, N] the order of candidates that it explored around, -1 beyond; None where nobody knows it."""
    header: Mapping[str, Any] = field(default_factory=dict)
    """Origin of the log: ranker, epsilon, top_n, users, seed, name of the topic set; empty where nobody knows it."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The episodes of several logs of the same topics and policy."""
        names = ("topic_index", "shown", "propensities", "slot_propensities", "clicks")
        arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return replace(parts[0], **arrays)


def orders_of(ranker: Ranker, topics: TopicSet) -> IntArray:
    """[T, N] the ranker's order of all candidates of each topic; -1 beyond them."""
    orders = np.full((len(topics), topics.max_candidates), -1)
    for row, ranking in zip(orders, ranker.rank_batch(topics, topics.max_candidates), strict=True):
        row[: len(ranking)] = ranking
    return orders


def positions_in(orders: IntArray, candidates: IntArray) -> IntArray:
    """Positions of candidates in orders: [E, K] of orders [E, N] and candidates [E, K].

    -1 where a rank is empty, N for a candidate that the order leaves out.
    """
    width = orders.shape[1]
    places = np.full((len(orders), width + 1), width)
    np.put_along_axis(places, np.where(orders < 0, width, orders), np.arange(width)[None], 1)
    places[:, width] = -1
    return np.take_along_axis(places, candidates, axis=1)


def logged_parts(
    ranker: Ranker, topics: TopicSet, users: Clicks, policy: EpsilonPolicy, *, depth: int, episodes: int, seed: int
) -> Iterator[Callable[[], Log]]:
    """The parts of a log, each drawn when it is called for; a part depends on nothing but its number and the arguments.

    Args:
        ranker: whose order is explored.
        topics: judged topics; every episode draws one, all equally likely.
        users: who clicks.
        policy: how the order is explored.
        depth: K, documents shown.
        episodes: E in all.
        seed: of topics, users and exploration.

    Yields:
        A function that gives the next part.

    Raises:
        ValueError: topics without judgments, or numbers below 1.
    """
    check_integer("episodes", episodes, 1)
    check_integer("k", depth, 1)
    arrays = TopicArrays.of(topics)
    if not arrays.labelled.all():
        bare = topics[int(arrays.labelled.argmin())].query_id
        raise ValueError(f"topic {as_text(bare)} has no judgments, so nobody can click on it; log judged topics only")
    bound, orders = users.bind(arrays, depth), orders_of(ranker, topics)

    def part(number: int) -> Log:
        generator = np.random.default_rng([seed, number])
        count = min(PART, episodes - number * PART)
        index = generator.integers(len(topics), size=PART)[:count]
        who = generator.integers(2**63, size=PART)[:count]
        reach = policy.reach(arrays.n_candidates[index], depth)
        positions = policy.sample(reach, depth, generator)
        shown = np.where(positions < 0, -1, np.take_along_axis(orders[index], np.maximum(positions, 0), axis=1))
        return Log(
            topics=topics,
            topic_index=index,
            shown=shown,
            propensities=policy.propensities(positions, reach),
            slot_propensities=policy.slot_propensities(positions, reach),
            clicks=bound.clicks(index, shown, who),
            policy=policy,
            orders=orders,
        )

    for number in range(-(-episodes // PART)):
        yield lambda number=number: part(number)  # type: ignore[misc]


def write_log(
    path: PathLike,
    parts: Iterator[Callable[[], Log]],
    header: Mapping[str, object],
    told: Callable[[float], None],
    *,
    force: bool = False,
) -> bool:
    """Write a log part by part; one that was interrupted goes on where it stood, to the same file.

    Finished parts wait in the folder `path` + ".parts", which vanishes at the end unless something else is in it. A
    file keeps the header and the order of candidates that the ranker gave. One of another header or order, such as of
    a model that was trained again, is not gone on with. One process at a time may write to a path.

    Args:
        path: the Parquet file.
        parts: as `logged_parts` gives them.
        header: all else that the episodes depend on; the policy is added.
        told: called with the number of episodes just written.
        force: replace a log, or parts of one, of another header or order.

    Returns:
        Whether anything was left to write.

    Raises:
        ValueError: there is another log, or what is no log, or the folder is a link to another place.
    """
    target, first = Path(path), next(parts)()
    policy = {} if first.policy is None else asdict(first.policy)
    about = {_KEY: json.dumps({**policy, **header}, sort_keys=True).encode(), _ORDERS: _orders_text(first)}
    folder, is_new = parts_folder(path), not (target.exists() and _is_same(target, about, force))
    if folder.is_symlink():
        raise ValueError(f"{folder} is a link, but parts of {target.name} are to wait there; remove it")
    files = []
    for number, part in enumerate(chain([lambda: first], parts) if is_new else ()):
        files.append(folder / f"{number:06d}.parquet")
        if not (files[-1].exists() and _is_same(files[-1], about, force)):
            table = _table(part()).replace_schema_metadata(about)
            with written_atomically(files[-1]) as temporary, opened_for_arrow(temporary, "wb") as sink:
                pq.write_table(table, sink)
        told(pq.read_metadata(files[-1]).num_rows)
    if is_new:
        with (
            written_atomically(target) as temporary,
            opened_for_arrow(temporary, "wb") as sink,
            pq.ParquetWriter(sink, pq.read_schema(files[0])) as writer,
        ):
            for file in files:
                writer.write_table(pq.read_table(file))
    # Those of a longer log that this one replaces, too, and of one that was killed once it was whole.
    for file in folder.glob(f"{'[0-9]' * 6}.parquet"):
        file.unlink()
    with contextlib.suppress(OSError):  # something else is in it
        folder.rmdir()
    return is_new


def parts_folder(path: PathLike) -> Path:
    """The folder in which the parts of a log wait until all are there."""
    return Path(path).with_name(f"{Path(path).name}.parts")


def read_log(path: PathLike, topics: TopicSet, *, others: Literal["refuse", "leave out"] = "refuse") -> Log:
    """A log of these topics.

    Args:
        path: the Parquet file: a row for each episode with `query_id`, `shown` (document ids, each once),
            `propensities` (above 0, at most 1) and `clicks` (true or false, or 1 and 0), one entry for each rank, and
            where known `slot_propensities`.
        topics: the topics that were logged.
        others: what becomes of episodes of other topics: refused, or left out.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a damaged file, one without propensities, values of another type or range, entries that do not
            match, metadata of another log, or topics and documents that are not those of the set; the message gives
            file and row (from 1).
    """
    with opened_parquet(path, _WHAT, _REQUIRED, _ADVICE) as (file, place):
        table = {field: law for field, law in _columns().items() if field.name in file.schema_arrow.names}
        header, orders = (metadata_of(file, place, key) or {} for key in (_KEY, _ORDERS))
        rows: dict[str, list[Any]] = {field.name: [] for field in table}
        for _, columns in read_rows(file, place, table, PART, begin=1):
            for name, values in columns.items():
                rows[name] += values
        place.at = ""
    if others == "leave out":
        known = set(topics.query_ids)
        wanted = [query_id in known for query_id in rows["query_id"]]
        if not any(wanted):
            raise ValueError(
                f"{place} has no episode of the {len(known)} topics of {as_text(topics.name)}; pass a log of them"
            )
        rows = {name: list(compress(values, wanted)) for name, values in rows.items()}
    if not any(map(len, rows["shown"])):
        raise ValueError(f"{place} holds no episode that shows a document; {_ADVICE}")
    log = _log_of(place, topics, rows)
    if not orders:
        return replace(log, header=header)
    try:
        policy: Any = EpsilonPolicy(header.get("epsilon"), header.get("top_n"))  # type: ignore[arg-type]
        return replace(log, header=header, policy=policy, orders=_orders_from(orders, log, policy))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: metadata of another log, or damaged ({error}); {_ADVICE}") from error


def _log_of(place: Place, topics: TopicSet, rows: Mapping[str, list[Any]]) -> Log:
    """The arrays of what was read."""
    count, depth = len(rows["query_id"]), max(map(len, rows["shown"]))
    known = {query_id: index for index, query_id in enumerate(topics.query_ids)}
    places = [{doc_id: i for i, doc_id in enumerate(topic.doc_ids)} for topic in topics]
    index, shown = np.zeros(count, np.int64), np.full((count, depth), -1)
    numbers = {name: np.full((count, depth), name != "clicks", np.float64) for name in _BY_RANK if name in rows}
    for row, (query_id, documents) in enumerate(zip(rows["query_id"], rows["shown"], strict=True)):
        topic = known.get(query_id, -1)
        listed = [places[topic].get(document, -1) for document in documents]
        lengths = {name: len(rows[name][row]) for name in numbers}
        if topic < 0:
            fault = f"topic {as_text(query_id)} is not in {as_text(topics.name)}; pass the topics logged"
        elif set(lengths.values()) != {len(documents)}:
            fault = f"{len(documents)} documents are shown, but the other columns have {lengths}"
        elif -1 in listed:
            strange = as_text(documents[listed.index(-1)])
            fault = f"topic {as_text(query_id)} has no document {strange}; pass the topics logged"
        elif len(set(listed)) < len(listed):
            fault = f"a document is shown at two ranks ({few(documents, 10)}); a list shows each document once"
        else:
            index[row], shown[row, : len(listed)] = topic, listed
            for name, values in numbers.items():
                values[row, : len(listed)] = rows[name][row]
            continue
        raise ValueError(f"{place}, row {row + 1}: {fault}")
    return Log(
        topics=topics,
        topic_index=index,
        shown=shown,
        propensities=numbers["propensities"],
        slot_propensities=numbers.get("slot_propensities"),
        clicks=numbers["clicks"].astype(np.bool_),
    )


def _orders_text(log: Log) -> bytes:
    """The orders of a log's topics by query id, as JSON."""
    rows = [] if log.orders is None else log.orders.tolist()
    by_id = {query_id: [i for i in row if i >= 0] for query_id, row in zip(log.topics.query_ids, rows, strict=True)}
    return json.dumps(by_id).encode()


def _orders_from(orders: Mapping[str, object], log: Log, policy: EpsilonPolicy) -> IntArray:
    """[T, N] the orders of `_orders_text`; -1 for topics that were not logged.

    Raises:
        TypeError, ValueError: an order that is not one of all candidates of its topic, none of a topic logged, or
            documents shown that the policy cannot show.
    """
    out = np.full((len(log.topics), log.topics.max_candidates), -1)
    logged = {log.topics.query_ids[index] for index in np.unique(log.topic_index).tolist()}
    for row, topic in zip(out, log.topics, strict=True):
        order, count = orders.get(topic.query_id), topic.n_candidates
        if order is None and topic.query_id not in logged:
            continue
        if not isinstance(order, list) or len(order) != count or set(order) != set(range(count)):
            raise ValueError(f"the order of topic {as_text(topic.query_id)} is not one of its {count} candidates")
        row[:count] = order
    if policy.top_n is not None:
        reach = policy.reach((out >= 0).sum(axis=1)[log.topic_index], log.shown.shape[1])
        if (positions_in(out[log.topic_index], log.shown) >= reach[:, None]).any():
            raise ValueError(f"top_n is {policy.top_n}, but documents beyond are shown")
    return out


def _table(log: Log) -> pa.Table:
    """A part as Arrow keeps it; empty ranks are left out."""
    filled = log.shown >= 0

    def lists(values: Any) -> list[list[object]]:
        return [row[has].tolist() for row, has in zip(values, filled, strict=True)]

    topics: Sequence[Any] = [log.topics[index] for index in log.topic_index.tolist()]
    documents = [[topic.doc_ids[i] for i in row] for topic, row in zip(topics, lists(log.shown), strict=True)]
    return pa.table(
        {
            "query_id": pa.array([topic.query_id for topic in topics], pa.string()),
            "shown": pa.array(documents, pa.list_(pa.string())),
            "propensities": pa.array(lists(log.propensities), pa.list_(pa.float64())),
            "slot_propensities": pa.array(lists(log.slot_propensities), pa.list_(pa.float64())),
            "ranking_propensity": pa.array(log.propensities.prod(axis=1), pa.float64()),
            "clicks": pa.array(lists(log.clicks), pa.list_(pa.bool_())),
        }
    )


def _is_same(path: Path, about: Mapping[bytes, bytes], force: bool) -> bool:
    """Whether a log has this header and these orders.

    Raises:
        ValueError: it has others and is not to be replaced, or it is no log.
    """
    with opened_parquet(path, _WHAT, _REQUIRED, "remove it, or choose another --out") as (file, _):
        there = file.schema_arrow.metadata or {}
        theirs = dict(json.loads(there.get(_KEY, b"{}")))
    mine = json.loads(about[_KEY])
    same = theirs == mine and there.get(_ORDERS) == about[_ORDERS]
    if not (same or force):
        name = next((name for name in mine | theirs if theirs.get(name) != mine.get(name)), "")
        differs = f"{name} was {as_text(theirs.get(name))}, now {as_text(mine.get(name))}"
        differs = differs if name else "its ranker gave another order (was the model trained again?)"
        raise ValueError(f"{path} is another log: {differs}; replace it with --force, or choose another --out")
    return same
