"""Sessions that were rebuilt lately, so that a request need not replay what is long known.

They are a cache of this process and nothing more: what is found here is what a replay would give,
or is not used. Steps are only ever added to a session, so that its newest one, as the database has
it, tells whether the cached session is up to date; an earlier one is caught up with by what was
answered since.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from useralign.session import Session

STATES = 3  # of one session: the newest, and those that taking back leads to
# All pools' candidates and dimensions together. A method keeps up to about a thousand numbers for
# each of them, some in every state: 200 MB at most.
ROOM = 8192


class State(NamedTuple):
    """A session after some of its steps."""

    session_id: str
    pool_id: str
    # What tells its newest step from any other: the screen, and when it was first shown.
    newest: Hashable
    answers: list[Any]  # those in force, as a session saves them
    stopped: bool
    session: Session  # never changed: whoever needs it takes a copy


class Rebuilt:
    """The sessions of a database that were used last, by their ids; threads may share it."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._used = 0
        self._states: OrderedDict[str, list[State]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, session_id: str) -> Sequence[State]:
        """Return the states of a session, the newest first."""
        with self._lock:
            if session_id in self._states:
                self._states.move_to_end(session_id)
            return tuple(self._states.get(session_id, ()))

    def add(self, state: State) -> None:
        """Add a state of a session, which nobody may change from now on."""
        with self._lock:
            others = self._drop(state.session_id)
            states = [state, *(one for one in others if one.answers != state.answers)][:STATES]
            if _size(states) > self._room:
                return
            self._states[state.session_id] = states
            self._used += _size(states)
            while self._used > self._room:
                self._drop(next(iter(self._states)))

    def forget(self, session_id: str) -> None:
        """Drop a session that was deleted."""
        with self._lock:
            self._drop(session_id)

    def _drop(self, session_id: str) -> list[State]:
        states = self._states.pop(session_id, [])
        self._used -= _size(states)
        return states


def _size(states: Sequence[State]) -> int:
    """Return what the states of one session take: its largest pool's candidates and dimension."""
    return max((sum(state.session.pool.features.shape) for state in states), default=0)
