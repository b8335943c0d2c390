"""Keys, prices and the times between tries."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from useralign.errors import FileFormatError, ModelUnavailableError
from useralign.models.generators.keys import is_local, read_key, without_secrets
from useralign.models.generators.prices import Prices
from useralign.models.generators.retry import Retry, seconds_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_key_file_goes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("sk-file\n")
    monkeypatch.setenv("X_KEY", "sk-env")
    assert read_key("X_KEY") == "sk-env"
    assert read_key("X_KEY", file) == "sk-file"
    monkeypatch.setenv("X_KEY_FILE", str(file))
    assert read_key("X_KEY") == "sk-env"
    monkeypatch.delenv("X_KEY")
    assert read_key("X_KEY") == "sk-file"
    monkeypatch.delenv("X_KEY_FILE")
    assert read_key("X_KEY") is None


@pytest.mark.parametrize("bad", ["sk-a\nsk-b", "sk-ä", "sk a"])
def test_what_cannot_be_a_key_is_not_quoted(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_KEY", bad)
    with pytest.raises(ModelUnavailableError, match="X_KEY does not hold a usable key") as caught:
        read_key("X_KEY")
    assert bad not in str(caught.value)


def test_a_key_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="cannot be read"):
        read_key("X_KEY", tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelUnavailableError, match="not a text file"):
        read_key("X_KEY", tmp_path / "binary")


def test_addresses() -> None:
    assert without_secrets("https://u:p@h.org:8/v1/?k=s#f") == "https://h.org:8/v1"
    assert is_local("http://localhost:1/v1")
    assert not is_local("https://localhost.example.com")


def test_prices_come_from_the_data_file() -> None:
    price = Prices().find("gpt-4o-2024-08-06")
    assert price is not None
    assert price.of(1_000_000, 100_000) == pytest.approx(2.5 + 1.0)
    assert Prices().find("gpt-4o-mini") != price
    assert Prices().find("llama3") is None


def test_prices_can_be_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "prices.toml"
    file.write_text("[gpt-4o]\ninput = 1\n[mine]\nimage = 0.5\n")
    monkeypatch.setenv("USERALIGN_PRICES", str(file))
    prices = Prices({"gpt-4o-mini": {"input": 9}})
    found = [prices.find(name) for name in ("gpt-4o", "mine", "gpt-4o-mini", "gpt-4.1")]
    assert [price and price.of(1_000_000, 0, 2) for price in found] == [1.0, 1.0, 9.0, 2.0]


@pytest.mark.parametrize(
    "text", ["[gpt-4o]\nprice = 1\n", "gpt-4o = 3\n", "[[", '[m]\ninput = "a"\n']
)
def test_a_price_file_that_is_not_one(text: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(FileFormatError, match=r"prices\.toml"):
        Prices(file)
    with pytest.raises(FileFormatError, match="cannot be read"):
        Prices(tmp_path / "none.toml")


def test_waits_grow_with_jitter_up_to_a_limit() -> None:
    retry = Retry(first=1.0, longest=10.0)
    rng = random.Random(1)
    for tried, most in ((1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (9, 10)):
        waits = [retry.wait(tried, None, rng) for _ in range(50)]
        assert most / 2 <= min(waits) < max(waits) <= most
    assert retry.wait(1, 30.0, rng) == 30.0


def test_retry_after() -> None:
    now = datetime(2025, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert seconds_of("2.5") == 2.5
    assert seconds_of("Wed, 01 Jan 2025 12:00:30 GMT", now) == 30.0
    for nothing in (None, "", "soon", "-1", "inf", "nan", "Wed, 01 Jan 2025 11:00:00 GMT"):
        assert seconds_of(nothing, now) is None
