"""Prices per model, from a data file that can be overridden."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from useralign.errors import FileFormatError

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


def find_price(model: str) -> Price | None:
    """Return a model's price; a dated version has that of its undated name.

    The prices in the file that `USERALIGN_PRICES` names go before those of this package. Raises
    `FileFormatError` if that cannot be read as prices.
    """
    prices = _read(Path(__file__).with_name("prices.toml"))
    if path := os.environ.get(VARIABLE):
        prices |= _read(Path(path))
    return prices.get(model) or prices.get(_DATE.sub("", model))


def _read(path: Path) -> dict[str, Price]:
    try:
        tables = tomllib.loads(path.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise FileFormatError(f"{path}: prices cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: is not TOML ({error})") from error
    prices = {}
    for model, fields in tables.items():
        try:
            prices[model] = Price(**{name: float(value) for name, value in fields.items()})
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{path}: the price of {model!r} is {fields!r}; expected input, output or image "
                "with a number each, in US dollars per million tokens (image: per picture)"
            ) from error
    return prices
