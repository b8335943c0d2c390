"""Whom to approve, to reject and to ask, as the platforms take it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.commands import run
from tests.study.conftest import Walker, crowd_design
from useralign.errors import OptionError
from useralign.store import Store
from useralign.study import ParticipantFlow
from useralign.study.flow import View
from useralign.study.recruitment import Arrival
from useralign.study.submissions import list_submissions, platform_files


def attentive(view: View) -> int:
    return int("**this**" not in view.options[0].text and "**other**" in view.options[0].text)


def careless(view: View) -> int:
    return int("**this**" in view.options[0].text)


def worker(platform: str, name: str) -> Arrival:
    if platform == "prolific":
        ids = {"PROLIFIC_PID": name, "STUDY_ID": "s1", "SESSION_ID": f"x-{name}"}
    else:
        ids = {"workerId": name, "assignmentId": f"x-{name}", "hitId": "s1"}
    return Arrival(platform, name, ids)


@pytest.fixture
def worked(flow: ParticipantFlow) -> Walker:
    """Three workers of each platform: one attentive, one careless, one who stops."""
    walker = Walker(flow, flow.studies.add(crowd_design()))
    for platform in ("prolific", "mturk"):
        walker.finish(walker.enter(worker(platform, "good")), attentive)
        walker.finish(walker.enter(worker(platform, "=bad")), careless)
        flow.leave("small", walker.enter(worker(platform, "gone")), "returned")
        walker.enter(worker(platform, "slow"))
    return walker


def test_prolific(worked: Walker, store: Store) -> None:
    rows = list_submissions(store, worked.study, "prolific")
    decisions = [(row.worker, row.outcome, row.decision) for row in rows]
    assert decisions == [
        ("good", "completed", "approve"),
        ("=bad", "failed-check", "ask"),
        ("gone", "returned", "ask"),
        ("slow", "unfinished", "ask"),
    ]
    files = platform_files("prolific", rows)
    assert files["prolific-approve.txt"] == "good\n"
    assert json.loads(files["prolific-approve.json"]) == {"submission_ids": ["x-good"]}
    [bad, *_] = csv.DictReader(io.StringIO(files["prolific-review.csv"]))
    assert (bad["participant_id"], bad["submission_id"]) == ("'=bad", "x-=bad")


def test_mechanical_turk(worked: Walker, store: Store) -> None:
    rows = list_submissions(store, worked.study, "mturk", reject_failed=True)
    files = platform_files("mturk", rows)
    good, bad, gone, _ = csv.DictReader(io.StringIO(files["mturk.csv"]))
    assert (good["HITId"], good["AssignmentId"], good["WorkerId"]) == ("s1", "x-good", "good")
    assert (good["Approve"], good["Reject"]) == ("X", "")
    assert bad["Approve"] == ""
    assert bad["Reject"].startswith("The attention check")
    assert (gone["Approve"], gone["Reject"]) == ("", "")
    with pytest.raises(OptionError, match="unknown platform"):
        list_submissions(store, worked.study, "elsewhere")


def test_by_command(worked: Walker, store_url: str, tmp_path: Path) -> None:
    assert worked
    given = ["study", "submissions", "small", "--for", "prolific", "--out", str(tmp_path), "--json"]
    told = json.loads(run(*given, "--database", store_url).stdout)
    assert (told["approve"], told["reject"], told["ask"]) == (1, 0, 3)
    assert (tmp_path / "small-prolific-approve.txt").read_text("utf-8") == "good\n"
