"""Where the command `srd` begins: an interrupt while the packages are imported ends it as any other does."""

from __future__ import annotations

import contextlib
import os
import sys

_SIGNALLED = 128
"""Exit codes above this are of signals."""


def main() -> int:
    """Run the command line of the process.

    Returns:
        The exit code.
    """
    try:
        from srd_train.cli import main as run  # the imports take a second or two, in which Ctrl-C should not trace back

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted; nothing was begun\n")
        return 130
    if code > _SIGNALLED and "ray" in sys.modules:
        # Ray that was stopped while it started aborts the process as Python ends; its own processes end with this one.
        with contextlib.suppress(OSError):  # nobody reads any more
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
