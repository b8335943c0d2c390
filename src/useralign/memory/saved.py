"""What memory saved: how many screens more the session would have taken without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.methods.frugal import Frugal, FrugalRun
from useralign.session import Session

if TYPE_CHECKING:
    from numpy.typing import NDArray

PEOPLE = 3  # continuations that are averaged
_ENDINGS = ("final", "go_on", "prove")  # they say how far to go, and nothing of a taste


def saved_screens(session: Session, people: int = PEOPLE) -> int:
    """Return about how many screens a session would have taken more without its prior.

    The answers so far are given to a session without the prior, which then goes on with somebody
    drawn from what is believed of the person now, until it is as sure as the preset asks for, or
    its budget is used up. So it is an estimate by the model, not the same person asked again; 0
    for a session without a prior. `people` is how many are drawn.
    """
    run, method = session._run, session.method
    if not isinstance(method, Frugal) or not isinstance(run, FrugalRun) or method.prior is None:
        return 0
    options = {**method.options(), "prior": None}
    draws = run.draws[np.linspace(0, len(run.draws) - 1, people, dtype=int)]
    costs = [_cost_without(session, Frugal(**options), utilities) for utilities in draws]
    return max(round(float(np.mean(costs))) - session.cost, 0)


def _cost_without(session: Session, method: Frugal, utilities: NDArray[np.float64]) -> int:
    answers = [each.to_data() for each in session.answers if each.kind not in _ENDINGS]
    state = session.to_dict() | {"answers": answers, "stopped": False, "asked": []}
    again = Session.resume(session.pool, state, method=method)
    while (screen := again.ask()) is not None:
        again.tell(max(screen.candidates, key=lambda candidate: utilities[candidate.index]))
    return again.cost
