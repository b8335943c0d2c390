"""Which submissions to approve, to reject or to ask about, as the files that the platforms take.

Prolific approves in bulk by a list of participants' ids on its pages, or by one of submissions' ids
through its API; Mechanical Turk reads a table with an X under `Approve` or a reason under `Reject`.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, NamedTuple

from useralign.errors import OptionError
from useralign.store import studies
from useralign.store.studies import ATTENTION
from useralign.study.export import neutral
from useralign.study.pages import COMPLETED, FAILED_CHECK
from useralign.study.recruitment import MTURK, PROLIFIC

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    with studies.streaming(store, study.slug) as records:
        return [
            _submission(who, failed, reject_failed)
            for chunk in records.participants()
            for who, failed in _with_checks(chunk, records)
            if who.source == platform and who.recruitment
        ]


def _with_checks(
    chunk: Sequence[Participant], records: studies.StudyRecords
) -> Iterator[tuple[Participant, bool]]:
    """Iterate over participants, with whether they failed the check of the evaluation."""
    matchups = records.matchups_of([who.id for who in chunk])
    for who in chunk:
        checks = [one.won for one in matchups.get(who.id, []) if one.role == ATTENTION]
        yield who, False in checks


def _submission(who: Participant, failed: bool, reject_failed: bool) -> Submission:
    outcome = who.outcome or "unfinished"
    if outcome == COMPLETED and failed:
        outcome = FAILED_CHECK
    decision = APPROVE if outcome == COMPLETED else ASK
    if outcome == FAILED_CHECK and reject_failed:
        decision = REJECT
    ids = who.recruitment
    return Submission(
        ids.get("PROLIFIC_PID") or ids.get("workerId", ""),
        ids.get("SESSION_ID") or ids.get("assignmentId", ""),
        ids.get("STUDY_ID") or ids.get("hitId", ""),
        outcome,
        decision,
        _REASONS.get(outcome, "Has not come to the end."),
    )


def platform_files(platform: str, submissions: Sequence[Submission]) -> dict[str, str]:
    """Return what a platform takes, as texts by the ends of their files' names."""
    if platform == MTURK:
        columns = ("HITId", "AssignmentId", "WorkerId", "Approve", "Reject", "Outcome")
        rows = [
            (s.task, s.id, s.worker, _mark(s, APPROVE, "X"), _mark(s, REJECT, s.reason), s.outcome)
            for s in submissions
        ]
        return {"mturk.csv": _table(columns, rows)}
    good = [s for s in submissions if s.decision == APPROVE]
    reviewed = ("participant_id", "submission_id", "decision", "outcome", "reason")
    others = [s for s in submissions if s.decision != APPROVE]
    rest = [(s.worker, s.id, s.decision, s.outcome, s.reason) for s in others]
    return {
        "prolific-approve.txt": "".join(f"{s.worker}\n" for s in good),
        "prolific-approve.json": json.dumps({"submission_ids": [s.id for s in good]}) + "\n",
        "prolific-review.csv": _table(reviewed, rest),
    }


def _mark(submission: Submission, decision: str, text: str) -> str:
    return text if submission.decision == decision else ""


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([neutral(cell) for cell in row] for row in rows)
    return buffer.getvalue()
