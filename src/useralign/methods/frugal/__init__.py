"""The frugal method: a Bayesian look-ahead that asks few questions."""

from useralign.methods.frugal.method import Frugal, FrugalRun
from useralign.methods.frugal.prior import Prior

__all__ = ["Frugal", "FrugalRun", "Prior"]
