"""One call for bots and forms: a function of yours shows the screens, the session comes back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from useralign.errors import AnswerError
from useralign.pool import Candidate, Pool
from useralign.session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from useralign.answers import Comparison
    from useralign.memory import Memory

    Reply = Candidate | str | int
    Candidates = Pool | Sequence[Candidate | str] | None

# What may be said of a screen besides which one is best.
WORDS = ("neither", "equal", "skip", "undo", "stop")


def personalise(
    question: str,
    candidates: Candidates = None,
    *,
    ask: Callable[[Comparison], Reply],
    memory: Memory | None = None,
    model: Any = None,
    **options: Any,
) -> Session:
    """Ask somebody a few screens by a function, and return the session at its end.

    Parameters
    ----------
    question : str
    candidates : sequence of str or Candidate, or Pool, optional
        What to choose from; when not given, a model writes it (`Pool.generate`).
    ask : callable
        Gets a screen (`screen.candidates` are on it) and returns the choice: a candidate, its text
        or id, or its index in the pool; or "neither", "equal", "skip", "undo", or "stop" for
        enough.
    memory : Memory, optional
        What is known of the person; `memory.with_session(session)` learns from the outcome.
    model : str, Path or Generator, optional
        Who writes the candidates, as for `Pool.generate`.
    **options
        As for `Session.few`: `seed=`, `budget=`, `per_screen=`.

    Returns
    -------
    Session
        `best` is the answer, `shortlist` has two more.

    Raises
    ------
    AnswerError
        If `ask` returned something else.

    Examples
    --------
    >>> import useralign as ua
    >>> texts = ["Hot chilli tofu", "Beef stew", "Pea soup", "Spicy noodles"]
    >>> session = ua.personalise("Dinner?", texts, ask=lambda screen: screen.first)
    >>> session.best.text in texts
    True
    """
    session = _begin(question, candidates, memory, model, options)
    while (screen := session.ask()) is not None:
        _tell(session, screen, ask(screen))
    return session


async def personalise_async(
    question: str,
    candidates: Candidates = None,
    *,
    ask: Callable[[Comparison], Awaitable[Reply]],
    memory: Memory | None = None,
    model: Any = None,
    **options: Any,
) -> Session:
    """Ask somebody a few screens by a coroutine function; see `personalise`.

    What computes runs in a thread, so that one event loop can serve many people.
    """
    session = await asyncio.to_thread(_begin, question, candidates, memory, model, options)
    while (screen := await asyncio.to_thread(session.ask)) is not None:
        await asyncio.to_thread(_tell, session, screen, await ask(screen))
    return session


def _begin(
    question: str,
    candidates: Candidates,
    memory: Memory | None,
    model: Any,
    options: dict[str, Any],
) -> Session:
    if candidates is None:
        pool = Pool.generate(question, model)
    elif isinstance(candidates, Pool):
        pool = candidates
    else:
        pool = Pool.from_texts(question, candidates)
    if memory is not None and (prior := memory.prior_for(pool)) is not None:
        options = {"prior": prior, **options}
    return Session.few(pool, **options)


def _tell(session: Session, screen: Comparison, reply: Reply) -> None:
    """Take in what somebody said of a screen."""
    if not isinstance(reply, str):
        session.tell(reply)
        return
    for candidate in screen.candidates:
        if reply in (candidate.label, candidate.text):
            session.tell(candidate)
            return
    if reply not in WORDS:
        raise AnswerError(
            f"ask returned {reply!r:.80}; expected one of screen.candidates, its text or id, or "
            f"{', '.join(map(repr, WORDS))}"
        )
    if reply != "undo" or session.answers:  # before the first answer the screen is asked again
        getattr(session, reply)()
