"""Rankers as parts of other libraries: one module a library, imported only when asked for.

`langchain`, `haystack`, `llama_index`, `pyterrier` and `sklearn` translate, each into the words and the polarity of its
library, and hold no rule: `ranking` has what they share, and `srd_agents.diversify` ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def library(module: str, distribution: str) -> Iterator[None]:
    """Says what to install where the library that is imported inside is not there.

    Args:
        module: as it is imported.
        distribution: as pip calls it.

    Raises:
        ImportError: it is not there.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != module:
            raise
        raise ImportError(f"this part of srd_agents.integrations needs {module}: pip install {distribution}") from error
