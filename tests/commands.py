"""The command line for the tests: in this process, or in one of its own.

Most tests want to know what a command prints and how it ends. `run` calls the command's own
`main` for that, without the half second that a new interpreter takes. `run_apart` starts a real
process, for what only a process shows: that nothing else is printed, imports, environments.
Keys are pressed in a `tests.cli.terminal.Terminal`.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from useralign.cli import main

Done = subprocess.CompletedProcess[str]


def run(*args: str, **env: str) -> Done:
    """Run `useralign ARGS` in this process, with nobody at a terminal.

    Errors outside useralign's own tree, which would be tracebacks, are raised.
    """
    output, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, Path(os.devnull).open(encoding="utf-8") as nobody:
        for name, value in env.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["useralign", *args])
        patch.setattr(sys, "stdin", nobody)
        patch.setattr(sys, "stdout", output)
        patch.setattr(sys, "stderr", errors)
        code = _exit_code()
    return Done(["useralign", *args], code, _text(output), _text(errors))


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def run_apart(*args: str, **env: str) -> Done:
    """Run `useralign ARGS` in a process of its own, with nobody at a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "useralign.cli", *args],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | env,
        timeout=60,
        check=False,
    )


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")
