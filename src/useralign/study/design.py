"""What a study is: its conditions, its numbers and its words, as data.

The paper's study (section 6) crosses two domains, two methods and two conditions; a design may
have any number of each. `read_design` builds one from a TOML file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from useralign import domains
from useralign.errors import FileFormatError, OptionError
from useralign.files import parse_toml
from useralign.methods import method_for

if TYPE_CHECKING:
    from useralign.domains import Question

TEMPLATE = Path(__file__).parent / "data" / "study.toml"
WITH_PERSONA = "with-persona"
MTURK_HOSTS = {"sandbox": "workersandbox.mturk.com", "live": "www.mturk.com"}
_PROLIFIC = ("app.prolific.com", "app.prolific.co")

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
Words = Annotated[str, Field(min_length=1, max_length=20_000)]
Condition = Literal["with-persona", "without-persona"]


class Cell(NamedTuple):
    """What is compared between participants: one combination of domain, method and condition."""

    domain: str
    method: str
    condition: str


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DomainEntry(_Entry):
    """A domain with its questions, its number of comparisons and the two steps to evaluate."""

    name: str
    questions: Literal["all"] | Annotated[list[str], Field(min_length=1)] = "all"
    budget: Annotated[int, Field(ge=1, le=200)]
    checkpoints: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)]

    @model_validator(mode="after")
    def _in_order(self) -> DomainEntry:
        earlier, later = self.checkpoints
        if not earlier < later <= self.budget:
            raise ValueError(
                f"checkpoints must be two steps, the earlier first, within the budget of "
                f"{self.budget}; got {self.checkpoints}"
            )
        return self

    def load_questions(self) -> list[Question]:
        """Load the questions from the domain."""
        domain = domains.load(self.name)
        if self.questions == "all":
            return list(domain.questions)
        return [domain.question(name) for name in self.questions]


class Recruitment(_Entry):
    """Where participants come from.

    Parameters
    ----------
    link : bool
        Anybody with the address may take part.
    invitation : bool
        Only with an invitation, each for one participant; `useralign study invite` makes them.
    prolific : str
        The completion address that Prolific shows, or nothing.
    mturk : {"off", "sandbox", "live"}
    """

    link: bool = True
    invitation: bool = False
    prolific: str = ""
    mturk: Literal["off", "sandbox", "live"] = "off"

    @field_validator("prolific")
    @classmethod
    def _of_prolific(cls, address: str) -> str:
        parts = urlsplit(address)
        if address and (parts.scheme != "https" or parts.hostname not in _PROLIFIC):
            raise ValueError(
                "expected the completion address that Prolific shows for the study, "
                "https://app.prolific.com/submissions/complete?cc=..., or nothing"
            )
        return address

    @model_validator(mode="after")
    def _some_way_in(self) -> Recruitment:
        if not (self.link or self.invitation or self.prolific or self.mturk != "off"):
            raise ValueError("nobody could take part: set link, invitation, prolific or mturk")
        return self


class Design(_Entry):
    """A study as data.

    Parameters
    ----------
    slug : str
        Its name in addresses and commands.
    title : str
    participants : int
        How many are wanted, over all cells.
    methods : list of str
    conditions : list of {"with-persona", "without-persona"}
    domains : list of DomainEntry
    attention_checks : bool
        Whether the evaluation has a comparison whose right answer is stated.
    active_minutes : float
        How long a participant who does nothing keeps their place.
    payment, contact, consent : str
        What participants read; `consent` is Markdown.
    recruitment : Recruitment
    """

    slug: Slug
    title: Annotated[str, Field(min_length=1, max_length=200)]
    participants: Annotated[int, Field(ge=1, le=1_000_000)]
    methods: Annotated[list[str], Field(min_length=1)]
    conditions: Annotated[list[Condition], Field(min_length=1)]
    domains: Annotated[list[DomainEntry], Field(min_length=1)]
    attention_checks: bool = False
    active_minutes: Annotated[float, Field(gt=0, le=10_000, strict=False)] = 45.0
    payment: Annotated[str, Field(max_length=2_000)] = ""
    contact: Words
    consent: Words
    recruitment: Recruitment = Recruitment()

    @field_validator("methods", "conditions", "domains")
    @classmethod
    def _no_twins(cls, entries: list[Any]) -> list[Any]:
        names = [getattr(entry, "name", entry) for entry in entries]
        if twins := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{twins[0]!r} is there twice")
        return entries

    @property
    def cells(self) -> list[Cell]:
        """The cells, always in the same order; a participant's `cell` is an index into it."""
        return [
            Cell(domain.name, method, condition)
            for domain in self.domains
            for method in self.methods
            for condition in self.conditions
        ]

    @property
    def places(self) -> int:
        """How many participants each cell wants."""
        return -(-self.participants // len(self.cells))

    @property
    def window(self) -> float:
        """How long a participant who does nothing keeps their place, in seconds."""
        return 60.0 * self.active_minutes

    def domain(self, name: str) -> DomainEntry:
        """Return the entry of a domain."""
        for entry in self.domains:
            if entry.name == name:
                return entry
        raise OptionError(f"study {self.slug!r} has no domain {name!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain data."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, data: Any) -> Design:
        """Build a design from plain data."""
        return cls.model_validate(data)


def template() -> str:
    """Return a study file to begin with: the paper's study, with comments."""
    return TEMPLATE.read_text(encoding="utf-8")


def read_design(path: str | Path) -> Design:
    """Read a study file.

    Raises
    ------
    FileFormatError
        Naming the file, the key, what was found and what was expected.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(
            f"{path}: cannot be read as a study file ({error}); `useralign study init {path}` "
            "writes one to begin with"
        ) from error
    return parse_design(text, where=str(path))


def parse_design(text: str, where: str = "study file") -> Design:
    """Read a design from the text of a TOML file; `where` is its name in messages."""
    help_ = "`useralign study init` shows every key"
    return parse_toml(Design, text, where, check=_check_names, help_=help_)


def _check_names(design: Design) -> None:
    """Raise OptionError if a design names a domain, question or method that is not there."""
    for number, entry in enumerate(design.domains):
        try:
            questions = entry.load_questions()
        except OptionError as error:
            raise OptionError(f"domains[{number}]: {error}") from None
        if WITH_PERSONA in design.conditions:
            for question in questions:
                if not question.personas:
                    raise OptionError(
                        f"domains[{number}]: {question.id} has no persona, which the condition "
                        f"{WITH_PERSONA!r} needs; leave one of the two out"
                    )
    for number, name in enumerate(design.methods):
        try:
            asks = method_for(name).asks
        except OptionError as error:
            raise OptionError(f"methods[{number}]: {error}") from None
        if not asks:
            raise OptionError(
                f"methods[{number}]: {name!r} asks nothing, so there is nothing to compare; "
                "Random is evaluated in every study, leave it out"
            )
