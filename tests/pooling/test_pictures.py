from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from useralign.errors import ModelUnavailableError
from useralign.models import picture_suffix
from useralign.pooling import Recipe, generate_pool
from useralign.pooling.parse import picture_problem

from .conftest import QUESTION, Fingerprints, Scripted, png

if TYPE_CHECKING:
    from useralign.models import ImageRequest

RECIPE = Recipe(kind="image", size=6)


def test_a_picture_pool_is_written_beside_its_draft(draft: Path, embedder: Fingerprints) -> None:
    model = Scripted()
    pool = generate_pool(QUESTION, model, embedder, RECIPE, draft=draft)
    assert Counter(c.source for c in pool) == {"unbiased": 3, "interest": 3}
    folder = draft.with_name("draft-images")
    files = [Path(c.image or "") for c in pool]
    assert {file.parent for file in files} == {folder}
    assert all(picture_problem(file.read_bytes()) is None for file in files)
    assert pool.baseline is not None
    assert pool.baseline.image == str(folder / "baseline.png")
    assert len(model.drawn) == 7
    assert pool.meta["usage"]["generation"]["images"] == 7
    assert [c.text for c in pool if c.source == "interest"] == pool.meta["interests"]


def test_40_pictures_are_the_default() -> None:
    assert Recipe(kind="image").count == 40


def test_pictures_are_resumed(draft: Path, embedder: Fingerprints) -> None:
    model = Scripted()

    def draws(request: ImageRequest, number: int) -> bytes:
        if number > 4:
            raise ModelUnavailableError("no more")
        return png(request.seed or 0)

    model.draws = draws
    with pytest.raises(ModelUnavailableError, match="of 6 candidates"):
        generate_pool(QUESTION, model, embedder, RECIPE, draft=draft)
    second = Scripted()
    pool = generate_pool(QUESTION, second, embedder, RECIPE, draft=draft)
    assert len(pool) == 6
    assert len(second.drawn) == 3


def test_a_lost_or_changed_picture_is_made_anew(draft: Path, embedder: Fingerprints) -> None:
    pool = generate_pool(QUESTION, Scripted(), embedder, RECIPE, draft=draft)
    Path(pool[0].image or "").unlink()
    Path(pool[1].image or "").write_bytes(png(7))
    model = Scripted()
    generate_pool(QUESTION, model, embedder, RECIPE, draft=draft)
    assert len(model.drawn) == 2


def test_a_draft_leads_to_no_other_folder(draft: Path, embedder: Fingerprints) -> None:
    generate_pool(QUESTION, Scripted(), embedder, RECIPE, draft=draft)
    rows = [json.loads(line) for line in draft.read_text().splitlines()]
    for row in rows[1:]:
        if "file" in row["reply"]:
            row["reply"]["file"] = "../../" + row["reply"]["file"]
    draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = Scripted()
    pool = generate_pool(QUESTION, model, embedder, RECIPE, draft=draft)
    assert model.drawn == []
    assert {Path(c.image or "").parent for c in pool} == {draft.with_name("draft-images")}


def test_damaged_pictures_are_replaced(draft: Path, embedder: Fingerprints) -> None:
    pytest.importorskip("PIL")
    model = Scripted()
    bad = [b"", b"<html>", png(1)[:45]]
    model.draws = lambda request, n: bad[n - 1] if n <= 3 else png(request.seed or 0)
    recipe = Recipe(kind="image", size=4, style="unbiased", baseline=False)
    pool = generate_pool(QUESTION, model, embedder, recipe, draft=draft)
    assert len(pool) == 4
    assert len(model.drawn) == 7
    assert sum(pool.meta["rejected"].values()) == 3


def test_the_same_picture_twice_is_replaced(draft: Path) -> None:
    model = Scripted()
    model.draws = lambda request, n: png(1) if n <= 3 else png(request.seed or 0)
    recipe = Recipe(kind="image", size=4, style="unbiased", baseline=False)
    pool = generate_pool(QUESTION, model, Fingerprints(2), recipe, draft=draft)
    assert len({c.meta["sha256"] for c in pool}) == 4


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (png(1), ".png"),
        (b"\xff\xd8\xff\xe0", ".jpg"),
        (b"GIF89a", ".gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", ".webp"),
        (b"BM", ".bmp"),
        (b"<svg>", None),
        (b"", None),
    ],
)
def test_suffixes(data: bytes, suffix: str | None) -> None:
    assert picture_suffix(data) == suffix


def test_problems() -> None:
    pytest.importorskip("PIL")
    assert picture_problem(png(3)) is None
    assert picture_problem(b"") == "empty"
    assert "no picture" in (picture_problem(b"hello") or "")
    assert "damaged" in (picture_problem(png(3)[:40]) or "")


def test_without_pillow_the_first_bytes_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL.Image", None)
    assert picture_problem(png(3)[:40]) is None
    assert picture_problem(b"hello") is not None
