"""Where the command `srd` begins: an interrupt while the packages are imported ends it as any other does."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line of the process.

    Returns:
        The exit code.
    """
    try:
        from srd_train.cli import main as run  # the imports take a second or two, in which Ctrl-C should not trace back

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted; nothing was begun\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
