"""What a study file says about recruitment: where people come from, and the codes they get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, ValidationInfo, field_validator, model_validator

from useralign.files import read_json
from useralign.study.pages import COMPLETED, OUTCOMES, Entry

LINK, PROLIFIC, MTURK = "link", "prolific", "mturk"
MTURK_HOSTS = {"sandbox": "workersandbox.mturk.com", "live": "www.mturk.com"}
LONGEST = 200  # characters of a platform's id
_PROLIFIC_HOSTS = ("app.prolific.com", "app.prolific.co")
_PROLIFIC_KEYS = "https://api.prolific.com/.well-known/study/jwks.json"
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
TaskId = Annotated[str, Field(min_length=1, max_length=LONGEST)]


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

    @model_validator(mode="after")
    def _consistent(self) -> Recruitment:
        if not (self.link or self.invitation or self.platforms):
            raise ValueError("nobody could take part: set link, invitation, prolific or mturk")
        if self.keys and not self.prolific:
            raise ValueError("keys are those of Prolific; set prolific, or leave them out")
        if self._shown_code not in ("", self.codes.get(COMPLETED, self._shown_code)):
            raise ValueError(
                f"codes.completed is {self.codes[COMPLETED]!r}, but the address of Prolific has "
                f"{self._shown_code!r}; leave one of them out"
            )
        codes = list(self.completion_codes.values())
        if twins := sorted({code for code in codes if codes.count(code) > 1}):
            raise ValueError(f"codes: {twins[0]!r} is there twice; each outcome has its own")
        return self

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
        shown = {COMPLETED: self._shown_code} if self._shown_code else {}
        return {**shown, **self.codes}

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
