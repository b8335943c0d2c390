"""Which submissions to approve, to reject or to ask about, as the files that the platforms take.

Prolific approves in bulk by a list of participants' ids on its pages, or by one of submissions' ids
through its API; Mechanical Turk reads a table with an X under `Approve` or a reason under `Reject`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from useralign.errors import OptionError
from useralign.store import studies
from useralign.store.studies import ATTENTION
from useralign.study.export import table_lines
from useralign.study.pages import COMPLETED, FAILED_CHECK
from useralign.study.recruitment import MTURK, PROLIFIC, platform_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from useralign.store import Store
    from useralign.store.studies import Participant
    from useralign.study.studies import Study

APPROVE, REJECT, ASK = "approve", "reject", "ask"
_REASONS = {
    COMPLETED: "",
    FAILED_CHECK: "The attention check was answered otherwise than it asked.",
    "screened-out": "Screened out by the answers to the first questions.",
    "quota-full": "All places for people with these answers were taken.",
    "timed-out": "Took longer than the study allows.",
    "returned": "Stopped before the end.",
    "withdrawn": "Withdrew, and had the answers deleted.",
}


class Submission(NamedTuple):
    """A worker's submission, and what to do about it."""

    worker: str  # the platform's id of the person
    id: str  # of the submission
    task: str  # of the study
    outcome: str  # how it ended; "unfinished" while it has not
    decision: str  # approve, reject or ask
    reason: str  # why it is not simply approved


def list_submissions(
    store: Store, study: Study, platform: str, *, reject_failed: bool = False
) -> list[Submission]:
    """List the submissions of "prolific" or "mturk", in the order their workers came.

    Who failed the attention check is to be rejected with `reject_failed`; else one is to ask.
    Platforms have rules about when rejecting is fair.
    """
    if platform not in (PROLIFIC, MTURK):
        raise OptionError(f"unknown platform {platform!r}; expected {PROLIFIC} or {MTURK}")
    submissions = []
    with studies.streaming(store, study.slug) as records:
        for chunk in records.participants():
            matchups = records.matchups_of([who.id for who in chunk])
            for who in chunk:
                if who.source == platform and who.recruitment:
                    checks = [m.won for m in matchups.get(who.id, []) if m.role == ATTENTION]
                    submissions.append(_submission(who, False in checks, reject_failed))
    return submissions


def _submission(who: Participant, failed: bool, reject_failed: bool) -> Submission:
    outcome = who.outcome or "unfinished"
    if outcome == COMPLETED and failed:
        outcome = FAILED_CHECK
    decision = APPROVE if outcome == COMPLETED else ASK
    if outcome == FAILED_CHECK and reject_failed:
        decision = REJECT
    worker, submission, task = (name or "" for name in platform_ids(who.recruitment))
    reason = _REASONS.get(outcome, "Has not come to the end.")
    return Submission(worker, submission, task, outcome, decision, reason)


def platform_files(platform: str, submissions: Sequence[Submission]) -> dict[str, str]:
    """Return what a platform takes, as texts by the ends of their files' names."""
    if platform == MTURK:
        header = ("HITId", "AssignmentId", "WorkerId", "Approve", "Reject", "Outcome")
        marked = [
            (s.task, s.id, s.worker, _mark(s, APPROVE, "X"), _mark(s, REJECT, s.reason), s.outcome)
            for s in submissions
        ]
        return {"mturk.csv": "".join(table_lines(header, marked))}
    good = [s for s in submissions if s.decision == APPROVE]
    columns = ("participant_id", "submission_id", "decision", "outcome", "reason")
    others = [s for s in submissions if s.decision != APPROVE]
    rows = [(s.worker, s.id, s.decision, s.outcome, s.reason) for s in others]
    return {
        "prolific-approve.txt": "".join(f"{s.worker}\n" for s in good),
        "prolific-approve.json": json.dumps({"submission_ids": [s.id for s in good]}) + "\n",
        "prolific-review.csv": "".join(table_lines(columns, rows)),
    }


def _mark(submission: Submission, decision: str, text: str) -> str:
    return text if submission.decision == decision else ""
