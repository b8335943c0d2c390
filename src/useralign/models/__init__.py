"""Models: generators of texts and pictures, embedders, their weights and their caches.

`generator_for` and `embedder_for` return a model by its name. The models with optional dependencies
are modules of their own (`openai`, `local`, `text_embedders`, `image_embedders`), which are loaded
when they are asked for; importing this package needs none of them.
"""

from useralign.models.cache import CachedEmbedder, CachedGenerator
from useralign.models.choice import (
    AvailableModel,
    available,
    default_embedder,
    default_generator,
    embedder_for,
    embedder_statuses,
    generator_for,
    is_too_small,
    remedies,
)
from useralign.models.embedder import Embedder, FunctionEmbedder
from useralign.models.generator import (
    Generator,
    ImageRequest,
    Picture,
    Text,
    TextRequest,
    Usage,
    picture_suffix,
    plain,
    wait_for,
)
from useralign.models.scripted import Scripted

__all__ = [
    "AvailableModel",
    "CachedEmbedder",
    "CachedGenerator",
    "Embedder",
    "FunctionEmbedder",
    "Generator",
    "ImageRequest",
    "Picture",
    "Scripted",
    "Text",
    "TextRequest",
    "Usage",
    "available",
    "default_embedder",
    "default_generator",
    "embedder_for",
    "embedder_statuses",
    "generator_for",
    "is_too_small",
    "picture_suffix",
    "plain",
    "remedies",
    "wait_for",
]
