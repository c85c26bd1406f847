"""pyarrow, imported when something of it is first used: only Parquet files need it, and nothing else is as large."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from srd_gym.installing import how_to_install

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

__all__ = ["pa", "pc", "pq"]


class _WhenUsed:
    """A module that is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(import_module(self._name), name)
        except ModuleNotFoundError as error:
            raise ImportError(
                'Parquet files (topic files, "words", results) need pyarrow, which is not installed: '
                f"{how_to_install('parquet')}"
            ) from error
        setattr(self, name, value)
        return value


if not TYPE_CHECKING:
    pa, pc, pq = map(_WhenUsed, ("pyarrow", "pyarrow.compute", "pyarrow.parquet"))
