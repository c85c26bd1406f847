"""Model cards: the README.md of a trained ranker's folder, as the hub of Hugging Face reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from srd_agents.training.files import ModelInfo
from srd_agents.training.options import check_type
from srd_gym.files import PathLike, written_atomically
from srd_gym.reading import with_type

CARD_FILE = "README.md"


def write_card(folder: PathLike, *, license: str | None = None, tags: Sequence[str] = ()) -> Path:
    """Write the card of a trained ranker into its folder, from what `config.json` records.

    Its front matter holds `library_name`, `tags`, the license where one is given, and the measure of the validation
    topics where one is stored. `huggingface_hub.upload_folder(folder_path=folder, ...)` then publishes the folder.

    Args:
        folder: as `Learner.save` or `srd train --out` writes it.
        license: the hub's id of it ("mit").
        tags: more of them.

    Returns:
        The card.

    Raises:
        FileNotFoundError: no trained ranker there.
        FileExistsError: it has a README.md, which may be somebody's own.
        TypeError: a license or tags that are not text.
        ValueError: as `ModelInfo.read`.
    """
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
        raise TypeError(f"tags must be a list of texts, got {with_type(tags)}")
    check_type("license", license, str | None)
    info, path = ModelInfo.read(folder), Path(folder) / CARD_FILE
    if path.exists():
        raise FileExistsError(f"{path} is there already; delete or rename it to write a new card")
    front = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in _front(info, license, tags))
    with written_atomically(path) as temporary:
        temporary.write_text(f"---\n{front}\n---\n\n{_body(info)}", encoding="utf-8")
    return path


def _front(info: ModelInfo, license: str | None, tags: Sequence[str]) -> list[tuple[str, object]]:
    """The entries of the front matter; JSON is YAML."""
    front: list[tuple[str, object]] = [("library_name", "srd-gym")]
    front.append(("tags", list(dict.fromkeys(["search-result-diversification", info.ranker, *tags]))))
    if license is not None:
        front.append(("license", license))
    history = info.history or {}
    if history.get("best_validation") is not None:
        measure, topics = history["measure"], _topics(info)
        result = {
            "task": {"type": "text-ranking", "name": "search result diversification"},
            "dataset": {"type": topics, "name": f"validation topics of {topics}"},
            "metrics": [{"type": measure, "name": measure, "value": history["best_validation"]}],
        }
        front.append(("model-index", [{"name": info.ranker, "results": [result]}]))
    return front


def _body(info: ModelInfo) -> str:
    """The text below the front matter."""
    origin = info.metadata.get("topic_set") or {}
    marks = f" ({', '.join(origin['marks'])} vectors)" if origin.get("marks") else ""
    options = ", ".join(f"`{name}={json.dumps(value)}`" for name, value in info.config.items())
    packages = ", ".join(f"{name} {version}" for name, version in info.versions.items() if version)
    lines = [
        f"# {info.ranker}",
        f"Ranks search results so that the first ones cover many subtopics of the query: `{info.ranker}` of srd-gym.",
        '```python\nfrom srd_agents import load_ranker\n\nranker = load_ranker("FOLDER")\n```',
        f"- **Vectors**: width {info.vector_width}.\n- **Trained on**: {_topics(info)}{marks}, seed {info.seed}.\n"
        f"- **Options**: {options}.\n- **Made with**: {packages}.",
    ]
    return "\n\n".join(lines) + "\n"


def _topics(info: ModelInfo) -> str:
    """The name of the topics that the folder records."""
    return str((info.metadata.get("topic_set") or {}).get("name") or "topics that are not recorded")
