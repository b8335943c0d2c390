"""Pools: what they accept, how they scale, and that they survive a file."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import useralign as ua
from tests.pooling.conftest import Fingerprints, Scripted


def test_candidates_know_their_place() -> None:
    pool = ua.Pool("?", ["a", ua.Candidate(text="b", id="bee")], [[1, 0], [0, 1]])
    assert [c.index for c in pool] == [0, 1]
    assert [c.label for c in pool] == ["c0", "bee"]
    assert len(pool) == 2
    assert pool.dimension == 2


def test_raw_features_are_kept_and_the_scaled_ones_are_safe() -> None:
    matrix = np.array([[3.0, 0.0], [0.0, 4.0]])
    pool = ua.Pool("?", ["a", "b"], matrix)
    np.testing.assert_array_equal(pool.raw_features, matrix)
    np.testing.assert_allclose(pool.features, matrix / 8.0)
    with pytest.raises(ValueError, match="read-only"):
        pool.features[0, 0] = 1.0


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("unit", [[0.5, 0.0], [0.0, 0.5]]),
        ("ball", [[0.375, 0.0], [0.0, 0.5]]),
        ("diameter", [[0.6, 0.0], [0.0, 0.8]]),
    ],
)
def test_ways_to_normalise(how: str, expected: list[list[float]]) -> None:
    pool = ua.Pool("?", ["a", "b"], [[3.0, 0.0], [0.0, 4.0]], normalise=how)
    np.testing.assert_allclose(pool.features, expected)


def test_normalise_none_is_checked() -> None:
    ua.Pool("?", ["a"], [[0.3, 0.4]], normalise="none")
    with pytest.raises(ua.PoolError, match=r"radius 0\.5"):
        ua.Pool("?", ["a"], [[3.0, 4.0]], normalise="none")


def test_unit_refuses_a_vector_without_direction() -> None:
    with pytest.raises(ua.PoolError, match="row 1"):
        ua.Pool("?", ["a", "b"], [[1.0, 0.0], [0.0, 0.0]], normalise="unit")


@pytest.mark.parametrize(
    ("candidates", "features", "message"),
    [
        ([], np.zeros((0, 2)), "empty"),
        (["a"], [[np.nan, 1.0]], "row 0, column 0"),
        (["a", "b"], [[0.0, 1.0], [np.inf, 1.0]], "row 1, column 0"),
        (["a"], [1.0, 2.0], "two dimensions"),
        (["a"], [[[1.0]]], "two dimensions"),
        (["a"], np.zeros((1, 0)), "empty"),
        (["a", "b"], [[1.0, 2.0]], "2 candidates but 1 row"),
        (["a"], [["x", "y"]], "numbers"),
        (["a", "b"], [[1.0], [1.0, 2.0]], "numbers"),
    ],
)
def test_bad_input(candidates: list[str], features: object, message: str) -> None:
    with pytest.raises(ua.PoolError, match=message):
        ua.Pool("?", candidates, features)  # type: ignore[arg-type]


def test_unknown_normalisation() -> None:
    with pytest.raises(ua.OptionError, match="unit, ball, diameter, clip, none"):
        ua.Pool("?", ["a"], [[1.0]], normalise="max")


def test_numbered_candidates_are_made_when_looked_at() -> None:
    pool = ua.Pool.from_features(np.eye(4))
    assert pool[3] == ua.Candidate(id="c3", index=3)
    assert [c.index for c in pool.candidates[1:3]] == [1, 2]
    with pytest.raises(IndexError):
        pool[4]


def test_round_trip(tmp_path: Path) -> None:
    candidates = [
        ua.Candidate(text="ä", id="x", source="interest", interest="hot", meta={"usage": 3}),
        ua.Candidate(image="b.png"),
    ]
    pool = ua.Pool(
        "Q?",
        candidates,
        np.random.default_rng(0).normal(size=(2, 5)),
        "base",
        normalise="unit",
        embedder="e",
        meta={"m": 1},
    )
    again = ua.Pool.load(pool.save(tmp_path / "deep" / "pool.json"))
    assert again.to_dict() == pool.to_dict()
    assert again.fingerprint == pool.fingerprint
    assert again.baseline is not None
    assert again.baseline.text == "base"
    np.testing.assert_array_equal(again.features, pool.features)


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "pool.json"
    ua.Pool("?", ["a"], [[1.0]]).save(path)
    before = path.read_bytes()
    with pytest.raises(ua.PoolError, match="plain data"):
        ua.Pool("?", ["a"], [[1.0]], meta={"bad": object()}).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_a_truncated_file_is_told(tmp_path: Path, keep: float) -> None:
    path = ua.Pool("?", ["a", "b"], np.eye(2)).save(tmp_path / "pool.json")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(ua.FileFormatError, match=r"pool\.json"):
        ua.Pool.load(path)


def test_files_of_another_kind_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(ua.FileFormatError, match="cannot be read"):
        ua.Pool.load(path)
    path.write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(ua.FileFormatError, match="not a pool"):
        ua.Pool.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ua.FileFormatError, match="not JSON"):
        ua.Pool.load(path)


def test_the_callers_array_stays_the_callers() -> None:
    matrix = np.eye(3) * 0.5
    pool = ua.Pool.from_features(matrix, normalise="none")
    before = pool.fingerprint
    matrix[0] = 9.0
    assert pool.fingerprint == before
    assert pool.features[0, 0] == 0.5


@pytest.mark.parametrize("how", ["ball", "unit", "diameter"])
@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e12, 1e160])
def test_any_scale_of_features(how: str, scale: float) -> None:
    features = np.random.default_rng(0).normal(size=(5, 3))
    plain = ua.Pool.from_features(features, normalise=how)
    np.testing.assert_allclose(
        ua.Pool.from_features(features * scale, normalise=how).features, plain.features, rtol=1e-9
    )


@pytest.mark.parametrize(
    ("candidates", "message"),
    [([1, 2], "candidate 0"), ("ab", "list"), (iter("ab"), "list"), ([None, "b"], "candidate 0")],
)
def test_candidates_of_another_kind(candidates: object, message: str) -> None:
    with pytest.raises(ua.PoolError, match=message):
        ua.Pool("?", candidates, np.eye(2))  # type: ignore[arg-type]


def test_texts_of_another_kind() -> None:
    with pytest.raises(ua.PoolError, match="list"):
        ua.Pool.from_texts("?", "hello")
    with pytest.raises(ua.PoolError, match="candidate 0"):
        ua.Pool.from_texts("?", [None])  # type: ignore[list-item]
    with pytest.raises(ua.PoolError, match="question"):
        ua.Pool(None, ["a"], [[1.0]])  # type: ignore[arg-type]


def test_an_edited_text_is_another_pool() -> None:
    one, two = (ua.Pool("?", [text, "b"], np.eye(2)) for text in ("a", "A"))
    assert one.fingerprint != two.fingerprint


def test_a_model_writes_a_pool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))
    pool = ua.Pool.generate("What to cook?", Scripted(), size=4, embedder=Fingerprints())
    assert (len(pool), pool.question) == (4, "What to cook?")
    assert len({candidate.text for candidate in pool}) == 4


@pytest.mark.parametrize(
    "ids",
    [("a", "a"), ("c1", None), (None, "c0")],
    ids=["twice", "like the next", "like the first"],
)
def test_two_candidates_never_go_by_the_same_id(ids: tuple[str | None, str | None]) -> None:
    candidates = [ua.Candidate(text=str(n), id=name) for n, name in enumerate(ids)]
    with pytest.raises(ua.PoolError, match="candidates 0 and 1 have the same id"):
        ua.Pool("?", candidates, [[1, 0], [0, 1]])
    good = ua.Pool("?", [ua.Candidate(text="x", id="c0"), "y"], [[1, 0], [0, 1]])
    with pytest.raises(ua.PoolError, match="have the same id"):
        good.with_candidates(candidates, None)
    data = good.to_dict()
    data["candidates"][0]["id"] = "c1"
    with pytest.raises(ua.FileFormatError, match="have the same id"):
        ua.Pool.from_dict(data)


def test_features_of_thousands_of_digits() -> None:
    with pytest.raises(ua.PoolError):
        ua.Pool("?", ["a", "b"], [[10**5000, 0], [0, 1]])


def test_one_row_that_outweighs_all_others_is_told() -> None:
    rows = np.random.default_rng(0).normal(size=(6, 3))
    rows[2] *= 1e4
    with pytest.warns(
        ua.errors.ScalingWarning, match=r"row 2 .* times as long.*normalise='clip'.*'unit'"
    ):
        ua.Pool("?", None, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for how in ("clip", "unit"):
            pool = ua.Pool("?", None, rows, normalise=how)
            assert np.linalg.norm(pool.features, axis=1).max() == pytest.approx(0.5)
            assert np.linalg.norm(pool.features, axis=1).min() > 0.01
        rows[2] /= 1e4
        pool = ua.Pool("?", None, rows, normalise="clip")
    np.testing.assert_allclose(pool.features, ua.Pool("?", None, rows).features)
