"""Who comes from where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.study.conftest import Walker, small_design
from useralign.errors import InputError
from useralign.study import Study
from useralign.study.recruitment import (
    PREVIEW,
    arrive,
    invitation,
    is_invitation,
    submit_address,
)

PROLIFIC = {"PROLIFIC_PID": "5f0a", "STUDY_ID": "s1", "SESSION_ID": "x1"}
MTURK = {
    "workerId": "W1",
    "assignmentId": "A1",
    "hitId": "H1",
    "turkSubmitTo": "https://workersandbox.mturk.com",
}


def study(**recruitment: object) -> Study:
    design = small_design()
    chosen = {"link": False, "invitation": False, "prolific": "", "mturk": "off"} | recruitment
    return Study(small_design(recruitment=chosen), {}, f"key of {design.slug}", True, 0.0)


def test_prolific() -> None:
    here = study(prolific="https://app.prolific.com/submissions/complete?cc=1")
    arrival = arrive(here, PROLIFIC)
    assert (arrival.source, arrival.worker, arrival.recorded) == ("prolific", "5f0a", PROLIFIC)
    assert arrival.token(here) is None  # the id alone gives nothing
    again = arrive(here, PROLIFIC | {"SESSION_ID": "x2"})
    assert arrival.token(here, "cookie") == again.token(here, "cookie")
    assert arrival.token(here, "cookie") != again.token(here, "another")
    assert len(str(arrival.token(here, "cookie"))) == 43
    other = replace(here, key="another key")
    assert arrival.token(here, "cookie") != arrival.token(other, "cookie")
    assert arrival.hashed(here) != arrival.hashed(other)
    with pytest.raises(InputError, match="SESSION_ID"):
        arrive(here, PROLIFIC | {"SESSION_ID": ""})
    with pytest.raises(InputError, match="STUDY_ID"):
        arrive(here, PROLIFIC | {"STUDY_ID": "x" * 500})
    with pytest.raises(InputError, match="no participants from Prolific"):
        arrive(study(link=True), PROLIFIC)


def test_mechanical_turk() -> None:
    here = study(mturk="sandbox")
    assert arrive(here, MTURK).worker == "W1"
    assert submit_address(here, MTURK) == "https://workersandbox.mturk.com/mturk/externalSubmit"
    preview = arrive(here, {"assignmentId": PREVIEW, "hitId": "H1"})
    assert preview.preview
    assert preview.worker is None
    with pytest.raises(InputError, match="no participants from Mechanical Turk"):
        arrive(study(link=True), MTURK)


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example",
        "http://workersandbox.mturk.com",
        "https://workersandbox.mturk.com.evil.example",
        "https://workersandbox.mturk.com@evil.example",
        "https://workersandbox.mturk.com:444",
        "https://www.mturk.com",  # the live site is not this study's
        "javascript:alert(1)",
    ],
)
def test_answers_go_to_mechanical_turk_alone(address: str) -> None:
    with pytest.raises(InputError, match="turkSubmitTo"):
        arrive(study(mturk="sandbox"), MTURK | {"turkSubmitTo": address})


def test_links_and_invitations() -> None:
    assert arrive(study(link=True), {}).worker is None
    with pytest.raises(InputError, match="by invitation"):
        arrive(study(invitation=True), {})
    here = study(invitation=True)
    good = invitation(here, "guest-1")
    assert is_invitation(here, good)
    arrival = arrive(here, {"invitation": good})
    assert arrival.worker == good
    assert arrival.recorded == {}
    for bad in ("guest-1", "guest-2" + good[7:], good[:-1], good + "x", "é.é"):
        with pytest.raises(InputError, match="invitation is not valid"):
            arrive(here, {"invitation": bad})
    with pytest.raises(InputError):
        arrive(study(link=True), {"invitation": good})


def test_an_invitation_is_for_one(walker: Walker) -> None:
    given = invitation(walker.study, "guest")
    arrival = arrive(walker.study, {"invitation": given})
    assert walker.enter(arrival) == walker.enter(arrival)
