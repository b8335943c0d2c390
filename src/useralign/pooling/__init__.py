"""How pools of candidate answers are generated, imported, stored and grown."""

from useralign.pooling.client import Event, Progress
from useralign.pooling.generate import (
    check_question,
    default_recipe,
    generate_pool,
    generate_pool_async,
    load_generator,
)
from useralign.pooling.grow import Growth, GrowthRecord
from useralign.pooling.imports import list_items, read_pool, read_texts
from useralign.pooling.library import PoolRequest, find_pool, generate_requested, nearest_shipped
from useralign.pooling.recipe import Recipe
from useralign.pooling.select import near_duplicates

__all__ = [
    "Event",
    "Growth",
    "GrowthRecord",
    "PoolRequest",
    "Progress",
    "Recipe",
    "check_question",
    "default_recipe",
    "find_pool",
    "generate_pool",
    "generate_pool_async",
    "generate_requested",
    "list_items",
    "load_generator",
    "near_duplicates",
    "nearest_shipped",
    "read_pool",
    "read_texts",
]
