"""Memory: earlier sessions, a person's own and other people's, make the next one shorter."""

from useralign.memory.learning import fit
from useralign.memory.memory import Memory, Population, describe, summary
from useralign.memory.past import PastSession, past_sessions
from useralign.memory.saved import saved_screens

__all__ = [
    "Memory",
    "PastSession",
    "Population",
    "describe",
    "fit",
    "past_sessions",
    "saved_screens",
    "summary",
]
