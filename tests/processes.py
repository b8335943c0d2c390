"""`useralign ARGS`, or a program in Python, in real processes that start at once.

A new interpreter spends a second on imports before a server answers. So one process per test
worker imports everything, and the processes that tests talk to, press keys in and kill are forked
from it: each has a life, a session and a process group of its own, and begins with `main`.
What is tested about starting itself uses `tests.commands.run_apart`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import types
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preloaded"])


class Command:
    """A process that runs `useralign ARGS`.

    Parameters
    ----------
    args : str
        The words after `useralign`; or `"-c"` and a program in Python, as after `python -W error`.
    environment : mapping, optional
        All its environment variables; by default those of this process.
    terminal : str, optional
        The path of the terminal that it is run in; without one, nothing can be typed, and what
        it prints is read from `output`.
    folder : Path, optional
        Where it is run; by default where this process is.
    errors : bool
        Whether `output` has what is printed as errors as well.
    """

    def __init__(
        self,
        *args: str,
        environment: Mapping[str, str] | None = None,
        terminal: str | None = None,
        folder: Path | None = None,
        errors: bool = False,
    ) -> None:
        reader, writer = _CONTEXT.Pipe(duplex=False)
        state = (args, dict(environment or os.environ), str(folder or Path.cwd()))
        streams = {"terminal": terminal, "errors": errors}
        self._process = _CONTEXT.Process(target=_begin, args=(*state, writer), kwargs=streams)
        self._process.start()
        writer.close()
        with reader:
            self.output = os.fdopen(os.dup(reader.fileno()), encoding="utf-8")

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process.pid is not None
        return self._process.pid

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.kill(self.pid, signal.SIGINT)

    def kill(self) -> None:
        """End it as a power cut would, with all that it started: no warning, no clean-up."""
        if self._process.exitcode is None:
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        """Wait until it has ended; return its exit code, or minus the signal that ended it."""
        self._process.join()
        self.output.close()
        assert self._process.exitcode is not None
        return self._process.exitcode


def _begin(
    args: tuple[str, ...],
    environment: dict[str, str],
    folder: str,
    output: Connection,
    *,
    terminal: str | None,
    errors: bool,
) -> None:
    """Put on the process what an interpreter finds when it starts, and run the command."""
    os.setsid()
    threading.Thread(target=_end_with_the_tests, daemon=True).start()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if terminal is None:
        streams = {0: os.open(os.devnull, os.O_RDONLY), 1: output.fileno()}
        streams |= {2: output.fileno()} if errors else {}
    else:  # the first terminal that the leader of a session opens is its own
        streams = dict.fromkeys(range(3), os.open(terminal, os.O_RDWR))
    for number, source in streams.items():
        os.dup2(source, number)
    output.close()
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", closefd=False)
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    if args[0] == "-c":
        warnings.simplefilter("error")
        program = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(args[1], vars(program))  # noqa: S102 - code of our own pages
    else:
        from useralign.cli import main

        sys.argv = ["useralign", *args]
        main()


def _end_with_the_tests() -> None:
    """Outlive no run of the tests, not even one that was interrupted."""
    tests = multiprocessing.parent_process()
    assert tests is not None
    tests.join()
    os.killpg(os.getpid(), signal.SIGKILL)
