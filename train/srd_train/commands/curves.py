"""`srd curves`: learning curves of a benchmark's results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from srd_gym.names import unknown
from srd_train.commands.options import File
from srd_train.commands.output import Output


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Draw learning curves: the validation measure against environment episodes and against wall time.

    One line a ranker, with the range over its seeds; rankers that do not learn are level lines where their parameters
    were chosen on the validation topics. Both axes of effort are logarithmic; dots at the left edge are the first
    weights, before any episode.

    Examples:
      srd curves results/smoke --out curves.svg
      srd curves results/serp-scoring --out serp.png --rankers qmix reinforce
    """

    results: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """Folder of results, as `srd benchmark` leaves it."""
    out: File
    """The picture to write: a file ending in .png or .svg."""
    rankers: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME...")] = ()
    """Only these, by their names in the tables."""
    json: bool = False
    """Print JSON: the lines' last points."""

    def execute(self, output: Output) -> int:
        """Read, draw, write.

        Raises:
            FileNotFoundError: no results there.
            ValueError: nothing to draw, or a file of another kind.
            ImportError: matplotlib is not installed.
        """
        from srd_train.report.curves import draw, panels
        from srd_train.report.results import read_results

        results = read_results([self.results])
        for problem in results.problems:
            output.notice(f"notice: {problem}")
        found = panels(_chosen(results.records, self.rankers))
        draw(found, self.out)
        if self.json:
            output.data(
                [
                    {
                        "topics": panel.topics,
                        "measure": panel.measure,
                        "against": panel.against,
                        "ends": {curve.ranker: [float(curve.x[-1]), float(curve.mean[-1])] for curve in panel.curves},
                        "levels": dict(panel.levels),
                    }
                    for panel in found
                ]
            )
        else:
            output.notice(f"{self.out}: {len(found)} panels, {sum(len(panel.curves) for panel in found)} curves")
        return 0


def _chosen(records: Sequence[Mapping[str, Any]], rankers: Sequence[str]) -> list[Mapping[str, Any]]:
    """The records of these rankers; all, where none is named."""
    there = {str(record["ranker"]) for record in records}
    for name in rankers:
        if name not in there:
            raise unknown("ranker in the results", name, sorted(there))
    return [record for record in records if not rankers or record["ranker"] in rankers]
