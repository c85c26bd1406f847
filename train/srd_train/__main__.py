"""Where the command `srd` begins: an interrupt while packages are imported, or a missing one, ends in one line."""

from __future__ import annotations

import contextlib
import io
import os
import sys

_SIGNALLED = 128
"""Exit codes above this are of signals."""


def main() -> int:
    """Run the command line of the process.

    Returns:
        The exit code.
    """
    _prepare_streams()
    try:
        from srd_train.cli import main as run  # the imports take a second or two, in which Ctrl-C should not trace back

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted; nothing was begun\n")
        return 130
    except ModuleNotFoundError as error:
        if error.name != "tyro":  # the first that is imported of what the extra brings
            raise
        sys.stderr.write('error: the command srd needs tyro: pip install "srd-gym[train]"\n')
        return 2
    if code > _SIGNALLED and "ray" in sys.modules:
        # Ray that was stopped while it started aborts the process as Python ends; its own processes end with this one.
        with contextlib.suppress(OSError):  # nobody reads any more
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    return code


def _prepare_streams() -> None:
    """Give the process the standard streams that it was started without (`srd ... >&-`): they lead nowhere.

    Files that are opened would get their numbers else, and whatever a library prints would go into them. What standard
    output cannot show (a file's name that is not UTF-8) is escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - the process's own until it ends
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
