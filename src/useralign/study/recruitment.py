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
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, ValidationInfo, field_validator

from useralign.errors import StoreError
from useralign.extras import import_extra
from useralign.files import read_json
from useralign.store import pseudonym
from useralign.study.pages import COMPLETED, OUTCOMES, Context, Entry, duplicates
from useralign.study.wording import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LINK, PROLIFIC, MTURK = "link", "prolific", "mturk"
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what Mechanical Turk says while a task is looked at
MTURK_HOSTS = {"sandbox": "workersandbox.mturk.com", "live": "www.mturk.com"}
_NAMES = {PROLIFIC: "Prolific", MTURK: "Mechanical Turk"}
_PROLIFIC_HOSTS = ("app.prolific.com", "app.prolific.co")
_PROLIFIC_KEYS = "https://api.prolific.com/.well-known/study/jwks.json"
_SIGNATURE = "prolific_token"  # where Prolific puts its signature into an address
# What a platform puts into an address: its ids of the worker, of the submission and of the task.
_KEYS = {
    PROLIFIC: ("PROLIFIC_PID", "SESSION_ID", "STUDY_ID"),
    MTURK: ("workerId", "assignmentId", "hitId", "turkSubmitTo"),
}
_LONGEST = 200  # characters of a platform's id
_KEYS_LAST = 600.0  # seconds after which a key set is fetched anew
_FETCH = 5.0  # seconds that fetching it may take
_CLOCKS = 30.0  # seconds by which the platform's clock and ours may differ
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
TaskId = Annotated[str, Field(min_length=1, max_length=_LONGEST)]


class Recruitment(Entry):
    """Where participants come from, and what their platform is told at the end."""

    # Anybody with the address may take part; never when a platform is set, whose workers could
    # otherwise take part once more.
    link: bool = True
    # Only with an invitation, each for one participant; `useralign study invite` makes them.
    invitation: bool = False
    prolific: str = ""  # the completion address that Prolific shows, or nothing
    mturk: Literal["off", "sandbox", "live"] = "off"
    # The platform's ids of this study (STUDY_ID, hitId): others are refused. None given: any.
    task_ids: list[TaskId] = Field(default_factory=list)
    # The key set that Prolific signs addresses with: a file beside the study file, or an address.
    # When it is given, an address without a valid signature is refused.
    keys: str | dict[str, Any] = ""
    # The completion codes that the platform knows, by outcome.
    codes: dict[str, Code] = Field(default_factory=dict)
    # How many may begin from one network address within `active_minutes`; 0 is no limit, a quarter
    # of the participants when not given. Who is proven by a signature is not counted.
    per_address: Annotated[int, Field(ge=0)] | None = None

    @field_validator("prolific")
    @classmethod
    def _of_prolific(cls, address: str) -> str:
        parts = urlsplit(address)
        if address and (parts.scheme != "https" or parts.hostname not in _PROLIFIC_HOSTS):
            raise ValueError(
                "expected the completion address that Prolific shows for the study, "
                "https://app.prolific.com/submissions/complete?cc=..., or nothing"
            )
        return address

    @field_validator("codes")
    @classmethod
    def _known_outcomes(cls, codes: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(codes.keys() - set(OUTCOMES)):
            raise ValueError(f"{unknown[0]!r} is no outcome; expected {', '.join(OUTCOMES)}")
        return codes

    @field_validator("keys")
    @classmethod
    def _usable_keys(cls, keys: str | dict[str, Any], info: ValidationInfo) -> Any:
        """Check a key set; that of a file is read here, and stored with the study."""
        if isinstance(keys, str) and "://" in keys:
            if not _is_safe(keys):
                raise ValueError(f"expected an address that begins with https://, got {keys!r}")
            return keys
        name = keys
        if isinstance(keys, str) and keys:
            keys = read_json(Path((info.context or {}).get("folder") or "") / keys)
        if keys and not (isinstance(keys, dict) and isinstance(keys.get("keys"), list)):
            raise ValueError(
                f"{name if isinstance(name, str) else 'keys'}: expected a JSON Web Key Set, an "
                f"object with a list `keys`, as {_PROLIFIC_KEYS} has it"
            )
        return keys

    def problems(self, _: Context, /) -> Iterator[str]:
        """Yield what is wrong between ways to take part and codes."""
        if not (self.link or self.invitation or self.platforms):
            yield "nobody could take part: set link, invitation, prolific or mturk"
        if self.keys and not self.prolific:
            yield "keys are those of Prolific; set prolific, or leave them out"
        if self._shown_code not in ("", self.codes.get(COMPLETED, self._shown_code)):
            yield (
                f"codes.completed is {self.codes[COMPLETED]!r}, but the address of Prolific has "
                f"{self._shown_code!r}; leave one of them out"
            )
        for code in duplicates(self.completion_codes.values()):
            yield f"codes: {code!r} is there twice; each outcome has its own"

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms whose workers are taken."""
        used = {PROLIFIC: bool(self.prolific), MTURK: self.mturk != "off"}
        return tuple(name for name, is_used in used.items() if is_used)

    @property
    def _shown_code(self) -> str:
        """The code in the completion address of Prolific."""
        return parse_qs(urlsplit(self.prolific).query).get("cc", [""])[0]

    @property
    def completion_codes(self) -> dict[str, str]:
        """The codes by outcome, with the one in the completion address of Prolific."""
        completed = {COMPLETED: self._shown_code} if self._shown_code else {}
        return {**completed, **self.codes}

    def code(self, outcome: str, source: str) -> str | None:
        """Return the code of an outcome, if there is one; a platform's for its workers alone."""
        if source == PROLIFIC:
            return self.completion_codes.get(outcome)
        return self.codes.get(outcome) if source == MTURK or not self.platforms else None


def _is_safe(address: str) -> bool:
    """Whether nobody on the way can change what an address answers."""
    parts = urlsplit(address)
    on_this_machine = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost")
    return parts.scheme == "https" or on_this_machine


class _Recruiter(Protocol):
    """What of a study is needed here."""

    @property
    def key(self) -> str: ...
    @property
    def recruitment(self) -> Recruitment: ...


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

    def hashed(self, study: _Recruiter) -> str | None:
        """Return the keyed hash of the worker's id, which the database holds."""
        return None if self.worker is None else pseudonym(f"{self.source} {self.worker}", study.key)

    def token(self, study: _Recruiter, cookie: str | None = None) -> str | None:
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


def keyed_token(study: _Recruiter, name: str) -> str:
    """Return an unguessable token that follows from a name and the study's key."""
    code = hmac.new(study.key.encode(), f"token {name}".encode(), sha256).digest()
    return urlsafe_b64encode(code).decode().rstrip("=")


def arrive(study: _Recruiter, query: Mapping[str, str], host: str = "") -> Arrival:
    """Read from an address, or from the form that repeats it, who is there.

    `query` is what stands behind the address, or the fields of the form; `host` the name under
    which this server was reached, which a signature must be for. A RefusedError if the study takes
    nobody from there, or a value is not what the platform sends.
    """
    if "PROLIFIC_PID" in query or _SIGNATURE in query:
        source = PROLIFIC
    elif "assignmentId" in query:
        source = MTURK
    else:
        return _from_link(study, query)
    recruitment = study.recruitment
    if source not in recruitment.platforms:
        raise RefusedError("refused_source", where=_NAMES[source])
    if source == MTURK and query["assignmentId"] == PREVIEW:
        return Arrival(MTURK, preview=True)
    details = _details(source, query)
    worker, _, task = platform_ids(details)
    if recruitment.task_ids and task not in recruitment.task_ids:
        raise RefusedError("refused_task")
    arrival = Arrival(source, worker, details)
    if source == MTURK:
        submit_address(study, details)
    elif recruitment.keys:
        arrival = replace(arrival, proven=True)
        # Only a page that was shown after a valid signature carries this token.
        token = query.get("token", "").encode()
        if not hmac.compare_digest(token, str(arrival.token(study)).encode()):
            _check_signature(recruitment.keys, query.get(_SIGNATURE, ""), details, host)
    return arrival


def _from_link(study: _Recruiter, query: Mapping[str, str]) -> Arrival:
    recruitment = study.recruitment
    if text := query.get("invitation"):
        if not (recruitment.invitation and is_invitation(study, text)):
            raise RefusedError("refused_guest")
        return Arrival(LINK, text, {"invitation": text}, proven=True)
    if recruitment.platforms:
        where = " / ".join(_NAMES[platform] for platform in recruitment.platforms)
        raise RefusedError("refused_platform", where=where)
    if not recruitment.link:
        raise RefusedError("refused_invitation")
    return Arrival(LINK)


def platform_ids(details: Mapping[str, str]) -> list[str | None]:
    """Return a platform's ids of the worker, the submission and the task, where there are any."""
    keys = zip(_KEYS[PROLIFIC], _KEYS[MTURK], strict=False)
    return [details.get(one) or details.get(other) for one, other in keys]


def submit_address(study: _Recruiter, details: Mapping[str, str]) -> str:
    """Return where Mechanical Turk wants the finished task sent; nowhere but to its own hosts."""
    parts = urlsplit(details["turkSubmitTo"])
    host = MTURK_HOSTS.get(study.recruitment.mturk)
    if parts.scheme != "https" or parts.netloc != host:
        raise RefusedError("refused_submit", address=f"https://{host}")
    return f"https://{host}/mturk/externalSubmit"


def invitation(study: _Recruiter, name: str) -> str:
    """Return an invitation: a name with a signature that only this study's key can make."""
    return f"{name}.{keyed_token(study, f'invitation {name}')[:22]}"


def is_invitation(study: _Recruiter, text: str) -> bool:
    """Return whether a text is an invitation to the study."""
    name, _, _ = text.partition(".")
    return hmac.compare_digest(text.encode(), invitation(study, name).encode())


def _details(source: str, query: Mapping[str, str]) -> dict[str, str]:
    """Pick a platform's values, each of a sensible form."""
    details = {key: query.get(key, "") for key in _KEYS[source]}
    for key, value in details.items():
        if not (0 < len(value) <= _LONGEST and value.isprintable()):
            raise RefusedError("refused_detail", name=key)
    return details


def _check_signature(
    keys: str | dict[str, Any], signature: str, details: Mapping[str, str], host: str
) -> None:
    """Raise RefusedError unless Prolific has signed these details, for this server, not long ago.

    What is checked is what Prolific's documentation asks for: the signature by the key that it
    names, `exp`, the host in `aud`, and the ids in `prolific`.
    """
    jwt = import_extra("jwt", "A signed address", "web")
    try:
        by_id = {key.key_id: key for key in _key_set(jwt, keys).keys}
        key = by_id[jwt.get_unverified_header(signature).get("kid")]
        claims = jwt.decode(
            signature,
            key,
            algorithms=["RS256"],
            leeway=_CLOCKS,
            options={"require": ["exp", "aud"], "verify_aud": False},
        )
    except (jwt.PyJWTError, KeyError) as error:
        raise RefusedError("refused_signature") from error
    ids = claims.get("prolific")
    audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    for_us = isinstance(ids, dict) and host in map(_hostname, audiences)
    if not for_us or any(ids.get(name) != value for name, value in details.items()):
        raise RefusedError("refused_signature")


def _hostname(audience: Any) -> str | None:
    """Return the name of the host that a signature is for: an address of it, or the name itself."""
    text = str(audience)
    return urlsplit(text if "//" in text else f"//{text}").hostname


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
    study: _Recruiter, source: str, details: Mapping[str, str], outcome: str, own: str | None = None
) -> Completion:
    """Return what somebody takes back; `own` is the code of one who came by a plain link."""
    recruitment = study.recruitment
    code = recruitment.code(outcome, source)
    if source == PROLIFIC and code is not None:
        host = urlsplit(recruitment.prolific).hostname
        return Completion(outcome, source, code, f"https://{host}/submissions/complete?cc={code}")
    if source == MTURK and details and (code or outcome == COMPLETED):
        fields = {"assignmentId": details.get("assignmentId", ""), "outcome": outcome}
        fields |= {"code": code} if code else {}
        return Completion(outcome, source, code, submit_address(study, details), fields)
    return Completion(outcome, source, code or own)
