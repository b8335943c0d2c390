"""Pools, pictures and people in the database."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from useralign import Candidate, Pool
from useralign.errors import InputError, NotFoundError
from useralign.store import Store, digest, pseudonym, token
from useralign.store.media import LARGEST_SIDE, encode


def picture(path: Path, size: tuple[int, int] = (30, 20)) -> str:
    Image.new("RGB", size, "teal").save(path)
    return str(path)


def test_a_pool_comes_back_as_it_was(store: Store, pool: Pool) -> None:
    back = store.pools.get(store.pools.add(pool))
    assert back.fingerprint == pool.fingerprint
    assert np.array_equal(back.raw_features, pool.raw_features)


def test_the_same_pool_is_kept_once(store: Store, pool: Pool) -> None:
    assert store.pools.add(pool, "me") == store.pools.add(pool, "me")
    assert store.pools.add(pool, "me") != store.pools.add(pool, "you")


def test_a_pool_is_its_owners(store: Store, pool: Pool) -> None:
    mine = store.pools.add(pool, "me")
    for stranger in ("you", None):
        with pytest.raises(NotFoundError):
            store.pools.get(mine, stranger)
    with pytest.raises(NotFoundError):
        store.pools.get("unknown", "me")
    assert store.pools.get(store.pools.add(pool), "you") is not None


def test_pictures_are_encoded_anew(store: Store, tmp_path: Path) -> None:
    candidates = [Candidate("one", image=picture(tmp_path / "secret-name.png")), Candidate("two")]
    kept = store.pools.get(store.pools.add(Pool("Which?", candidates, np.eye(2))))
    media = store.media.get(kept[0].meta["media"])
    assert kept[0].image is None
    assert (media.type, media.width, media.height) == ("image/webp", 30, 20)
    assert Image.open(io.BytesIO(media.content)).size == (30, 20)
    with pytest.raises(NotFoundError):
        store.media.get("unknown")


def test_large_pictures_are_made_smaller(tmp_path: Path) -> None:
    media = encode(Path(picture(tmp_path / "x.png", (3000, 1500))).read_bytes())
    assert (media.width, media.height) == (LARGEST_SIDE, LARGEST_SIDE // 2)


def test_sixteen_bits_of_grey_are_scaled_and_not_cut_off() -> None:
    grey = np.linspace(0, 65535, 64 * 64).reshape(64, 64).astype(np.uint16)
    buffer = io.BytesIO()
    Image.fromarray(grey).save(buffer, "PNG")
    pixels = np.asarray(Image.open(io.BytesIO(encode(buffer.getvalue()).content)))
    assert pixels.mean() == pytest.approx(127, abs=4)


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", b"GIF89a", b"\x89PNG\r"],
)
def test_what_is_no_picture_is_refused(content: bytes, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(content)
    pool = Pool("Which?", [Candidate("one", image=str(path)), Candidate("two")], np.eye(2))
    with pytest.raises(InputError, match="picture"):
        store.pools.add(pool)


def test_too_many_pixels(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("1", (9000, 9000)).save(buffer, "PNG")
    with pytest.raises(InputError, match=r"megapixels|picture"):
        encode(buffer.getvalue())


def test_people_allow_nothing_until_they_do(store: Store) -> None:
    assert not store.persons.get("stranger").remember
    assert not store.persons.visit("me", now=10.0).share
    store.persons.allow("me", remember=True, share=True)
    assert store.persons.visit("me", now=20.0).share
    assert store.persons.visit("me", now=9000.0).remember


def test_forgetting_someone_forgets_their_pools(store: Store, pool: Pool) -> None:
    store.persons.visit("me", now=0.0)
    mine = store.pools.add(pool, "me")
    store.persons.forget("me")
    with pytest.raises(NotFoundError):
        store.pools.get(mine, "me")


def test_tokens() -> None:
    made = {token() for _ in range(1000)}
    assert len(made) == 1000
    assert min(map(len, made)) >= 43  # 256 bits in base64
    assert digest("a") != digest("b")
    assert pseudonym("worker", "one key") != pseudonym("worker", "another")
