"""What the tuned settings beside this file share: one task, one network, one way to record a curve.

    python tuned_tianshou.py; python tuned_torchrl.py; python tuned_rllib.py; python tuned_benchmarl.py; python tuned.py

Each trains with one library and writes its curves into a folder; this file makes a table and a figure of them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import srd_gym
from srd_agents import make_ranker
from srd_gym.measures import evaluate

FOLD = srd_gym.load_topics("synthetic:serp:1000:90371").folds(5, seed=0)[0]
"""That of `srd benchmark curves`; the settings were chosen on topics of another seed."""
TASK = {"topics": FOLD.train, "reward": "alpha_nDCG@10", "horizon": 10}
"""Of `gym.make("srd_gym:SRD-v0", **TASK)`: the return is the measure that the curves show."""


@dataclass
class Args:
    """What can be set on the command line."""

    steps: int = 24_000
    """Environment steps of each training: ten are a list."""
    every: int = 3_000
    """Steps between two points of a curve."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """One training each."""
    out: Path = Path("curves")
    """Folder of the curves."""
    page: Path = Path("curves.md")
    """Of `tuned.py`: where the table goes; the figure goes beside it."""


def arguments() -> Args:
    """The options of the command line."""
    parser = argparse.ArgumentParser()
    for name, value in vars(Args()).items():
        several = {"nargs": "+", "type": int} if isinstance(value, tuple) else {"type": type(value)}
        parser.add_argument(f"--{name}", default=value, **several)
    return Args(**vars(parser.parse_args()))


class Network(nn.Module):
    """Scores every candidate with the same weights, by the query, itself and what is ranked already.

    Shapes: ... batch, N candidates, F vector width, K horizon.
    """

    def __init__(self, width: int = FOLD.train.vector_width, hidden: int = 64) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3 * width + 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.score, self.value = nn.Linear(hidden, 1), nn.Linear(hidden, 1)

    def forward(self, seen: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores [..., N], a billion below the others where masked, and the value [...] of where we are."""
        documents, mask = seen["documents"], seen["action_mask"].bool()
        ranked = (seen["ranking"][..., None] == torch.arange(documents.shape[-2])).any(-2)  # [..., N]
        alike = (documents @ documents.mT).masked_fill(~ranked[..., None, :], 0).amax(-1, keepdim=True)
        parts = [documents, seen["retrieval_scores"][..., None], alike]
        for part in (seen["query"], (documents * ranked[..., None]).sum(-2)):
            parts.append(part[..., None, :].expand_as(documents))
        hidden = self.body(torch.cat(parts, -1))
        scores = self.score(hidden).squeeze(-1).masked_fill(~mask, -1e9)
        return scores, self.value(hidden.mean(-2)).squeeze(-1)

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        """The best action of each of B observations."""
        return self({name: torch.from_numpy(part) for name, part in observation.items()})[0].argmax(-1).numpy()


@torch.no_grad()
def validate(act: Callable[[dict[str, np.ndarray]], np.ndarray]) -> float:
    """Mean alpha_nDCG@10 of the test topics, each ranked once."""
    topics = FOLD.test
    envs = gym.make_vec(
        "srd_gym:SRD-v0", num_envs=len(topics), vectorization_mode="vector_entry_point", **TASK | {"topics": topics}
    )
    observation, _ = envs.reset(options={"query_ids": list(topics.query_ids)})
    total = 0.0
    for _ in range(TASK["horizon"]):
        observation, reward, *_ = envs.step(act(observation))
        total += reward.mean()
    return float(total)


class Curve:
    """A training's points so far; call it as often as you like."""

    def __init__(self, args: Args) -> None:
        self.args, self.points, self.began, self.spent = args, [], time.process_time(), 0.0

    def __call__(self, steps: int, act: Callable[[dict[str, np.ndarray]], np.ndarray], of: Any = validate) -> None:
        """Take the mean of the test topics where a point is due; nothing is chosen by it."""
        if steps >= self.args.every * len(self.points):
            before = time.process_time()
            self.points.append((steps, of(act)))
            self.spent += time.process_time() - before


def record(library: str, trainings: dict[str, Callable[[int, int, Curve], None]], horizon: int = 10) -> None:
    """Train once a seed with each algorithm of a library, as the command line says, and write the curves.

    Args:
        library: its name.
        trainings: algorithm -> (steps, seed, curve) -> trained.
        horizon: steps of an episode.
    """
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    for algorithm, train in trainings.items():
        curves, seconds = [], []
        for seed in args.seeds:
            np.random.seed(seed)  # noqa: NPY002 - libraries draw from it
            torch.manual_seed(seed)
            torch.set_num_threads(1)
            curve = Curve(args)
            train(args.steps, seed, curve)
            curves.append(curve.points)
            seconds.append(time.process_time() - curve.began - curve.spent)
            print(library, algorithm, seed, curve.points[-1], f"{seconds[-1]:.0f} s", flush=True)  # noqa: T201
        content = {"library": library, "algorithm": algorithm, "curves": curves, "seconds": float(np.median(seconds))}
        content["lists"] = round(curves[0][-1][0] / horizon)
        (args.out / f"{library}-{algorithm}.json").write_text(json.dumps(content))


def lines() -> dict[str, float]:
    """What needs no training, on the validation topics; MMR's lambda is the best one on the training topics."""

    def value(ranker: Any, topics: srd_gym.TopicSet) -> float:
        rankings = dict(zip(topics.query_ids, ranker.rank_batch(topics, 10), strict=True))
        return float(evaluate(topics, rankings, ["alpha_nDCG@10"]).measures["alpha_nDCG@10"])

    mmr = max((make_ranker("mmr", lambda_=share / 10) for share in range(11)), key=lambda one: value(one, FOLD.train))
    return {"random": value(make_ranker("random"), FOLD.test), "MMR": value(mmr, FOLD.test)}


def main(args: Args) -> None:
    """Write a figure of the curves and a table into the page, beside each other."""
    import matplotlib

    matplotlib.rcParams |= {"svg.hashsalt": "curves", "font.size": 9}
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=(8, 4.2))
    rows = [
        "| library | algorithm | alpha_nDCG@10 | sd over seeds | seeds | lists | CPU seconds |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    found = [json.loads(path.read_text()) for path in args.out.glob("*.json")]
    untrained = lines()
    for one in sorted(found, key=lambda one: -np.mean(one["curves"], axis=0)[-1, 1]):
        every = np.array(one["curves"])  # [seeds, points, 2]
        steps, values = every[0, :, 0], every[:, :, 1]
        end, spread = values[:, -1].mean(), f"{values[:, -1].std(ddof=1):.3f}" if len(values) > 1 else "-"
        cells = (one["library"], one["algorithm"], f"{end:.3f}", spread, len(values), f"{one['lists']:,}")
        rows.append(f"| {' | '.join(map(str, cells))} | {one['seconds']:.0f} |")
        line = "-" if "PPO" in one["algorithm"] else "--"
        lists = steps * one["lists"] / steps[-1]
        (drawn,) = axes.plot(lists, values.mean(0), label=f"{one['library']} {one['algorithm']}", linestyle=line)
        axes.fill_between(lists, values.min(0), values.max(0), color=drawn.get_color(), alpha=0.15, linewidth=0)
    for (name, value), color in zip(untrained.items(), ("0.6", "0.2"), strict=True):
        axes.axhline(value, color=color, linestyle=":", label=name)
        rows.append(f"| - | {name} | {value:.3f} | - | - | - | - |")
    axes.set(xlabel="lists shown in training", ylabel="test alpha_nDCG@10")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    pyplot.savefig(args.page.with_suffix(".svg"), bbox_inches="tight", metadata={"Date": None})
    before, _, rest = args.page.read_text().partition("<!-- tuned: begin -->\n")
    after = rest.partition("<!-- tuned: end -->")[2]
    table = "\n".join(rows)
    args.page.write_text(f"{before}<!-- tuned: begin -->\n{table}\n<!-- tuned: end -->{after}")


if __name__ == "__main__":
    main(arguments())
