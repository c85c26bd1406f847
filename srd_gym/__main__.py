"""`python -m srd_gym`: where to go."""

from __future__ import annotations

import sys

from srd_gym.installing import how_to_install


def main() -> int:
    """Say that the package is imported, and what the command is.

    Returns:
        The exit code.
    """
    sys.stdout.write(
        'srd_gym is a library: import srd_gym; gymnasium.make("srd_gym:SRD-v0", topics="words").\n'
        f"The command is srd ({how_to_install('cli')}): srd --help.\n"
        "README.md and docs/index.md lead to everything else.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
