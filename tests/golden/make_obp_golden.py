"""Writes tests/golden/obp-slate.json: slate estimators of Open Bandit Pipeline 0.4.1 on a log of ours.

Run where `obp==0.4.1` is installed: `python tests/golden/make_obp_golden.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from obp.ope import SlateIndependentIPS, SlateRewardInteractionIPS, SlateStandardIPS


def main() -> None:
    """Draw a log of 40 lists of 3, estimate, and write both."""
    rng = np.random.default_rng(7)
    lists, ranks = 40, 3
    log = {
        "propensities": rng.uniform(0.2, 0.9, (lists, ranks)),
        "evaluated": rng.uniform(0.1, 0.9, (lists, ranks)),
        "slot_propensities": rng.uniform(0.2, 0.9, (lists, ranks)),
        "evaluated_slots": rng.uniform(0.1, 0.9, (lists, ranks)),
        "clicks": rng.random((lists, ranks)) < 0.4,
    }
    common = {
        "slate_id": np.repeat(np.arange(lists), ranks),
        "reward": log["clicks"].ravel().astype(float),
        "position": np.tile(np.arange(ranks), lists),
    }
    behind, ahead = log["propensities"], log["evaluated"]
    estimates = {
        "ips": SlateStandardIPS(len_list=ranks).estimate_policy_value(
            **common,
            pscore=np.repeat(behind.prod(axis=1), ranks),
            evaluation_policy_pscore=np.repeat(ahead.prod(axis=1), ranks),
        ),
        "item-position": SlateIndependentIPS(len_list=ranks).estimate_policy_value(
            **common,
            pscore_item_position=log["slot_propensities"].ravel(),
            evaluation_policy_pscore_item_position=log["evaluated_slots"].ravel(),
        ),
        "cascade": SlateRewardInteractionIPS(len_list=ranks).estimate_policy_value(
            **common,
            pscore_cascade=behind.cumprod(axis=1).ravel(),
            evaluation_policy_pscore_cascade=ahead.cumprod(axis=1).ravel(),
        ),
    }
    content = {name: values.tolist() for name, values in log.items()} | {"estimates": estimates}
    Path(__file__).with_name("obp-slate.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
