"""The frugal method: a Bayesian look-ahead that asks few questions."""

from useralign.methods.frugal.method import Frugal
from useralign.methods.frugal.prior import Prior
from useralign.methods.frugal.run import FrugalRun

__all__ = ["Frugal", "FrugalRun", "Prior"]
