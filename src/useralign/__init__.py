"""Ask a question, compare a few answers, get the one that fits you.

    import useralign as ua

    pool = ua.Pool.from_texts("What should I cook for dinner tonight?", texts)
    session = ua.Session(pool)
    while (pair := session.ask()) is not None:
        session.tell(pair.first)  # or pair.second: whichever the person likes better
    print(session.best.text)

The method is that of "Inference-Time Personalized Alignment with a Few User Preference Queries"
(NeurIPS 2025).
"""

from typing import TYPE_CHECKING, Any

from useralign.answers import Answer, Comparison
from useralign.errors import (
    AnswerError,
    FeedbackError,
    FileFormatError,
    InputError,
    MissingExtraError,
    ModelError,
    OptionError,
    PoolError,
    SessionStateError,
    SolverError,
    UseralignError,
)
from useralign.methods import Method, list_methods
from useralign.pool import Candidate, Pool
from useralign.session import Session

if TYPE_CHECKING:
    from useralign.users import User, simulate

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AnswerError",
    "Candidate",
    "Comparison",
    "FeedbackError",
    "FileFormatError",
    "InputError",
    "Method",
    "MissingExtraError",
    "ModelError",
    "OptionError",
    "Pool",
    "PoolError",
    "Session",
    "SessionStateError",
    "SolverError",
    "User",
    "UseralignError",
    "list_methods",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import `User` and `simulate` when they are used: simulated people need more than sessions."""
    if name not in ("User", "simulate"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from useralign import users  # noqa: PLC0415 - lazily, so that importing useralign is cheap

    return getattr(users, name)
