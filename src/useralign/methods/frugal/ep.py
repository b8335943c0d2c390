"""Expectation propagation: the posterior of what was observed, for many hypotheses at once.

Each hypothesis g says that the observed quantities f (T of them, mostly differences of two
utilities) are normal with mean zero and covariance `gram[g]`, and that observation t has
likelihood

    lapse + (1 - 2 lapse) P[low < f_t + noise e < high],   e standard normal.

The method replaces each likelihood by a normal one that has the same effect on the mean and the
variance of f_t when all others are in force (Minka 2001; Rasmussen and Williams 2006, sections
3.6 and 3.7). All hypotheses and observations are updated together, with damping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SWEEPS = 60
DAMPING = 0.7
ENOUGH = 1e-3  # a change of the means, in standard deviations, that no longer matters
_FLAT = 1e-9  # the precision of a site that says nothing
_ROOT = np.sqrt(2.0 * np.pi)


class Likelihoods(NamedTuple):
    """The likelihoods of the observations under each hypothesis; arrays of shape (G, T)."""

    low: Array  # limits, minus the mean of the observed quantity; may be infinite
    high: Array
    noise: Array  # standard deviation of the noise
    lapse: Array  # probability that the answer is turned round


class Sites(NamedTuple):
    """The normal stand-ins of the likelihoods, and what follows from them.

    The posterior mean of anything is its prior mean plus `cross @ weights`, and its posterior
    covariance the prior's minus `cross @ shrink @ cross.T`.
    """

    precision: Array  # natural parameters, both of shape (G, T)
    shift: Array
    weights: Array  # shape (G, T)
    shrink: Array  # shape (G, T, T)
    evidence: Array  # shape (G,), logarithm of the probability of the observations


def propagate(gram: Array, likelihoods: Likelihoods, start: tuple[Array, Array]) -> Sites:
    """Fit the sites to prior covariances of shape (G, T, T).

    It starts with precisions and shifts of shape (G, T); zeros will do.
    """
    precision, shift = start
    for sweep in range(SWEEPS):
        mean, variance, weights, shrink, half_log = _posterior(gram, precision, shift)
        cavity_mean, cavity_variance = _cavity(mean, variance, precision, shift)
        log_mass, slope, bend = tilt(cavity_mean, cavity_variance, likelihoods)
        moved = np.abs(cavity_mean + cavity_variance * slope - mean) / np.sqrt(variance)
        if sweep and moved.max() < ENOUGH:
            break
        new_precision, new_shift = _match(cavity_mean, cavity_variance, slope, bend)
        step = DAMPING if sweep < SWEEPS // 2 else DAMPING / 2
        precision = precision + step * (new_precision - precision)
        shift = shift + step * (new_shift - shift)
    evidence = _evidence(log_mass, (cavity_mean, cavity_variance), (precision, shift), mean)
    return Sites(precision, shift, weights, shrink, evidence - half_log)


def split(
    gram: Array, likelihoods: Likelihoods, sites: Sites, count: int
) -> tuple[Array, Array, Array]:
    """Return what the first sites say alone, the others being left out.

    Returns
    -------
    weights, shrink, evidence : ndarray, shape (G, count), (G, count, count) and (G,)
        As those of `Sites`; what the others add to the evidence is not in it.
    """
    precision, shift = sites.precision, sites.shift
    mean, variance, *_ = _posterior(gram, precision, shift)
    cavity = _cavity(mean, variance, precision, shift)
    log_mass = tilt(*cavity, likelihoods)[0][:, :count]
    centre, variance = (each[:, :count] for each in cavity)
    first = precision[:, :count], shift[:, :count]
    mean, _, weights, shrink, half_log = _posterior(gram[:, :count, :count], *first)
    evidence = _evidence(log_mass, (centre, variance), first, mean)
    return weights, shrink, evidence - half_log


def tilt(mean: Array, variance: Array, likelihoods: Likelihoods) -> tuple[Array, Array, Array]:
    """Average the likelihoods over normal distributions.

    Returns
    -------
    log_mass, slope, bend : ndarray
        The logarithm of the average, and its first and second derivative by the mean.
    """
    from scipy.special import ndtr  # noqa: PLC0415 - importing this package stays cheap

    low, high, noise, lapse = likelihoods
    scale = np.sqrt(variance + noise * noise)
    a, b = (low - mean) / scale, (high - mean) / scale
    at_a, at_b = np.exp(-0.5 * a * a) / _ROOT, np.exp(-0.5 * b * b) / _ROOT
    clear = 1.0 - 2.0 * lapse
    mass = lapse + clear * (ndtr(b) - ndtr(a))
    slope = clear * (at_a - at_b) / (scale * mass)
    edge_a = np.where(np.isfinite(a), a, 0.0) * at_a
    edge_b = np.where(np.isfinite(b), b, 0.0) * at_b
    bend = clear * (edge_a - edge_b) / (scale * scale * mass) - slope * slope
    return np.log(mass), slope, bend


def _posterior(gram: Array, precision: Array, shift: Array) -> tuple[Array, ...]:
    """Return mean, variance, weights, shrink and half the log determinant (GPML, 3.67 ff.)."""
    root = np.sqrt(precision)
    inner = root[:, :, None] * gram * root[:, None, :]
    diagonal = np.arange(gram.shape[1])
    inner[:, diagonal, diagonal] += 1.0
    lower = np.asarray(np.linalg.cholesky(inner), dtype=np.float64)
    half_log = np.log(lower[:, diagonal, diagonal]).sum(axis=1)
    shrink = root[:, :, None] * _inverse(lower) * root[:, None, :]
    pulled = np.einsum("gts,gs->gt", gram, shift)
    weights = shift - np.einsum("gts,gs->gt", shrink, pulled)
    mean = np.einsum("gts,gs->gt", gram, weights)
    variance = gram[:, diagonal, diagonal] - ((gram @ shrink) * gram).sum(axis=2)
    return mean, np.maximum(variance, 1e-12), weights, shrink, half_log


def _inverse(lower: Array) -> Array:
    """Return inverses by their Cholesky factors, (G, T, T): half the work of `np.linalg.inv`."""
    from scipy.linalg.lapack import dpotri  # noqa: PLC0415 - importing this package stays cheap

    result = np.empty_like(lower)
    for g, factor in enumerate(lower):
        result[g] = dpotri(factor.T)[0]  # one half, with zeros in the other
    result += result.transpose(0, 2, 1)
    diagonal = np.arange(lower.shape[1])
    result[:, diagonal, diagonal] /= 2.0
    return result


def _cavity(mean: Array, variance: Array, precision: Array, shift: Array) -> tuple[Array, Array]:
    """Return the mean and variance of each observation without its own site."""
    rest = np.maximum(1.0 / variance - precision, 1e-9)
    return (mean / variance - shift) / rest, 1.0 / rest


def _match(mean: Array, variance: Array, slope: Array, bend: Array) -> tuple[Array, Array]:
    """Return the sites that give the tilted moments; a lapse may not make a precision negative."""
    precision = np.maximum(-bend / (1.0 + variance * bend), _FLAT)
    reached = mean + variance * slope
    return precision, reached * (1.0 / variance + precision) - mean / variance


def _evidence(
    log_mass: Array, cavity: tuple[Array, Array], site: tuple[Array, Array], mean: Array
) -> Array:
    """Return the log marginal likelihoods but for the determinant (GPML, 3.65)."""
    (centre, variance), (precision, shift) = cavity, site
    joint = 1.0 / (1.0 / variance + precision)
    terms = log_mass + 0.5 * np.log1p(precision * variance)
    terms += 0.5 * shift * (mean - shift * joint)
    terms += 0.5 * centre * joint / variance * (precision * centre - 2.0 * shift)
    total: Array = terms.sum(axis=1)
    return total
