"""The command line: one module a command group, imported when it is used.

`main` is the only place where an error becomes a message and an exit code: 1 for anything in
useralign's own error tree, 2 for wrong usage, 130 for Ctrl-C.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import TextIO


def main() -> None:
    """Run the command line."""
    from useralign.cli.app import build
    from useralign.errors import UseralignError

    if not os.environ.get("COLUMNS", "1").strip("0 "):  # no width at all: as if it were not said
        del os.environ["COLUMNS"]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an odd character must not end a session
            stream.reconfigure(errors="replace")
    warnings.showwarning = _show_warning
    try:
        build(whole=sys.argv[1:2] != ["ask"])()
    except UseralignError as error:
        sys.stderr.write(f"useralign: {error}\n")
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"useralign: {where}{error.strerror or error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("\nuseralign: stopped\n")
        sys.exit(130)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Write a warning of ours as errors are written; others with their place in the code."""
    from useralign.errors import ScalingWarning

    text = warnings.formatwarning(message, category, filename, lineno, line)
    ours = issubclass(category, ScalingWarning)
    (file or sys.stderr).write(f"useralign: {message}\n" if ours else text)
