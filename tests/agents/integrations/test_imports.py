"""Other libraries are imported only when asked for, and missed with the name to install."""

from __future__ import annotations

import subprocess
import sys

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


def test_a_missing_library_is_named() -> None:
    code = """if True:
        import importlib, sys
        for name, (module, distribution) in %r.items():
            sys.modules[module] = None
            try:
                importlib.import_module(f"srd_agents.integrations.{name}")
            except ImportError as error:
                print(error)"""
    said = subprocess.run([sys.executable, "-c", code % LIBRARIES], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        f"this part of srd_agents.integrations needs {module}: pip install {distribution}"
        for module, distribution in LIBRARIES.values()
    ]
