"""Simulated users: tastes in the features, personas by ranking or by a model, recorded people."""

from useralign import registry
from useralign.users.base import User, converse
from useralign.users.erring import Erring
from useralign.users.judge import JudgePersona, PositionBias
from useralign.users.likeness import LikenessUser
from useralign.users.linear import BTL, Consistent, LinearUser
from useralign.users.ranked import RankedPersona
from useralign.users.recorded import People, RecordedPerson

__all__ = [
    "BTL",
    "Consistent",
    "Erring",
    "JudgePersona",
    "LikenessUser",
    "LinearUser",
    "People",
    "PositionBias",
    "RankedPersona",
    "RecordedPerson",
    "User",
    "converse",
    "user_kind",
    "user_kinds",
]


def user_kinds() -> list[str]:
    """List the registered kinds of users, sorted."""
    return registry.names("users")


def user_kind(name: str) -> type[User]:
    """Return the class of users that is registered under a name.

    Raises
    ------
    OptionError
        If there is none.
    """
    kind: type[User] = registry.load("users", name)
    return kind
