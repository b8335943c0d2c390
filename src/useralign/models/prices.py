"""Prices per model, from a data file that can be overridden."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "USERALIGN_PRICES"
_DATE = re.compile(r"-\d{4}(-?\d{2}){0,2}$")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and per picture where pictures have a price of their own."""

    input: float = 0.0
    output: float = 0.0
    image: float = 0.0

    def of(self, input_tokens: int, output_tokens: int, images: int = 0) -> float:
        """Return the cost of a call in US dollars."""
        tokens = self.input * input_tokens + self.output * output_tokens
        return tokens / 1e6 + self.image * images


class Prices:
    """Prices by model: those of this package, and over them those of a file of one's own.

    `USERALIGN_PRICES` names it. Raises `FileFormatError` if it cannot be read as prices.
    """

    def __init__(self) -> None:
        shipped = files("useralign.models").joinpath("prices.toml").read_text("utf-8")
        self._prices = _table(tomllib.loads(shipped), "prices.toml")
        if own := os.environ.get(VARIABLE):
            self._prices |= _read(Path(own))

    def find(self, model: str) -> Price | None:
        """Return a model's price; a dated version has that of its undated name."""
        return self._prices.get(model) or self._prices.get(_DATE.sub("", model))


def _read(path: Path) -> dict[str, Price]:
    try:
        tables = tomllib.loads(path.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise FileFormatError(f"{path}: prices cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: is not TOML ({error})") from error
    return _table(tables, str(path))


def _table(tables: Mapping[str, Any], where: str) -> dict[str, Price]:
    prices = {}
    for model, fields in tables.items():
        try:
            price = Price(**{name: float(value) for name, value in fields.items()})
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{where}: the price of {model!r} is {fields!r}; expected input, output or image "
                "with a number each, in US dollars per million tokens (image: per picture)"
            ) from error
        prices[model] = price
    return prices
