"""Simulated users."""

from useralign.users.base import User, converse
from useralign.users.linear import BTL, Consistent, LinearUser

__all__ = ["BTL", "Consistent", "LinearUser", "User", "converse"]
