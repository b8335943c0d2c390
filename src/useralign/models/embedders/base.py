"""What an embedder is: something that turns texts or pictures into vectors."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, ClassVar

from useralign.errors import ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

KINDS = ("text", "image")


class Embedder(ABC):
    """A model that maps texts, pictures, or both, to vectors of a fixed length.

    The contract, which `useralign.testing.check_embedder` verifies:

    - `embed_texts` and `embed_images` take a sequence of n and return an array of shape (n, d),
      float64, finite, not normalised: the pool does that.
    - The same item gives the same vector, whatever else is in the batch, up to rounding.
    - A kind that it does not offer raises `ModelUnavailableError`; `embeds` tells beforehand.
    - Weights are loaded at the first use, not at construction, so that making one is cheap.
    - `trouble` says without loading anything whether it can work on this machine.

    Attributes
    ----------
    name : str
        What it is called, in pools and in messages.
    dimension : int
        The length d of its vectors; 0 if that is only known after the first use.
    embeds : frozenset of str
        The kinds it offers, out of `"text"` and `"image"`.
    costly : bool
        Whether a vector takes so long that looking it up is faster than making it again.
    """

    name: str
    dimension: int
    embeds: frozenset[str] = frozenset()
    costly: ClassVar[bool] = False

    @property
    def identity(self) -> str:
        """Everything but the item that decides a vector: what cached vectors are filed under."""
        return self.name

    def trouble(self) -> str | None:
        """Return why it cannot work here and what to do about it, or None when it can."""
        return None

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:  # noqa: ARG002
        """Embed texts, shape (n, d)."""
        raise ModelUnavailableError(f"{self.name} embeds no texts; choose a text embedder")

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:  # noqa: ARG002
        """Embed the pictures in image files, shape (n, d)."""
        raise ModelUnavailableError(f"{self.name} embeds no pictures; choose an image embedder")
