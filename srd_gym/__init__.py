"""Search result diversification as reinforcement-learning environments.

Importing the package registers the environments with Gymnasium: `gymnasium.make("SRD-v0")`. Where Gymnasium is not
imported yet, they are registered when it is: importing it takes as long as importing numpy, and rankers do without.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from srd_gym.measures import measure
from srd_gym.topic import Topic, TopicSet

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from srd_gym.data import load_topics

__all__ = ["Topic", "TopicSet", "load_topics", "measure"]


def __getattr__(name: str) -> Any:
    """`load_topics` when first asked for: pyarrow, which it reads files with, is slow to import."""
    if name == "load_topics":
        from srd_gym.data import load_topics

        return load_topics
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _register() -> None:
    """Make the environments known to Gymnasium."""
    import gymnasium as gym

    entry_points: dict[str, Any] = {
        "entry_point": "srd_gym.envs.selection:SelectionEnv",
        "vector_entry_point": "srd_gym.envs.selection_vector:SelectionVectorEnv",
    }
    # No max_episode_steps: a time limit would truncate, while the horizon is the task's own end.
    gym.register("SRD-v0", **entry_points)
    # Hands documents out uncopied, which Gymnasium's checker would refuse.
    gym.register("SRD-shared-v0", **entry_points, disable_env_checker=True, kwargs={"share_documents": True})


class _WithGymnasium:
    """A finder of modules (`sys.meta_path`) that registers the environments at the end of Gymnasium's own import."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Gymnasium's own spec, whose loader registers too; None of all other modules."""
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _register()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign] # of this one loader
        return spec


if "gymnasium" in sys.modules:
    _register()
else:
    sys.meta_path.insert(0, _WithGymnasium())
