"""Models that write texts and draw pictures.

The models themselves (`openai`, `local`, `scripted`) are modules of their own, so that importing
this package needs none of the optional dependencies.
"""

from useralign.models.generators.base import (
    Generator,
    ImageRequest,
    Picture,
    Text,
    TextRequest,
    Usage,
)
from useralign.models.generators.cache import Cached
from useralign.models.generators.choose import generator_for
from useralign.models.generators.scripted import Scripted

__all__ = [
    "Cached",
    "Generator",
    "ImageRequest",
    "Picture",
    "Scripted",
    "Text",
    "TextRequest",
    "Usage",
    "generator_for",
]
