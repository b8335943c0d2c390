"""The mathematics: cone projection, the constrained MLE, confidence sets, the bound B(t).

Nothing here knows of sessions, files, models or people. Symbols follow the paper: K candidates
with features phi_k in R^d, answers as rows `winner - loser`, S the norm bound.
"""

from useralign.geometry.cone import nnls_gram, project
from useralign.geometry.confidence import LossLevel
from useralign.geometry.engine import TIE, ZERO, Engine, Exact
from useralign.geometry.evidence import AnswerRows
from useralign.geometry.features import as_matrix, normalise
from useralign.geometry.mle import Fit, beta, fit, loss, softplus
from useralign.geometry.reference import Reference

__all__ = [
    "TIE",
    "ZERO",
    "AnswerRows",
    "Engine",
    "Exact",
    "Fit",
    "LossLevel",
    "Reference",
    "as_matrix",
    "beta",
    "fit",
    "loss",
    "nnls_gram",
    "normalise",
    "project",
    "softplus",
]
