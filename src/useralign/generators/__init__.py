"""Models that write texts and draw pictures.

The models themselves (`openai`, `local`, `scripted`) are modules of their own, so that importing
this package needs none of the optional dependencies.
"""

from useralign.generators.base import (
    Generator,
    ImageRequest,
    Picture,
    Text,
    TextRequest,
    Usage,
)
from useralign.generators.cache import Cached
from useralign.generators.choose import generator_for
from useralign.generators.scripted import Scripted

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
