"""Features of texts and pictures."""

from useralign.embedders.axes import FOOD2D, AxesEmbedder
from useralign.embedders.base import Embedder
from useralign.embedders.cache import Cached
from useralign.embedders.choice import EmbedderStatus, default_name, embedder_for, report
from useralign.embedders.given import FunctionEmbedder, PrecomputedEmbedder

__all__ = [
    "FOOD2D",
    "AxesEmbedder",
    "Cached",
    "Embedder",
    "EmbedderStatus",
    "FunctionEmbedder",
    "PrecomputedEmbedder",
    "default_name",
    "embedder_for",
    "report",
]
