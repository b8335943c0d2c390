"""Files that anybody may have written: an error that says what is wrong, never a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from useralign.checks import is_finite
from useralign.errors import FileFormatError
from useralign.files import parse_toml, read_json
from useralign.memory import Memory
from useralign.models.providers import find_price
from useralign.pool import Pool
from useralign.session import Session

if TYPE_CHECKING:
    from pathlib import Path

JSON = {
    "digits": '{"n": ' + "7" * 5000 + "}",
    "depth": "[" * 100_000,
    "surrogate": '{"text": "half a \\ud83d character"}',
    "low surrogate in a key": '{"\\uDC36": 1}',
}
TOML = {"digits": "n = " + "7" * 5000, "depth": "n = " + "[" * 100_000}


class Anything(BaseModel):
    n: object


@pytest.mark.parametrize("kind", JSON)
def test_json_that_could_not_be_written_again(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.json"
    path.write_text(JSON[kind])
    with pytest.raises(FileFormatError, match=r"hostile\.json: is not JSON, or was cut short"):
        read_json(path)


def test_json_with_a_whole_character(tmp_path: Path) -> None:
    path = tmp_path / "good.json"
    path.write_text('["\\ud83d\\udc36", "\\\\ud83d"]')
    assert read_json(path) == ["🐶", "\\ud83d"]


@pytest.mark.parametrize("kind", TOML)
def test_toml_that_python_cannot_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileFormatError, match=r"plan\.toml: is not TOML"):
        parse_toml(Anything, TOML[kind], "plan.toml", check=lambda _: None, help_="")
    path = tmp_path / "prices.toml"
    path.write_text(TOML[kind])
    monkeypatch.setenv("USERALIGN_PRICES", str(path))
    with pytest.raises(FileFormatError, match="is not TOML"):
        find_price("m")


def test_a_price_of_hundreds_of_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "prices.toml"
    path.write_text("[m]\ninput = " + "9" * 400)
    monkeypatch.setenv("USERALIGN_PRICES", str(path))
    with pytest.raises(FileFormatError, match="the price of 'm'"):
        find_price("m")


def test_a_number_of_hundreds_of_digits_is_not_finite() -> None:
    assert not is_finite(10**400)
    assert is_finite(10**300)


def test_a_file_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "absent.json"
    pool = Pool("?", ["one"], [[0.0]])
    for load in (Pool.load, Memory.load, lambda path: Session.load(path, pool)):
        with pytest.raises(FileFormatError, match=r"^[^:]*absent\.json: cannot be read"):
            load(path)
