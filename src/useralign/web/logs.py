"""What the server writes into its log: lines that hold nothing of anybody, and not too many.

The text of an error may hold what somebody wrote, a token or an identifier. So of an error only its
kind is written and where in the code it arose, on one line. Lines that repeat are counted instead.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 10.0  # the same line is written once in this time
MOST_LINES = 100  # and no more different ones
_FRAMES = 6
_OURS = "useralign"


def brief(error: BaseException) -> str:
    """Return the kind of an error, of what caused it, and where it arose; on one line."""
    kinds = [type(error).__name__]
    while (error.__cause__ or error.__context__) is not None and len(kinds) < _FRAMES:
        error = error.__cause__ or error.__context__ or error
        kinds.append(type(error).__name__)
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{Path(frame.filename).stem}:{frame.lineno}" for frame in frames]
    return f"{' from '.join(kinds)} at {' > '.join(places) or 'an unknown place'}"


class OneLine(logging.Formatter):
    """One line per record. Of other libraries' messages only what their authors wrote."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        ours = record.name.partition(".")[0] == _OURS
        text = record.getMessage() if ours else str(record.msg)
        line = f"{record.levelname.lower()}: {(text.splitlines() or [''])[0]}"
        if record.exc_info and record.exc_info[1]:
            line += f": {brief(record.exc_info[1])}"
        repeats = getattr(record, "repeats", 0)
        return f"{line} ({repeats} more like it before)" if repeats else line


class Bounded(logging.Filter):
    """Let a line pass once in a while, and count those in between."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._begun = now()
        self._counts: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._lock = threading.Lock()
        self._format = OneLine().format

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is to be written."""
        line = self._format(record)
        with self._lock:
            if self._now() - self._begun >= SECONDS:
                self._begun, self._before, self._counts = self._now(), self._counts, {}
            count = self._counts.get(line)
            if count is not None:
                self._counts[line] = count + 1
                return False
            if len(self._counts) >= MOST_LINES:
                return False
            self._counts[line] = 0
            record.repeats = self._before.get(line, 0)
        return True


# For `logging.config`, which every worker process applies.
CONFIGURATION: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"one_line": {"()": OneLine}},
    "filters": {"bounded": {"()": Bounded}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "one_line",
            "filters": ["bounded"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"python_multipart": {"level": "ERROR"}},  # its warnings quote what was sent
}
