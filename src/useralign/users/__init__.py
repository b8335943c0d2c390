"""Simulated users: tastes in the features, personas by ranking or by a model, recorded people."""

from __future__ import annotations

from useralign import registry
from useralign.users.base import User, converse, simulate
from useralign.users.judge import JudgePersona
from useralign.users.recorded import People, RecordedPerson
from useralign.users.simulated import (
    BTL,
    Consistent,
    Erring,
    LikenessUser,
    LinearUser,
    RankedPersona,
    UtilityUser,
)

__all__ = [
    "BTL",
    "Consistent",
    "Erring",
    "JudgePersona",
    "LikenessUser",
    "LinearUser",
    "People",
    "RankedPersona",
    "RecordedPerson",
    "User",
    "UtilityUser",
    "converse",
    "simulate",
    "user_kind",
]


def user_kind(name: str) -> type[User]:
    """Return the class of users that is registered under a name.

    Raises OptionError if there is none.
    """
    kind: type[User] = registry.load("users", name)
    return kind
