"""Ask a question, compare a few answers, get the one that fits you.

    import useralign as ua

    pool = ua.Pool.from_texts("What should I cook for dinner tonight?", texts)
    session = ua.Session(pool)
    while (pair := session.ask()) is not None:
        session.tell(pair.first)  # or pair.second: whichever the person likes better
    print(session.best.text)

`Pool.generate` lets a model write the texts; `session.remark("less spicy")` takes a wish in words;
`personalise(question, texts, ask=...)` does all of it in one call.
Exceptions are in `useralign.errors`.

The method is that of "Inference-Time Personalized Alignment with a Few User Preference Queries"
(NeurIPS 2025).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from useralign import errors
from useralign.answers import Answer, Comparison
from useralign.errors import UseralignError
from useralign.methods import Method, list_methods
from useralign.pool import Candidate, Pool
from useralign.session import Session

if TYPE_CHECKING:
    from useralign.one_call import personalise, personalise_async
    from useralign.users import User, simulate

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Candidate",
    "Comparison",
    "Method",
    "Pool",
    "Session",
    "User",
    "UseralignError",
    "list_methods",
    "personalise",
    "personalise_async",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import some names when first used; other exceptions are in `useralign.errors`."""
    if name in ("User", "simulate", "personalise", "personalise_async"):
        from useralign import one_call, users  # noqa: PLC0415 - importing this package stays cheap

        return getattr(one_call if name.startswith("personalise") else users, name)
    if name.endswith("Error") and hasattr(errors, name):
        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
