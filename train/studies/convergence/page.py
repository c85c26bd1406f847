"""Tables and pages of a convergence comparison: our figures beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from srd_train.report.markup import markdown
from srd_train.report.topic_statistics import shown
from studies.convergence.effort import EFFORTS, SHARES, Effort, End, Quality, Ratio, Reached, SetConvergence, Spread
from studies.convergence.episode_costs import CANDIDATES, WIDTH, EpisodeCost

PUBLISHED: Mapping[str, tuple[float, float]] = {
    "ntn-div": (0.4617, 0.5),
    "mdp-div": (0.4874, 65),
    "mdp-div-knn10": (0.4915, 43),
    "mdp-div-knn20": (0.4869, 25),
    "mdp-div-knn30": (0.4844, 16),
    "mdp-div-ntn-d": (0.4912, 26),
    "mdp-div-ntn-e": (0.4937, 53),
}
"""Registry name -> (alpha_nDCG@10 on TREC, hours of training), as published: Liu et al. 2018, Table 1."""
PUBLISHED_SETS = "trec-rl4srd"
"""The published figures are of this candidate set, with document vectors that are not ours."""

_NAMES: Mapping[Quality, str] = {"return": "training return", "validation": "validation"}


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table as text."""

    title: str
    heads: tuple[str, ...]
    rows: list[list[str]]
    note: str = ""

    def as_markdown(self) -> str:
        """In Markdown, under its title."""
        return "\n\n".join(filter(None, (f"**{self.title}**", markdown(self.heads, self.rows), self.note)))


def all_tables(found: Sequence[SetConvergence], costs: Sequence[EpisodeCost]) -> list[Table]:
    """Speed-ups at a glance, then each topic set's ends and levels, then where the time goes."""
    tables = [speed_table(found)]
    for one in found:
        tables.append(end_table(one))
        tables += [level_table(one, quality) for quality in _NAMES if any(r.quality == quality for r in one.reached)]
    return [*tables, cost_table(costs)]


def speed_table(found: Sequence[SetConvergence]) -> Table:
    """The papers' claim and ours: how much faster each ranker reaches 90% of what the unpruned policy gains."""
    share = SHARES[-1]
    published = _is_published(found)
    rows = []
    for one in found:
        for quality, name in _NAMES.items():
            lines = [r for r in one.reached if r.quality == quality and r.share == share]
            for line in lines:
                if line.ranker in one.references.values():
                    continue
                claim = [_claim(_end(one, line.ranker)) if _is_published([one]) else "-"] if published else []
                ratios = [_ratio(line.ratio[effort]) for effort in EFFORTS]
                rows.append([one.topics, name, line.ranker, *claim, f"{line.reached} of {line.runs}", *ratios])
    heads = ("topics", "quality", "ranker", *(("hours, published",) if published else ()), "came there")
    unlearned = [
        f"{one.topics}, {name}, {_NAMES[quality]}"
        for one in found
        for name, several in one.unlearned.items()
        for quality in several
    ]
    note = (
        "What the unpruned policy needed, divided by what the ranker needed: above 1 the ranker is faster. 95% "
        "intervals by bootstrap over the pairs of runs (same fold, same seed) of which both came there; runs of one "
        "fold share topics, so they are rather too narrow. A dash: no pair came there."
    )
    if unlearned:
        note += f" No levels, as the unpruned policy rises by less than a tenth: {'; '.join(unlearned)}."
    return Table(
        title=f"Speed-up at equal quality ({share:.0%} of what the unpruned policy gains)",
        heads=(*heads, "episodes", "evaluations", "processor time"),
        rows=rows,
        note=note,
    )


def end_table(one: SetConvergence) -> Table:
    """The papers' table: the measure at the end and what it cost, beside the published figures."""
    published = _is_published([one])
    rows = []
    for end in one.ends:
        claim = [*_published(end)] if published else []
        rows.append(
            [
                end.ranker,
                _spread(end.test),
                *claim,
                _spread(end.validation),
                f"{_mean(end.first_return)} to {_spread(end.last_return, 2)}" if end.last_return else "-",
                _count(end.effort["episodes"]),
                _count(end.effort["evaluations"]),
                shown(end.effort["cpu_seconds"], ".1f"),
                _of_own(end),
            ]
        )
    extra = (f"{one.measure}, published", "hours, published") if published else ()
    return Table(
        title=f"{one.topics}: after all epochs ({one.full_name}, ideal of the {one.normalizer})",
        heads=(
            "ranker",
            f"{one.measure}, test",
            *extra,
            "best validation",
            "training return, first to last",
            "episodes",
            "evaluations",
            "processor seconds",
            f"to {SHARES[-1]:.0%} of its own gain",
        ),
        rows=rows,
        note=f"Mean ± standard deviation over runs: folds {_list(one.folds)}, seeds {_list(one.seeds)}. "
        "Processor seconds are those of updates, and of NTN-DIV's training where there is one, without validation. "
        "The last column is about the training return; a dash: it rose by less than a tenth in some run."
        + (" Published: Liu et al. 2018, Table 1, with other vectors." if published else ""),
    )


def level_table(one: SetConvergence, quality: Quality) -> Table:
    """What the levels of a quality cost."""
    rows = []
    for line in one.reached:
        if line.quality != quality:
            continue
        costs = [_cost(line, effort) for effort in EFFORTS]
        ratios = [_ratio(line.ratio[effort]) for effort in EFFORTS]
        rows.append(
            [line.ranker, f"{line.share:.0%} ({line.level:.3f})", f"{line.reached} of {line.runs}", *costs, *ratios]
        )
    what = "training return" if quality == "return" else f"{one.measure} on validation topics"
    return Table(
        title=f"{one.topics}: time to quality, {what}",
        heads=(
            "ranker",
            "level",
            "came there",
            "episodes",
            "evaluations",
            "processor seconds",
            "speed-up: episodes",
            "evaluations",
            "processor time",
        ),
        rows=rows,
    )


def cost_table(costs: Sequence[EpisodeCost]) -> Table:
    """Where an episode's time goes."""
    rows = []
    for cost in costs:
        plain = next(c for c in costs if c.pruning is None and (c.policy, c.topics) == (cost.policy, cost.topics))
        rows.append(
            [
                cost.policy,
                f"{cost.topics} x {cost.rollouts}",
                cost.pruning or "none",
                f"{cost.evaluations:,.0f}",
                *(f"{part:.3f}" for part in (cost.project, cost.simulate, cost.act, cost.learn, cost.total)),
                f"{cost.evaluate:.3f}",
                f"{plain.total / cost.total:.2f}",
            ]
        )
    return Table(
        title=f"Where the time of an episode goes, milliseconds (N = {CANDIDATES}, F = {WIDTH}, ten ranks)",
        heads=(
            "policy",
            "topics x episodes",
            "pruning",
            "evaluations",
            "products, once a topic",
            "simulator and mask",
            "gather, evaluate, draw",
            "learn",
            "total",
            "evaluating alone",
            "speed-up",
        ),
        rows=rows,
        note="Processor time of one thread, the least of several rounds in which the cases take turns. Learning "
        "gathers and evaluates once more, with gradients. Evaluating alone is what acting spends on the policy itself, "
        "once all is gathered: only this shrinks with the candidates.",
    )  # fmt: skip


def _is_published(found: Sequence[SetConvergence]) -> bool:
    """Whether published figures belong beside these: the papers' rankers under their own names, on their candidates."""
    pruned = PUBLISHED.keys() - {"mdp-div", "ntn-div"}
    return any(one.full_name.startswith(PUBLISHED_SETS) and any(e.ranker in pruned for e in one.ends) for one in found)


def _end(one: SetConvergence, ranker: str) -> End:
    """A ranker's end."""
    return next(end for end in one.ends if end.ranker == ranker)


def _published(end: End) -> tuple[str, str]:
    """The published figures of a ranker."""
    if end.registry_name not in PUBLISHED:
        return "-", "-"
    value, hours = PUBLISHED[end.registry_name]
    return f"{value:.4f}", f"{hours:g}"


def _claim(end: End) -> str:
    """The published speed-up in hours."""
    if end.registry_name not in PUBLISHED:
        return "-"
    hours = PUBLISHED["mdp-div"][1]
    return f"{hours:g} / {PUBLISHED[end.registry_name][1]:g} = {hours / PUBLISHED[end.registry_name][1]:.1f}"


def _of_own(end: End) -> str:
    """What a ranker's own convergence cost: episodes, evaluations and seconds."""
    episodes, evaluations, seconds = (end.own[effort] for effort in EFFORTS)
    if episodes is None or evaluations is None or seconds is None:
        return "-"
    return f"{_count(episodes.mean)} episodes, {_count(evaluations.mean)} evaluations, {seconds.mean:.1f} s"


def _ratio(ratio: Ratio | None) -> str:
    """A speed-up with its interval."""
    return "-" if ratio is None else f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _cost(line: Reached, effort: Effort) -> str:
    """What a level cost, mean and deviation."""
    spread = line.cost[effort]
    if spread is None:
        return "-"
    if effort == "cpu_seconds":
        return _spread(spread, 2)
    return _count(spread.mean) + ("" if spread.deviation is None else f" ± {_count(spread.deviation)}")


def _spread(spread: Spread | None, digits: int = 4) -> str:
    """Mean and deviation."""
    if spread is None:
        return "-"
    return f"{spread.mean:.{digits}f}" + ("" if spread.deviation is None else f" ± {spread.deviation:.{digits}f}")


def _mean(spread: Spread | None) -> str:
    """The mean alone."""
    return "-" if spread is None else f"{spread.mean:.2f}"


def _count(value: float | None) -> str:
    """A number of things: 950, 12k, 3.4M."""
    if value is None:
        return "-"
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    if value >= 1e4:
        return f"{value / 1e3:.3g}k"
    return f"{value:,.0f}"


def _list(values: Sequence[int]) -> str:
    """Numbers in words: 1 to 5, or 1, 3."""
    if len(values) > 2 and list(values) == list(range(values[0], values[-1] + 1)):
        return f"{values[0]} to {values[-1]}"
    return ", ".join(map(str, values))
