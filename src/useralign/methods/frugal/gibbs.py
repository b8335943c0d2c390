"""Normal numbers within limits: Gibbs sampling of many chains side by side.

A sweep draws each coordinate given the others, then moves the whole along one line. The second
is what mixes when many constraints say nearly the same, where single coordinates hardly move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from useralign.methods.frugal.ep import Likelihoods

    Array = NDArray[np.float64]

_EDGE = 1e-15  # probabilities are kept this far from 0 and 1
_LEAST = 1e-12


class _Target(NamedTuple):
    """What the chains draw from; the last axis is that of the chains."""

    inverse: Array  # (T, T, S)
    low: Array  # (T, S)
    high: Array
    lapse: Array


def gibbs(
    start: Array,
    lines: Array,
    inverse: Array,
    kept: NDArray[np.intp],
    limits: Likelihoods,
    *,
    random: np.random.Generator,
) -> Array:
    """Draw normal numbers of mean zero that lie within limits, or by a slip outside.

    Parameters
    ----------
    start : ndarray, shape (S, T)
        Where the chains begin.
    lines : ndarray, shape (sweeps, S, T)
        Along which line each sweep moves a chain; drawn beforehand, whatever the chains do.
    inverse : ndarray, shape (G, T, T)
        Inverse covariances.
    kept : ndarray of int, shape (S,)
        Which of the G each chain has.
    limits : Likelihoods
        Of shape (G, T).
    random : Generator

    Returns
    -------
    ndarray, shape (S, T)
    """
    low, high, lapse = (
        np.ascontiguousarray(each[kept].T) for each in (limits.low, limits.high, limits.lapse)
    )
    chains = np.ascontiguousarray(inverse[kept].transpose(1, 2, 0))
    target = _Target(chains, low, high, lapse)
    values = np.ascontiguousarray(start.T)
    for line in lines:
        _each(values, target, random.random((2, *values.shape)))
        values = _along(values, line.T, target, random.random((2, values.shape[1])))
    return values.T


def _each(values: Array, target: _Target, chance: Array) -> None:
    """Draw each coordinate given the others, in place."""
    for t, row in enumerate(target.inverse):
        variance = 1.0 / row[t]
        spread = np.sqrt(variance)
        centre = values[t] - variance * np.einsum("ts,ts->s", row, values)
        low, high = (target.low[t] - centre) / spread, (target.high[t] - centre) / spread
        values[t] = centre + spread * _within(low, high, target.lapse[t], chance[:, t])


def _within(low: Array, high: Array, lapse: Array, chance: Array) -> Array:
    """Draw standard normal numbers between limits, or outside with the odds of a slip."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - importing this package stays cheap

    below = ndtr(low)
    inside = ndtr(high) - below
    slip = lapse * (1.0 - inside)
    stays = chance[0] * ((1.0 - lapse) * inside + slip) >= slip
    outside = chance[1] * (1.0 - inside)
    outside += np.where(outside > below, inside, 0.0)
    level = np.where(stays, below + chance[1] * inside, outside)
    result: Array = ndtri(np.clip(level, _EDGE, 1.0 - _EDGE))
    return result


def _along(values: Array, line: Array, target: _Target, chance: Array) -> Array:
    """Draw a point of the line through the values, which limits cut into pieces."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - importing this package stays cheap

    line = np.where(np.abs(line) < _LEAST, _LEAST, line)
    pulled = np.einsum("tus,us->ts", target.inverse, line)
    spread = 1.0 / np.sqrt(np.einsum("ts,ts->s", line, pulled))
    centre = -(spread**2) * np.einsum("ts,ts->s", values, pulled)
    ends = (target.low - values) / line, (target.high - values) / line
    cuts = np.concatenate([np.minimum(*ends), np.maximum(*ends)])
    odds = np.log1p(-target.lapse) - np.log(np.maximum(target.lapse, _LEAST))
    order = cuts.argsort(axis=0)
    weight = np.take_along_axis(np.concatenate([odds, -odds]), order, axis=0).cumsum(axis=0)
    weight = np.vstack([np.zeros_like(centre), weight])
    level = ndtr((np.take_along_axis(cuts, order, axis=0) - centre) / spread)
    level = np.vstack([np.zeros_like(centre), level, np.ones_like(centre)])
    mass = (np.exp(weight - weight.max(axis=0)) * np.diff(level, axis=0)).cumsum(axis=0)
    piece = (mass < chance[0] * mass[-1]).sum(axis=0)[None]
    start = np.take_along_axis(level, piece, axis=0)[0]
    width = np.take_along_axis(level, piece + 1, axis=0)[0] - start
    step = ndtri(np.clip(start + chance[1] * width, _EDGE, 1.0 - _EDGE))
    moved: Array = values + (centre + spread * step) * line
    return moved
