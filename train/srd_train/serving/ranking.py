"""Ranking topics of one file, of many or generated, in memory that does not grow; here, in processes or on Ray Data."""

from __future__ import annotations

import glob
import logging
import multiprocessing
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path

from srd_agents.training.learner import tell_foreign
from srd_gym.checks import checked_rankings
from srd_gym.data import WORDS, load_topics
from srd_gym.data.arrow import pa
from srd_gym.data.parquet import count_row_groups, iter_query_ids, iter_topics, read_origin
from srd_gym.showing import short_repr
from srd_gym.topic import Topic, TopicSet
from srd_train.experiment.engines import begin_worker, connected_ray, shielded
from srd_train.serving.models import Model, digest_of


@dataclass(frozen=True, kw_only=True)
class TopicStream:
    """Topics that can be gone through any number of times; of files, one row group is in memory at a time."""

    __repr__ = short_repr

    name: str
    """Name in messages."""
    files: tuple[Path, ...] = ()
    """Parquet files, in the order they are read in; none where the topics are generated."""
    generated: Sequence[Topic] = ()
    """The topics, where they are no files'."""

    def __iter__(self) -> Iterator[Topic]:
        """The topics.

        Raises:
            ValueError: a file or topic that cannot be read.
        """
        return chain(self.generated, *map(iter_topics, self.files))

    def query_ids(self, wanted: Sequence[str] | None = None) -> Set[str]:
        """Ids of the topics, once they are checked; the topics themselves are not read for it.

        Args:
            wanted: ids that must be there.

        Raises:
            ValueError: an id that is duplicated, or one that is missing.
        """
        query_ids: set[str] = set()
        for query_id in chain((topic.query_id for topic in self.generated), *map(iter_query_ids, self.files)):
            if query_id in query_ids:
                raise ValueError(f"topics of {self.name}: query id {query_id!r} is duplicated; ids must differ")
            query_ids.add(query_id)
        missing = [query_id for query_id in wanted or () if query_id not in query_ids]
        if missing:
            raise ValueError(
                f"the model's test fold has {len(wanted or ())} topics, but {len(missing)} of them are not in "
                f"{self.name!r} (first: {missing[0]!r}); give the file it was trained on, or rank every topic with "
                "--all"
            )
        return query_ids

    def tell_trained(self, model: Model, query_ids: Set[str]) -> None:
        """Warn where these topics, which have these ids, are those that the model was trained on."""
        if model.metadata.get("topic_set", {}).get("queries") == digest_of(query_ids):
            warnings.warn(
                f"model {model.name!r} was trained on topics of {self.name}, which it ranks now: scores of this run "
                "are no test scores; `srd train --fold 1/5` keeps a fifth for the test",
                stacklevel=2,
            )

    def tell_foreign(self, model: Model) -> None:
        """Warn where these are vectors of another encoder than those that the model was trained on."""
        origins = [*map(read_origin, self.files)]
        origins += [self.generated.origin] if isinstance(self.generated, TopicSet) else []
        if model.vectorizer is None:
            tell_foreign(f"model {model.name!r}", model.metadata, origins)


def topic_stream(source: str) -> TopicStream:
    """The topics that `srd rank` was given.

    Args:
        source: a Parquet file, a folder of such (*.parquet), a pattern ("parts/*.parquet"), or
            "synthetic:PRESET[:TOPICS[:SEED]]", or "words".

    Raises:
        FileNotFoundError: no such file, or no file that matches.
        ValueError: a name that is none of these.
    """
    path = WORDS if source == WORDS.stem else Path(source)
    if path.is_file():
        return TopicStream(name=source, files=(path,))
    pattern = f"{glob.escape(source)}/*.parquet" if path.is_dir() else source
    if not glob.has_magic(pattern):
        return TopicStream(name=source, generated=load_topics(source))
    files = tuple(sorted(file for name in glob.glob(pattern) if (file := Path(name)).is_file()))
    if not files:
        raise FileNotFoundError(f"topics: no file matches {pattern}; expected Parquet files of topics")
    return TopicStream(name=source, files=files)


_CHUNK = 64

Wanted = frozenset[str] | None
Rankings = Iterator[tuple[str, list[str]]]
"""Query ids with the ids of their documents, best first."""


def rank_stream(
    model: Model, topics: Iterable[Topic], k: int, wanted: Wanted, advance: Callable[[int], None]
) -> Rankings:
    """Rank topics, a few at a time.

    Args:
        model: what ranks.
        topics: in any number; they are read as the rankings are taken.
        k: documents a topic.
        wanted: query ids to rank; None ranks all.
        advance: called with the number of topics that were just ranked.

    Raises:
        ValueError: topics without what the model needs, or of several vector widths; or a ranking that is none.
    """
    chosen = (topic for topic in topics if wanted is None or topic.query_id in wanted)
    while chunk := list(islice(chosen, _CHUNK)):
        some = TopicSet(chunk, name="topics")
        some = some if model.vectorizer is None else model.vectorizer.apply(some)
        rankings = checked_rankings(model.ranker.rank_batch(list(some), k), some, model.name, k)
        advance(len(some))
        for topic, ranking in zip(some, rankings, strict=True):
            yield topic.query_id, [topic.doc_ids[i] for i in ranking]


def rank_on_ray(
    load: Callable[[], Model], topics: TopicStream, k: int, wanted: Wanted, advance: Callable[[int], None]
) -> Rankings:
    """Rank the topics of files with Ray Data: its workers read, rank and give back rankings, in the order of the files.

    The files, and a model's folder, must be at the same place on every node. A ranker that draws (random) draws
    something else than without Ray.

    Args:
        load: makes the ranker, at each worker.
        topics: files.
        k: as of `rank_stream`.
        wanted: as of `rank_stream`.
        advance: called with the number of topics that were just ranked.

    Raises:
        ImportError, ConnectionError: as `srd_train.experiment.engines.connected_ray`.
        ValueError: generated topics; or what a worker raised, with its message.
    """
    parts = [{"file": path, "group": group} for path, group in _parts(topics, "--engine ray")]
    ray = connected_ray()
    from ray import data as ray_data

    context = ray_data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    # Workers read the files by our reader, which names a bad row, and not by Ray's.
    ranked = ray_data.from_items(parts).map_batches(
        _PartRanker,
        fn_constructor_args=(load, k, wanted),
        batch_size=1,
        batch_format="pyarrow",
        compute=ray_data.ActorPoolStrategy(min_size=1, max_size=workers),
    )
    try:
        for batch in ranked.iter_batches(batch_size=None, batch_format="pyarrow"):
            query_ids, doc_ids, errors = (batch.column(name).to_pylist() for name in ("query_id", "doc_ids", "error"))
            if told := next(filter(None, errors), None):
                raise ValueError(f"ranking on Ray: {told}")
            advance(batch.num_rows)
            yield from zip(query_ids, doc_ids, strict=True)
    except ray.exceptions.RayError as error:
        raise ValueError(f"ranking on Ray: {error}") from error


def rank_on_processes(
    load: Callable[[], Model], topics: TopicStream, k: int, wanted: Wanted, advance: Callable[[int], None], jobs: int
) -> Rankings:
    """Rank the topics of files in several processes of this machine, a row group at a time, in the order of the files.

    Args:
        load: makes the ranker, in each process.
        topics: files.
        k: as of `rank_stream`.
        wanted: as of `rank_stream`.
        advance: called with the number of topics that were just ranked.
        jobs: processes.

    Raises:
        ValueError: generated topics, or what a process raised.
        RuntimeError: a process ended, as where memory ran out.
    """
    parts, running = iter(_parts(topics, "--jobs")), deque[Future[list[tuple[str, list[str]]]]]()
    context, others = multiprocessing.get_context("spawn"), multiprocessing.active_children()
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_to_rank, initargs=(load, k, wanted))
    try:
        with shielded():
            running += [pool.submit(_rank_part, *part) for part in islice(parts, 2 * jobs)]
        while running:
            pairs = running[0].result()
            with shielded():
                running += [pool.submit(_rank_part, *part) for part in islice(parts, 1)]
            running.popleft()
            advance(len(pairs))
            yield from pairs
    except BrokenProcessPool as error:
        raise RuntimeError("a process that ranked has ended; did memory run out? Fewer --jobs need less") from error
    finally:
        with shielded():
            if running:  # an error or an interrupt: what they rank is not waited for, and they write nothing
                for process in multiprocessing.active_children():
                    if process not in others:
                        process.kill()
            pool.shutdown(cancel_futures=True)


def _parts(topics: TopicStream, who: str) -> list[tuple[str, int]]:
    """The row groups of all files, as whole paths and numbers.

    Raises:
        ValueError: topics that are generated.
    """
    if not topics.files:
        raise ValueError(f"{who} ranks Parquet files, not {topics.name}; write them with `srd data build` first")
    return [(str(path.resolve()), group) for path in topics.files for group in range(count_row_groups(path))]


_ranking: list[Callable[[Iterable[Topic]], Rankings]] = []
"""Ranks in this process, once it has begun."""


def _begin_to_rank(load: Callable[[], Model], k: int, wanted: Wanted) -> None:
    """Prepare a process."""
    begin_worker()
    model = load()
    _ranking.append(lambda topics: rank_stream(model, topics, k, wanted, lambda _: None))


def _rank_part(file: str, group: int) -> list[tuple[str, list[str]]]:
    """The rankings of a row group, in a process."""
    return list(_ranking[0](iter_topics(file, [group])))


class _PartRanker:
    """Worker of Ray Data: row groups of files into rows of rankings."""

    def __init__(self, load: Callable[[], Model], k: int, wanted: Wanted) -> None:
        self._load, self._k, self._wanted = cache(load), k, wanted

    def __call__(self, parts: pa.Table) -> pa.Table:
        """Rank the topics of row groups; `doc_ids` of what comes back are best first."""
        topics = (topic for part in parts.to_pylist() for topic in iter_topics(part["file"], [part["group"]]))
        schema = pa.schema({"query_id": pa.string(), "doc_ids": pa.list_(pa.string()), "error": pa.string()})
        try:
            ranked = rank_stream(self._load(), topics, self._k, self._wanted, lambda _: None)
            rows = [{"query_id": query_id, "doc_ids": doc_ids} for query_id, doc_ids in ranked]
        except (ValueError, OSError) as error:  # As data: what Ray keeps of an error is now and then its text alone.
            rows = [{"error": str(error)}]
        return pa.Table.from_pylist(rows, schema=schema)
