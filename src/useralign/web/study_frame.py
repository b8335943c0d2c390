"""Being shown in the frame of Mechanical Turk, and handing the finished task back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.study.design import MTURK_HOSTS
from useralign.web.security import policy

if TYPE_CHECKING:
    from useralign.study import Design

# Who shows a task in a frame: the pages of workers, and of requesters who look at it.
_FRAMES = {
    "sandbox": ("workersandbox.mturk.com", "requestersandbox.mturk.com"),
    "live": ("worker.mturk.com", "www.mturk.com", "requester.mturk.com"),
}


def policy_for(design: Design) -> str | None:
    """Return the content security policy of a study's pages; None for the usual one.

    Parameters
    ----------
    design : Design
    """
    mode = design.recruitment.mturk
    if mode == "off":
        return None
    frames = " ".join(f"https://{host}" for host in _FRAMES[mode])
    whole = policy(frame_ancestors=f"'self' {frames}")
    return whole.replace("form-action 'self'", f"form-action 'self' https://{MTURK_HOSTS[mode]}")
