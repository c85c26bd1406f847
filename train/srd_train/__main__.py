"""Entry of the command `srd`: an interrupt while packages are imported, or a missing one, ends in one line."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_SIGNALLED = 128
"""Exit codes above this are of signals."""


def main() -> int:
    """Run the command line of the process.

    Returns:
        The exit code.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name that is not UTF-8, say
    # Before numpy is imported: matrices are small, and beside other programs threads wait longer than they work. `data`
    # may fit vectors on a large collection; `doctor` says what there is.
    if sys.argv[1:2] not in (["data"], ["doctor"]):
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    # The imports take a second or two. An interrupt ends the process at once, as libraries wrap or swallow errors.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    try:
        if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next
            from srd_train.completion import complete

            complete()
        from srd_train.cli import main as run
    except ModuleNotFoundError as error:
        if error.name != "tyro":  # the first that is imported of what the extra brings
            raise
        from srd_gym.installing import how_to_install

        sys.stderr.write(f"error: the command srd needs tyro: {how_to_install('cli')}\n")
        return 2
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
    try:
        code = run()
    except KeyboardInterrupt:  # a second one, while the command says that it was interrupted
        code = _SIGNALLED + signal.SIGINT
    if code > _SIGNALLED:
        # Python would kill itself where an interrupt came while it ran code from text, and Ray aborts the process.
        with contextlib.suppress(OSError):  # nobody reads any more
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    return code


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """End the process."""
    with contextlib.suppress(OSError):
        os.write(2, b"error: interrupted; nothing was begun\n")
    os._exit(_SIGNALLED + number)


if __name__ == "__main__":
    sys.exit(main())
