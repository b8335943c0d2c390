"""Where participants come from and go back to: a link, an invitation, Prolific, Mechanical Turk.

A platform names its worker in the address, which anybody could have written. So a worker's id opens
nothing by itself: who comes back must hold the cookie of the browser they began with, or bring
an address that the platform has signed. Of the id the database holds a keyed hash, which makes one
worker one participant, and the id itself, apart from all answers, only as long as paying needs it.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from useralign.errors import InputError, StoreError
from useralign.extras import import_extra
from useralign.store import pseudonym
from useralign.study.pages import COMPLETED
from useralign.study.recruitment import LINK, LONGEST, MTURK, MTURK_HOSTS, PROLIFIC
from useralign.study.wording import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.study.studies import Study

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what Mechanical Turk says while a task is looked at
SUBMIT = "/mturk/externalSubmit"
SIGNATURE = "prolific_token"  # where Prolific puts its signature into an address
_KEYS = {
    PROLIFIC: ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"),
    MTURK: ("workerId", "assignmentId", "hitId", "turkSubmitTo"),
    LINK: ("invitation",),
}
_KEYS_LAST = 600.0  # seconds after which a key set is fetched anew
_FETCH = 5.0  # seconds that fetching it may take
_CLOCKS = 30.0  # seconds by which the platform's clock and ours may differ


@dataclass(frozen=True, slots=True)
class Arrival:
    """Someone who opens the study's page."""

    source: str  # link, prolific or mturk
    worker: str | None = None  # who they are to the platform, or their invitation
    # The platform's own names and values, which the form carries on and paying needs.
    details: Mapping[str, str] = field(default_factory=dict)
    preview: bool = False  # whether they are only looking
    # Whether a signature, the platform's or that of an invitation, proves who they are.
    proven: bool = False

    def hashed(self, study: Study) -> str | None:
        """Return the keyed hash of the worker's id, which the database holds."""
        return None if self.worker is None else pseudonym(f"{self.source} {self.worker}", study.key)

    def token(self, study: Study, cookie: str | None = None) -> str | None:
        """Return the token to take part with: always the same for the same person.

        Without a proof of who they are it depends on what the browser's cookie holds, so that the
        worker's id alone gives nothing; without a cookie either, it is None.
        """
        if self.proven:
            return keyed_token(study, f"{self.source} {self.worker}")
        if cookie is None:
            return None
        if self.worker is None:
            return keyed_token(study, f"visitor {cookie}")
        return keyed_token(study, f"visitor {cookie} {self.source} {self.worker}")

    @property
    def recorded(self) -> dict[str, str]:
        """What is stored of the details: of an invitation nothing, its hash is enough."""
        return {} if self.source == LINK else dict(self.details)


def keyed_token(study: Study, name: str) -> str:
    """Return an unguessable token that follows from a name and the study's key."""
    code = hmac.new(study.key.encode(), f"token {name}".encode(), sha256).digest()
    return urlsafe_b64encode(code).decode().rstrip("=")


def arrive(study: Study, query: Mapping[str, str], host: str = "") -> Arrival:
    """Read from an address, or from the form that repeats it, who is there.

    `query` is what stands behind the address, or the fields of the form; `host` the name under
    which this server was reached, which a signature must be for. An InputError if the study takes
    nobody from there, or a value is not what the platform sends.
    """
    if "PROLIFIC_PID" in query or SIGNATURE in query:
        return _from_prolific(study, query, host)
    if "assignmentId" in query:
        return _from_mturk(study, query)
    return _from_link(study, query)


def _from_prolific(study: Study, query: Mapping[str, str], host: str) -> Arrival:
    recruitment = study.design.recruitment
    if not recruitment.prolific:
        raise InputError("this study takes no participants from Prolific")
    details = _details(PROLIFIC, query)
    _check_task(study, details["STUDY_ID"])
    arrival = Arrival(PROLIFIC, details["PROLIFIC_PID"], details)
    if not recruitment.keys:
        return arrival
    proven = replace(arrival, proven=True)
    # Only a page that was shown after a valid signature carries this token.
    shown = hmac.compare_digest(query.get("token", "").encode(), str(proven.token(study)).encode())
    if not shown:
        _check_signature(recruitment.keys, query.get(SIGNATURE, ""), details, host)
    return proven


def _from_mturk(study: Study, query: Mapping[str, str]) -> Arrival:
    if study.design.recruitment.mturk == "off":
        raise InputError("this study takes no participants from Mechanical Turk")
    if query["assignmentId"] == PREVIEW:
        return Arrival(MTURK, preview=True)
    details = _details(MTURK, query)
    _check_task(study, details["hitId"])
    submit_address(study, details)
    return Arrival(MTURK, details["workerId"], details)


def _from_link(study: Study, query: Mapping[str, str]) -> Arrival:
    recruitment = study.design.recruitment
    if text := query.get("invitation"):
        if not (recruitment.invitation and is_invitation(study, text)):
            raise InputError(
                "this invitation is not valid for this study; use the link as you got it"
            )
        return Arrival(LINK, text, {"invitation": text}, proven=True)
    if recruitment.platforms:
        names = {PROLIFIC: "Prolific", MTURK: "Mechanical Turk"}
        where = " / ".join(names[platform] for platform in recruitment.platforms)
        raise RefusedError("refused_platform", where=where)
    if not recruitment.link:
        raise RefusedError("refused_invitation")
    return Arrival(LINK)


def _check_task(study: Study, task: str) -> None:
    """Raise InputError if the platform's id of the study is not one of those allowed."""
    allowed = study.design.recruitment.task_ids
    if allowed and task not in allowed:
        raise InputError(
            "this address belongs to another study of the platform; open the study from the "
            "platform's own page"
        )


def submit_address(study: Study, details: Mapping[str, str]) -> str:
    """Return where Mechanical Turk wants the finished task sent; nowhere but to its own hosts."""
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
    """Pick a platform's values, each of a sensible form."""
    details = {}
    for key in _KEYS[source]:
        value = query.get(key, "")
        if not (0 < len(value) <= LONGEST and value.isprintable()):
            raise InputError(
                f"the address lacks {key}, or it has no sensible value; open the study from the "
                "recruiting service's own page"
            )
        details[key] = value
    return details


def _check_signature(
    keys: str | dict[str, Any], signature: str, details: Mapping[str, str], host: str
) -> None:
    """Raise InputError unless Prolific has signed these details, for this server, not long ago.

    What is checked is what Prolific's documentation asks for: the signature by the key that it
    names, `exp`, the host in `aud`, and the ids in `prolific`.
    """
    jwt = import_extra("jwt", "A signed address", "web")
    try:
        known = {key.key_id: key for key in _key_set(jwt, keys).keys}
        key = known[jwt.get_unverified_header(signature).get("kid")]
        claims = jwt.decode(
            signature,
            key,
            algorithms=["RS256"],
            leeway=_CLOCKS,
            options={"require": ["exp", "aud"], "verify_aud": False},
        )
    except (jwt.PyJWTError, KeyError) as error:
        raise _unsigned() from error
    ids = claims.get("prolific")
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    if not isinstance(ids, dict) or host not in map(_hostname, audiences):
        raise _unsigned()
    if any(ids.get(name) != value for name, value in details.items()):
        raise _unsigned()


def _hostname(audience: Any) -> str | None:
    """Return the name of the host that a signature is for: an address of it, or the name itself."""
    text = str(audience)
    return urlsplit(text if "//" in text else f"//{text}").hostname


def _unsigned() -> InputError:
    return InputError(
        "the address lacks Prolific's signature, or it is not for you, or too old; open the study "
        "from Prolific's own page once more"
    )


def _key_set(jwt: Any, keys: str | dict[str, Any]) -> Any:
    """Return a key set; one at an address is fetched at most once in `_KEYS_LAST` seconds."""
    if isinstance(keys, dict):
        return jwt.PyJWKSet.from_dict(keys)
    try:
        return _client(keys).get_jwk_set()
    except jwt.PyJWKClientConnectionError as error:
        raise StoreError(
            "the keys that prove where you come from cannot be fetched at the moment; try again "
            "in a minute"
        ) from error


@lru_cache(maxsize=64)
def _client(address: str) -> Any:
    jwt = import_extra("jwt", "A signed address", "web")
    return jwt.PyJWKClient(address, cache_jwk_set=True, lifespan=_KEYS_LAST, timeout=_FETCH)


@dataclass(frozen=True, slots=True)
class Completion:
    """What a participant takes back to where they came from."""

    outcome: str  # one of those of pages
    source: str  # link, prolific or mturk
    # The code that the platform knows for the outcome; with a link the participant's own.
    code: str | None
    address: str | None = None  # where Prolific takes the code, or Mechanical Turk the form
    # What the form to Mechanical Turk holds.
    fields: Mapping[str, str] = field(default_factory=dict)


def completion(
    study: Study, source: str, details: Mapping[str, str], outcome: str, own: str | None = None
) -> Completion:
    """Return what somebody takes back; `own` is the code of one who came by a plain link."""
    recruitment = study.design.recruitment
    code = recruitment.code(outcome, source)
    if source == PROLIFIC and code is not None:
        host = urlsplit(recruitment.prolific).hostname
        return Completion(outcome, source, code, f"https://{host}/submissions/complete?cc={code}")
    if source == MTURK and details and (code or outcome == COMPLETED):
        fields = {"assignmentId": details.get("assignmentId", ""), "outcome": outcome}
        fields |= {"code": code} if code else {}
        return Completion(outcome, source, code, submit_address(study, details), fields)
    return Completion(outcome, source, code or own)
