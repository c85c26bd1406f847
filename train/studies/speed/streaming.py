"""Training on a Parquet file whose vectors need not fit into memory: makes one, trains on it and watches the memory.

    python -m studies.speed.streaming FILE TOPICS RANKER [OPTIONS of srd train]

A file that is there already is trained on as it is. Linux only.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from srd_gym.data.parquet import SCHEMA_VERSION, record_batch, schema_of_topics
from srd_gym.data.synthetic import generate
from srd_gym.files import written_atomically

_GROUP = 200
_FIGURES = ("VmHWM", "RssAnon")


def write_large(path: Path, topics: int, *, candidates: int = 100, width: int = 384) -> None:
    """Write generated topics, 200 a row group, with document vectors in half precision."""
    about = {"schema_version": SCHEMA_VERSION, "name": path.stem, "simulated": True}
    schema = schema_of_topics()
    half, vectors = pa.field("doc_vectors", pa.list_(pa.float16())), schema.get_field_index("doc_vectors")
    halved = schema.set(vectors, half).with_metadata({"srd_gym": json.dumps(about)})
    with (
        written_atomically(path) as temporary,
        pq.ParquetWriter(temporary, halved, compression="none", use_dictionary=False, write_statistics=False) as writer,
    ):
        for start in range(0, topics, _GROUP):
            count = min(_GROUP, topics - start)
            made = generate("web", n_topics=count, seed=start, width=width, candidates=(candidates, candidates))
            batch = record_batch(list(made), schema)
            writer.write_batch(batch.set_column(vectors, half, batch.column(vectors).cast(half.type)))


def watched_training(path: Path, ranker: str, *options: str) -> dict[str, float]:
    """Train by the command, in a process of its own.

    Returns:
        Megabytes at the highest: `VmHWM`, all resident memory, mapped files included; `RssAnon`, without them (looked
        at five times a second).

    Raises:
        RuntimeError: the run failed.
    """
    peaks = dict.fromkeys(_FIGURES, 0.0)
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", ranker, "--topics", str(path), "--out", str(Path(folder) / "model"), *options]
        with subprocess.Popen([sys.executable, "-m", "srd_train", *words]) as running:
            status = Path(f"/proc/{running.pid}/status")
            while running.poll() is None:
                for name, kilobytes in re.findall(r"^(\w+):\s+(\d+) kB$", status.read_text(), re.MULTILINE):
                    if name in peaks:
                        peaks[name] = max(peaks[name], int(kilobytes) * 1024 / 1e6)
                time.sleep(0.2)
    if running.returncode != 0:
        raise RuntimeError(f"srd {' '.join(words)} ended with {running.returncode}")
    return peaks


def main(words: list[str]) -> int:
    """Make the file where there is none, train, and print the peaks."""
    if len(words) < 3 or not words[1].isdecimal():
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    path = Path(words[0])
    if not path.exists():
        write_large(path, int(words[1]))
    peaks = watched_training(path, *words[2:])
    print(f"peak {peaks['VmHWM']:,.0f} MB, without mapped files {peaks['RssAnon']:,.0f} MB")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
