"""One exception tree. Catch `UseralignError` for everything this package raises on purpose.

UseralignError
├── InputError (also a ValueError)     something given is not usable; nothing was changed
│   ├── PoolError                      a pool that is empty, misshapen, not finite, ...
│   ├── OptionError                    an option out of its range, or an unknown name
│   ├── AnswerError                    an answer that does not fit the question asked
│   │   └── FeedbackError              a kind of answer that the method cannot use
│   └── FileFormatError                a file that cannot be read as what it should be
├── SessionStateError (also a RuntimeError)   a call out of turn, e.g. tell() before ask()
├── SolverError (also an ArithmeticError)     a numerical routine did not converge
├── MissingExtraError (also an ImportError)   an optional dependency is not installed
├── StoreError                         the database cannot do what was asked
│   ├── NotFoundError                  there is no such thing, or it is somebody else's
│   └── ConflictError                  it was answered already, and otherwise
└── ModelError                         a generator or embedder could not do its work
    ├── ModelUnavailableError          unreachable, not installed, no key, weights not pulled
    │   └── UpstreamError              a service refused what was passed on to it as it is
    └── ModelAnswerError               it answered, but not with anything usable

Every message says what was received, what was expected, and what to do.
"""

from __future__ import annotations

from typing import Any


class UseralignError(Exception):
    """The root of every error that useralign raises on purpose."""


class InputError(UseralignError, ValueError):
    """Something given is not usable. The object it was given to is unchanged."""


class PoolError(InputError):
    """A pool's candidates or features are not usable."""


class ScalingWarning(UserWarning):
    """A pool works, but its features are scaled so badly that it works poorly."""


class OptionError(InputError):
    """An option is out of its range, or a name is not known."""


class AnswerError(InputError):
    """An answer does not fit the comparison that was asked."""


class FeedbackError(AnswerError):
    """The method has no use for this kind of answer."""


class FileFormatError(InputError):
    """A file cannot be read as what it should be."""


class SessionStateError(UseralignError, RuntimeError):
    """A call came out of turn."""


class SolverError(UseralignError, ArithmeticError):
    """A numerical routine did not reach its tolerance."""


class StoreError(UseralignError):
    """The database cannot be reached, or cannot do what was asked."""


class NotFoundError(StoreError):
    """There is no such thing, or it belongs to somebody else; which of the two is not disclosed."""


class ConflictError(StoreError):
    """What was asked contradicts what is recorded; nothing has changed."""


class ModelError(UseralignError):
    """A generator or an embedder could not do its work."""


class ModelUnavailableError(ModelError):
    """The model cannot be reached or loaded."""


class UpstreamError(ModelUnavailableError):
    """A service refused what was passed on to it, in its own words.

    Parameters
    ----------
    status : int
        Of HTTP.
    body : str
        What it said, without our key.
    headers : dict of str
        Those that tell what it is and when to try again.
    """

    def __init__(self, status: int, body: str, headers: dict[str, str]) -> None:
        super().__init__(f"the service behind this one refused (HTTP {status})")
        self.status, self.body, self.headers = status, body, headers


class ModelAnswerError(ModelError):
    """The model answered, but with nothing usable; `usage` is what that used, where it is known."""

    usage: Any = None  # a `useralign.models.Usage`


class MissingExtraError(UseralignError, ImportError):
    """An optional dependency is not installed, which `extra` of this package brings."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'useralign[{extra}]'")
        self.extra = extra
