"""Other libraries are imported only when asked for, and missed with the name to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIBRARIES = {
    "langchain": ("langchain_core", "langchain-core"),
    "haystack": ("haystack", "haystack-ai"),
    "llama_index": ("llama_index", "llama-index-core"),
    "pyterrier": ("pyterrier", "python-terrier"),
    "sklearn": ("sklearn", "scikit-learn"),
}


def test_nothing_is_imported_unasked() -> None:
    code = "import sys, srd_agents.integrations, srd_agents.integrations.ranking; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "srd_agents.integrations.ranking" in loaded
    assert not {"torch", *(module for module, _ in LIBRARIES.values())} & set(loaded)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_missing_library_is_named(name: str) -> None:
    module, distribution = LIBRARIES[name]
    code = f"import sys; sys.modules[{module!r}] = None; import srd_agents.integrations.{name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    expected = f"ImportError: this part of srd_agents.integrations needs {module}: pip install {distribution}"
    assert done.stderr.rstrip().endswith(expected)
