"""A prior: what is believed of a person before the first answer, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from useralign.errors import OptionError

_KEYS = ("mean", "spread", "factor", "popularity", "trust")
_TABLES = ("factor", "trust")
_MOST = 8  # kinds of trust: each makes every answer slower


@dataclass(frozen=True, slots=True)
class Prior:
    """A Gaussian prior on the preference vector, and how popular each candidate is.

    theta has mean `mean` and covariance `diag(spread**2) + factor @ factor.T`. Its unit does not
    matter: the method scales it so that utilities vary by 1. Every part may be left out. However
    much the prior is trusted at first, the method weighs it by the person's own answers, down to
    not at all.

    Parameters
    ----------
    mean : tuple of float, length d, optional
        What people want on average; zero when not given.
    spread : tuple of float, length d, optional
        Standard deviations of theta, all 1 when not given.
    factor : tuple of tuple of float, d rows of equal length, optional
        Directions in which people differ besides.
    popularity : tuple of float, length K, optional
        What candidates are worth to people beyond their features, in units of the standard
        deviation of one person's utilities.
    trust : tuple of (float, float), optional
        How much of the mean and the popularity may count, each with its probability: 0 leaves the
        prior out altogether, -1 is for somebody who likes what others do not. The method's own
        when not given.
    """

    mean: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None
    factor: tuple[tuple[float, ...], ...] | None = None
    popularity: tuple[float, ...] | None = None
    trust: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        """Check the numbers, and keep them as tuples."""
        for key in _KEYS:
            value = getattr(self, key)
            if value is not None:
                object.__setattr__(self, key, _tuples(key, value, 2 if key in _TABLES else 1))
        if self.spread is not None and min(self.spread, default=0.0) < 0:
            raise OptionError("the prior's spread must not be negative")
        if self.trust is not None and not _probable(self.trust):
            raise OptionError(
                f"the prior's trust must be at most {_MOST} pairs of how much counts and its "
                f"probability, above 0; got {self.trust!r:.60}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return its parts, as plain data."""
        parts = {key: getattr(self, key) for key in _KEYS}
        return {
            key: [list(row) if isinstance(row, tuple) else row for row in value]
            for key, value in parts.items()
            if value is not None
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prior:
        """Rebuild a prior from what `to_dict` returned.

        Raises
        ------
        OptionError
            If it is not such a mapping.
        """
        if not isinstance(data, Mapping):
            raise OptionError(f"a prior must be a mapping, got {type(data).__name__}")
        if unknown := sorted(set(data) - set(_KEYS)):
            raise OptionError(f"a prior has {', '.join(_KEYS)}; got {unknown[0]!r}")
        return cls(**data)

    def check(self, count: int, dimension: int) -> None:
        """Raise `OptionError` unless the prior fits a pool of `count` by `dimension`."""
        lengths = {"mean": dimension, "spread": dimension, "factor": dimension, "popularity": count}
        for key, length in lengths.items():
            value = getattr(self, key)
            if value is not None and len(value) != length:
                raise OptionError(
                    f"the prior's {key} must have {length} entries for this pool of {count} "
                    f"candidates with {dimension} features; got {len(value)}"
                )


def _probable(pairs: tuple[tuple[float, ...], ...]) -> bool:
    return 0 < len(pairs) <= _MOST and all(len(pair) == 2 and pair[1] > 0 for pair in pairs)


def _tuples(key: str, value: Any, depth: int) -> tuple[Any, ...]:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.ndim != depth or not np.isfinite(array).all():
        kind = "numbers" if depth == 1 else "rows of numbers, all of one length"
        raise OptionError(f"the prior's {key} must be a list of finite {kind}; got {value!r:.60}")
    plain: list[Any] = array.tolist()
    return tuple(tuple(row) for row in plain) if depth == 2 else tuple(plain)
