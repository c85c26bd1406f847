"""The environments' facts on their page are what their rankers get now."""

from __future__ import annotations

import gymnasium as gym
import pytest

import srd_gym
from srd_train.report.markup import markdown
from studies.clicks import TABLES, facts
from studies.results.run import DOCS


def test_the_page_has_the_facts_of_now() -> None:
    rows = list(facts())
    assert markdown(TABLES["facts"][0], rows) in (DOCS / "environments.md").read_text(encoding="utf-8")
    oracle, thresholds = rows[-2], rows[-1]
    for returns, threshold in list(zip(oracle, thresholds, strict=True))[1:3]:
        assert float(threshold) == pytest.approx(0.9 * float(returns), rel=0.01)


def test_the_page_lists_every_id() -> None:
    page = (DOCS / "environments.md").read_text(encoding="utf-8")
    ids = [name for name, spec in gym.registry.items() if str(spec.entry_point).startswith(srd_gym.__name__)]
    assert ids
    for name in ids:
        assert f"| `{name}` | Gymnasium |" in page
        # Of two rewards there is no one number.
        assert (gym.spec(name).reward_threshold is None) == (name == "SRD-MO-v0")
