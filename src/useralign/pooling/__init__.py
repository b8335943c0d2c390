"""How pools of candidate answers are made, read, and kept."""

from useralign.pooling.duplicates import Twins, near_duplicates
from useralign.pooling.events import Event, Progress
from useralign.pooling.grow import Growth
from useralign.pooling.library import Library
from useralign.pooling.make import generate_pool, make_pool
from useralign.pooling.read import read_pool
from useralign.pooling.recipe import Recipe

__all__ = [
    "Event",
    "Growth",
    "Library",
    "Progress",
    "Recipe",
    "Twins",
    "generate_pool",
    "make_pool",
    "near_duplicates",
    "read_pool",
]
