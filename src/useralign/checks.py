"""Checks of single values: the same message for the same mistake, wherever it is made."""

from __future__ import annotations

import math
import numbers

from useralign.errors import OptionError


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """Return whether a value is a finite real number; True and False are not."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        return real and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number of more than 308 digits
        return False


def whole(name: str, value: object, least: int) -> int:
    """Return a whole number of at least `least`, or raise `OptionError`."""
    if not is_whole(value) or int(value) < least:  # type: ignore[call-overload]
        raise OptionError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def promise(holds: bool, what: str) -> None:
    """Raise `AssertionError` unless a plug-in holds what its contract promises."""
    if not holds:
        raise AssertionError(f"broken promise: {what}")
