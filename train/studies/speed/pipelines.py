"""Pipelines for the speed table: `diversify` from arrays, JSON lines, a service, and what an installation takes."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import marshal
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import distribution, requires
from pathlib import Path
from typing import Any

import numpy as np

from srd_agents import diversify
from srd_agents.heuristic.relevance import cosines
from studies.speed.race import MissingError, Work, share, timed
from studies.speed.topics import alike

_F = 384
_CLIENTS, _EACH, _SINGLE = 64, 5, 30
_PAGE = Path(__file__).parents[3] / "docs" / "third_party" / "service.md"
"""The page with the service."""


def diversified(name: str, count: int, query: bool, size: float) -> Work:
    """The ten of some documents by `diversify`, from arrays, against pyversity, which is given the same scores.

    Args:
        name: of the ranker.
        count: documents.
        query: whether `diversify` gets the query's vector and a diversity in place of scores; pyversity's are then
            made by a product of matrices.
        size: share of the full work.

    Raises:
        ImportError: pyversity is not installed.
    """
    import pyversity

    (topic,), strategy = alike(1, count, _F, 0), pyversity.Strategy(name)
    vectors, scores = np.array(topic.doc_vectors), np.array(topic.retrieval_scores)
    asked = np.random.default_rng(1).standard_normal(_F, dtype=np.float32)
    ours = partial(diversify, None, vectors, 10, name, scores)
    if query:
        ours = partial(diversify, asked, vectors, 10, name, diversity=0.5)

    def theirs() -> None:
        given = cosines(asked, vectors) if query else scores
        pyversity.diversify(vectors, given, 10, strategy=strategy, diversity=0.5)

    times = share(size, 50_000 / count)
    return Work(timed(ours, times=times), timed(theirs, times=times))


def _lines(count: int) -> tuple[list[str], list[str]]:
    """JSON lines of 50 documents, their vectors in base64, and as lists of numbers."""
    vectors = np.random.default_rng(0).standard_normal((50, _F), dtype=np.float32)
    forms = ({"float32": base64.b64encode(vectors.tobytes()).decode()}, vectors.tolist())
    about = {"doc_ids": list(map(str, range(50)))}
    packed, listed = (
        [json.dumps({"query_id": str(i)} | about | {"doc_vectors": form}) for i in range(count)] for form in forms
    )
    return packed, listed


def json_lines(size: float) -> Work:
    """Lines of 50 documents read into topics: vectors in base64 against lists of numbers."""
    from srd_train.serving.json_lines import content_of, topic_of

    ours, theirs = (
        timed(partial(lambda line: topic_of(content_of(line)), line), 1, share(size, 200)) for (line,) in _lines(1)
    )
    return Work(ours, theirs)


def ranked_lines(size: float) -> Work:
    """Lines of 50 documents, their vectors in base64, read, ranked by the default and answered."""
    from srd_train.serving.json_lines import rank_lines
    from srd_train.serving.models import load_model

    lines = [
        line.replace('"doc_ids"', f'"retrieval_scores": {list(range(50, 0, -1))}, "doc_ids"')
        for line in _lines(share(size, 1_000))[0]
    ]
    work = partial(rank_lines, load_model("safe", {}), lines, lambda answer: None, 10)
    return Work(timed(work, len(lines)))


def clients(size: float) -> Work:
    """99 in 100 requests of 64 clients at once to the service on its page, against 100 times one request alone.

    By the clock, over HTTP on this machine; the clients and the service are two processes.

    Raises:
        MissingError: the page, fastapi, uvicorn or httpx is not here.
    """
    for name in ("fastapi", "uvicorn", "httpx"):
        if importlib.util.find_spec(name) is None:
            raise MissingError(f"it needs the package {name}")
    if not _PAGE.is_file():
        raise MissingError("it reads the page from the checkout")
    single: list[float] = []

    def ours() -> float:
        with _service() as url:
            alone, together = asyncio.run(_waits(url, share(size, _EACH)))
        single.append(float(np.median(alone)))
        return 1 / float(np.quantile(together, 0.99))

    return Work(ours, lambda: 1 / (100 * single[-1]))


@contextmanager
def _service() -> Iterator[str]:
    """Run the page's service in a process; gives its address."""
    (code,) = re.findall(r"```python\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port), "--log-level", "warning"]
    path = os.pathsep.join(part for part in sys.path if part)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "service.py").write_text(code, encoding="utf-8")
        with subprocess.Popen(words, cwd=folder, env=os.environ | {"PYTHONPATH": path}) as process:
            try:
                deadline = time.monotonic() + 60
                while not _listens(port):
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError("the service does not listen")
                    time.sleep(0.1)
                yield f"http://127.0.0.1:{port}/diversify"
            finally:
                process.terminate()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


async def _waits(url: str, times: int) -> tuple[list[float], list[float]]:
    """Seconds of requests one by one, and of so many of each of the clients at once."""
    import httpx

    vectors = np.random.default_rng(0).standard_normal((50, 64)).round(4)
    asked: dict[str, Any] = {"doc_vectors": vectors.tolist(), "scores": list(range(50, 0, -1)), "diversity": 0.5}
    content, expected = json.dumps(asked), {"indices": diversify(None, **asked).indices.tolist()}

    async def requests(count: int) -> list[float]:
        seconds = []
        async with httpx.AsyncClient(timeout=120, verify=False) as client:
            for _ in range(count):
                start = time.perf_counter()
                answer = await client.post(url, content=content)
                seconds.append(time.perf_counter() - start)
                if answer.json() != expected:
                    raise RuntimeError(f"the service answered {answer.status_code}: {answer.text[:200]}")
        return seconds

    alone = await requests(_SINGLE)
    each = await asyncio.gather(*(requests(times) for _ in range(_CLIENTS)))
    return alone, [seconds for one in each for seconds in one]


def installed() -> float:
    """Megabytes that `pip install srd-gym` puts on the disk, with byte code, for `diversify` and the environments.

    The packages that it needs are measured as they are installed here, this one as its wheel holds it.
    """
    own = Path(__file__).parents[3]
    files = [
        file
        for folder in ("srd_gym", "agents/srd_agents", "train/srd_train")
        for file in (own / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    code = [len(marshal.dumps(compile(file.read_bytes(), file.name, "exec"))) for file in files if file.suffix == ".py"]
    size = sum(code) + sum(file.stat().st_size for file in files)
    for name in _needed("srd-gym") - {"srd-gym"}:
        paths = [path.locate() for path in distribution(name).files or ()]
        size += sum(Path(str(path)).stat().st_size for path in paths if Path(str(path)).is_file())
    return size / 1e6


def _needed(name: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The distribution and all that it needs on this platform without extras."""
    if name in seen:
        return seen
    seen |= {name}
    for need in requires(name) or ():
        marker = need.partition(";")[2]
        if "extra" not in marker and not re.search(r"python_version\s*<|sys_platform|platform_system", marker):
            seen = _needed(re.split(r"[^\w.-]", need.strip(), maxsplit=1)[0].lower(), seen)
    return seen
