"""The frugal method: few questions, whatever the features are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from useralign.checks import is_finite, whole
from useralign.errors import OptionError
from useralign.methods.base import NORM_BOUND, Method, check_norm_bound
from useralign.methods.frugal.prior import Prior
from useralign.methods.frugal.run import FrugalRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


class Frugal(Method):
    """Frugal: a Bayesian look-ahead that learns how much features and answers can be trusted.

    Parameters
    ----------
    sure : float
        Stop when the recommended candidate is among the best `top` with this probability.
    top : int
        How many candidates count as good enough.
    gain : float
        Stop also when knowing everything would gain less than this on average, in units of
        the standard deviation of the person's utilities.
    prior : Prior or mapping, optional
        What is known of the person before; the answers decide how much it counts.
    norm_bound : float
        S; it only sets the unit of the bound.
    """

    name: ClassVar[str] = "frugal"

    def __init__(
        self,
        *,
        sure: float = 0.95,
        top: int = 1,
        gain: float = 0.05,
        prior: Prior | Mapping[str, Any] | None = None,
        norm_bound: float = NORM_BOUND,
    ) -> None:
        if not is_finite(sure) or not 0.0 < sure <= 1.0:
            raise OptionError(f"sure must be a probability above 0 and at most 1, got {sure!r}")
        if not is_finite(gain) or gain < 0.0:
            raise OptionError(f"gain must be a number of at least 0, got {gain!r}")
        self.sure = float(sure)
        self.top = whole("top", top, least=1)
        self.gain = float(gain)
        given = prior is None or isinstance(prior, Prior)
        self.prior: Prior | None = prior if given else Prior.from_dict(prior)  # type: ignore[assignment, arg-type]
        self.norm_bound = check_norm_bound(norm_bound)

    def start(
        self,
        features: NDArray[np.float64],
        seed: int,
        *,
        fixed_budget: bool = False,  # noqa: ARG002
    ) -> FrugalRun:
        """Begin on a pool; see `Method.start`."""
        return FrugalRun(self, features, seed)

    def options(self) -> dict[str, Any]:
        """Return the constructor's arguments, as plain data."""
        prior = None if self.prior is None else self.prior.to_dict()
        found = {"sure": self.sure, "top": self.top, "gain": self.gain, "prior": prior}
        return {**found, "norm_bound": self.norm_bound}
