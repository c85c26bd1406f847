"""The commands that need no torch, where there is none: `make test-minimal` runs this with extra `cli` alone."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from srd_gym.installing import how_to_install

TOPICS = "synthetic:serp:30"


def srd(folder: Path, *words: str, code: int = 0) -> str:
    """Run `srd` as its user would; its standard output, or what it says of an error."""
    program = Path(sys.executable).parent / "srd"
    done = subprocess.run([program, *words], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def test_there_is_no_torch_and_the_package_is_not_the_checkout() -> None:
    assert importlib.util.find_spec("torch") is None
    for name in ("srd_gym", "srd_agents", "srd_train"):
        found = importlib.util.find_spec(name)
        assert found is not None
        assert "site-packages" in str(found.origin)


def test_rank_and_evaluate(tmp_path: Path) -> None:
    qrels = "".join(f"1 {s} d{d} 1\n" for s in (1, 2) for d in range(s, 6, 2))
    (tmp_path / "a.qrels").write_text(qrels)
    (tmp_path / "a.run").write_text("".join(f"1 Q0 d{d} {d} {10 - d} me\n" for d in range(1, 6)))
    told = json.loads(srd(tmp_path, "evaluate", "--qrels", "a.qrels", "--run", "a.run", "--json"))
    assert told["topics"] == 1
    (tmp_path / "b.run").write_text("1 Q0 d2 1 2 me\n1 Q0 d1 2 1 me\n")
    assert "wins / ties / losses" in srd(tmp_path, "compare", "a.run", "b.run", "--qrels", "a.qrels")
    for name in ("mmr", "safe", "relational-pretrained"):
        srd(tmp_path, "rank", name, "--topics", TOPICS, "--k", "5", "--out", f"{name}.run")
        assert len((tmp_path / f"{name}.run").read_text().splitlines()) == 30 * 5


@pytest.mark.parametrize("name", ["r-ltr", "pamm", "listmle", "structsvm", "mmr"])
def test_train_and_rank_by_what_was_trained(name: str, tmp_path: Path) -> None:
    epochs = [] if name == "mmr" else ["--epochs", "1"]
    srd(tmp_path, "train", name, "--topics", TOPICS, "--fold", "1/5", "--out", "model", *epochs)
    srd(tmp_path, "rank", "model", "--topics", TOPICS, "--k", "5", "--out", "model.run")
    assert len((tmp_path / "model.run").read_text().splitlines()) == 6 * 5


def test_a_benchmark_of_what_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(
        'title = "no torch"\nreference = "mmr"\n[[topics]]\nname = "serp"\nsource = "synthetic:serp:30"\nfolds = 3\n'
        + "".join(f'[[rankers]]\nranker = "{name}"\n' for name in ("random", "mmr", "dpp", "oracle"))
        + '[[rankers]]\nranker = "listmle"\nconfig = { epochs = 1 }\n'
    )
    assert "listmle" in srd(tmp_path, "benchmark", "r.toml")


def test_what_needs_torch_says_how_to_get_it(tmp_path: Path) -> None:
    told = srd(tmp_path, "train", "reinforce", "--topics", TOPICS, "--out", "model", code=2)
    assert how_to_install("agents") in told
