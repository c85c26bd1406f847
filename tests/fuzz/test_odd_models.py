"""What `srd rank` reads of a model folder besides the ranker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from srd_agents.registry import RANKERS
from srd_agents.storage import CONFIG_FILE
from srd_train.serving.models import load_model, write_heuristic


@pytest.mark.parametrize("ids", [1, "ab", {"a": 1}, [1, 2], ["a", ["b"]], [None]])
def test_test_queries_that_are_no_ids_are_refused(ids: object, tmp_path: Path) -> None:
    spec = RANKERS.find("mmr")
    write_heuristic(tmp_path, spec, {"lambda_": 0.5}, None, {"test_query_ids": ["a"]})
    assert load_model(str(tmp_path)).test_query_ids == ("a",)
    content = json.loads((tmp_path / CONFIG_FILE).read_text())
    content["metadata"]["test_query_ids"] = ids
    (tmp_path / CONFIG_FILE).write_text(json.dumps(content))
    with pytest.raises(
        TypeError, match=r"config\.json: (entry \d of )?test_query_ids must be|test_query_ids must be text"
    ):
        load_model(str(tmp_path))
