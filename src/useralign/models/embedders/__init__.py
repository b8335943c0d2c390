"""Features of texts and pictures."""

from useralign.models.embedders.axes import FOOD2D, AxesEmbedder
from useralign.models.embedders.base import Embedder
from useralign.models.embedders.cache import Cached
from useralign.models.embedders.choice import EmbedderStatus, default_name, embedder_for, report
from useralign.models.embedders.given import FunctionEmbedder, PrecomputedEmbedder

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
