"""Where a participant comes from: a link, an invitation, Prolific, or Mechanical Turk.

A recruiting service names its worker in the address. Of that name the database holds a keyed hash,
which makes one worker one participant, and the name itself only as long as paying needs it.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from useralign.errors import InputError
from useralign.store import pseudonym
from useralign.study.design import MTURK_HOSTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.study.studies import Study

LINK, PROLIFIC, MTURK = "link", "prolific", "mturk"
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what Mechanical Turk says while a task is looked at
SUBMIT = "/mturk/externalSubmit"
_LONGEST = 200
_KEYS = {
    PROLIFIC: ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
    MTURK: ("workerId", "assignmentId", "hitId", "turkSubmitTo"),
    LINK: ("invitation",),
}


@dataclass(frozen=True, slots=True)
class Arrival:
    """Someone who opens the study's page.

    Parameters
    ----------
    source : {"link", "prolific", "mturk"}
    worker : str or None
        Who they are to the recruiting service, or their invitation.
    details : mapping of str to str
        The service's own names and values, which the form carries on and paying needs.
    preview : bool
        Whether they are only looking.
    """

    source: str
    worker: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    preview: bool = False

    def hashed(self, study: Study) -> str | None:
        """Return the keyed hash of the worker's id, which the database holds."""
        return None if self.worker is None else pseudonym(f"{self.source} {self.worker}", study.key)

    def token(self, study: Study) -> str | None:
        """Return the worker's token, the same whenever they come; None for an open link."""
        if self.worker is None:
            return None
        return keyed_token(study, f"{self.source} {self.worker}")

    @property
    def recorded(self) -> dict[str, str]:
        """What is stored of the details: of an invitation nothing, its hash is enough."""
        return {} if self.source == LINK else dict(self.details)


def keyed_token(study: Study, name: str) -> str:
    """Return an unguessable token that follows from a name and the study's key."""
    code = hmac.new(study.key.encode(), f"token {name}".encode(), sha256).digest()
    return urlsafe_b64encode(code).decode().rstrip("=")


def arrive(study: Study, query: Mapping[str, str]) -> Arrival:
    """Read from an address, or from the form that repeats it, who is there.

    Parameters
    ----------
    study : Study
    query : mapping of str to str

    Raises
    ------
    InputError
        If the study takes nobody from there, or a value is not what the service sends.
    """
    if "PROLIFIC_PID" in query:
        return _from_prolific(study, query)
    if "assignmentId" in query:
        return _from_mturk(study, query)
    return _from_link(study, query)


def _from_prolific(study: Study, query: Mapping[str, str]) -> Arrival:
    if not study.design.recruitment.prolific:
        raise InputError("this study takes no participants from Prolific")
    details = _details(PROLIFIC, query)
    return Arrival(PROLIFIC, details["PROLIFIC_PID"], details)


def _from_mturk(study: Study, query: Mapping[str, str]) -> Arrival:
    mode = study.design.recruitment.mturk
    if mode == "off":
        raise InputError("this study takes no participants from Mechanical Turk")
    if query["assignmentId"] == PREVIEW:
        return Arrival(MTURK, preview=True)
    details = _details(MTURK, query)
    submit_address(study, details)
    return Arrival(MTURK, details["workerId"], details)


def _from_link(study: Study, query: Mapping[str, str]) -> Arrival:
    recruitment = study.design.recruitment
    if text := query.get("invitation"):
        if not (recruitment.invitation and is_invitation(study, text)):
            raise InputError(
                "this invitation is not valid for this study; use the link as you got it"
            )
        return Arrival(LINK, text, {"invitation": text})
    if not recruitment.link:
        raise InputError(
            "this study needs the link that you got from the recruiting service or by invitation; "
            "open it from there"
        )
    return Arrival(LINK)


def submit_address(study: Study, details: Mapping[str, str]) -> str:
    """Return where Mechanical Turk wants the finished task sent; nowhere but to its own hosts.

    Raises
    ------
    InputError
        If the address is another one.
    """
    parts = urlsplit(details["turkSubmitTo"])
    host = MTURK_HOSTS.get(study.design.recruitment.mturk)
    if parts.scheme != "https" or parts.netloc != host:
        raise InputError(f"turkSubmitTo must be https://{host}; open the task from there")
    return f"https://{host}{SUBMIT}"


def invitation(study: Study, name: str) -> str:
    """Return an invitation: a name with a signature that only this study's key can make."""
    return f"{name}.{keyed_token(study, f'invitation {name}')[:22]}"


def is_invitation(study: Study, text: str) -> bool:
    """Return whether a text is an invitation to the study."""
    name, _, _ = text.partition(".")
    return hmac.compare_digest(text.encode(), invitation(study, name).encode())


def _details(source: str, query: Mapping[str, str]) -> dict[str, str]:
    """Pick a service's values, each of a sensible form."""
    details = {}
    for key in _KEYS[source]:
        value = query.get(key, "")
        if not (0 < len(value) <= _LONGEST and value.isprintable()):
            raise InputError(
                f"the address lacks {key}, or it has no sensible value; open the study from the "
                "recruiting service's own page"
            )
        details[key] = value
    return details
