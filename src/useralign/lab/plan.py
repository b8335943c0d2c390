"""Plans: which cells an experiment has, as data in a TOML file.

    name = "main"
    seeds = 5                       # 0 to 4, or a list
    styles = ["mixed"]

    [[domains]]
    name = "food64d"
    questions = "all"               # or a list of ids

    [[users]]
    kind = "persona"                # a registered kind of user
    count = 3                       # for each question
    slips = 0.05                    # the share of answers that are turned round; 0 if not given

    [[methods]]
    name = "useralign"
    modes = ["epsilon", "budget"]
    options = { reask = true }

Cells come in a fixed order, and all their randomness follows from their keys. A plan is checked
against what is there (domains, questions, users, methods) when it is read or changed.
"""

from __future__ import annotations

import contextlib
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from useralign import domains, registry
from useralign.errors import FileFormatError, OptionError
from useralign.files import parse_toml
from useralign.lab.cell import PlanCell, embedder_of
from useralign.methods import method_for
from useralign.users import user_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from useralign.domains import Domain, Question

SHIPPED = Path(__file__).parent / "plans"

Count = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class _PlanPart(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PlanDomain(_PlanPart):
    """A domain of a plan; one that is optional is left out where it cannot be run."""

    name: Name
    questions: Literal["all"] | list[str] = "all"
    optional: bool = False

    def selected(self) -> list[Question]:
        """Return the questions that are named; none of a domain that is optional and not there."""
        if self.optional and self.name not in domains.names():
            return []
        domain = domains.load(self.name)
        if self.questions == "all":
            return list(domain.questions)
        return [domain.question(ident) for ident in self.questions]


class PlanUser(_PlanPart):
    """A kind of users, and how many there are for each question.

    With `slips`, that share of their answers is turned round, whatever the pair.
    """

    kind: Name
    count: Count = 3
    slips: Annotated[float, Field(ge=0.0, le=0.5)] = 0.0

    @property
    def title(self) -> str:
        """What the kind is called in results, as `cell.user_of` reads it."""
        return f"{self.kind}+{self.slips:g}" if self.slips else self.kind

    def roster(self, question: Question) -> list[str]:
        """Return the names of the users for a question."""
        names = user_kind(self.kind).roster(question, self.count)
        return [f"{name}+{self.slips:g}" for name in names] if self.slips else names


class PlanMethod(_PlanPart):
    """A method with its options; `label` distinguishes two variants of one method."""

    name: Name
    label: Name | None = None
    modes: Annotated[list[Literal["epsilon", "budget"]], Field(min_length=1)]
    options: dict[str, bool | int | float | str] = {}

    @property
    def title(self) -> str:
        """What the method is called in results."""
        return self.label or self.name


class Plan(_PlanPart):
    """An experiment as data; `read_plan` makes one from a file.

    The cells are the product of domains, users, methods, styles and seeds.
    """

    name: Name
    title: str = ""
    domains: Annotated[list[PlanDomain], Field(min_length=1)]
    users: Annotated[list[PlanUser], Field(min_length=1)]
    methods: Annotated[list[PlanMethod], Field(min_length=1)]
    styles: Annotated[list[Literal["mixed", "unbiased"]], Field(min_length=1)] = ["mixed"]
    # how many, or which
    seeds: Count | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = 5
    # how many answers a session may take in mode `epsilon`; the paper's cap is 199
    limit: Count = 199
    budget: Count = 199  # how many it takes in mode `budget`
    embedder: str | None = None  # the default ones of the machine if not given
    image_embedder: str | None = None
    # whether results have every step, and not only those in which something is new
    every_step: bool = False
    # a folder of pools whose name is one of the domains; see `useralign.domains.pools`
    data: str | None = None
    _text: str = PrivateAttr(default="")

    @field_validator("domains", "users", "methods", "styles", "seeds")
    @classmethod
    def _no_twins(cls, entries: object) -> object:
        if isinstance(entries, list):
            names = [getattr(e, "title", getattr(e, "name", e)) for e in entries]
            if twins := {name for name in names if names.count(name) > 1}:
                raise ValueError(f"{sorted(twins, key=str)[0]!r} is there twice")
        return entries

    @property
    def text(self) -> str:
        """The plan as TOML: as it was read, or written anew after `replace`."""
        return self._text or tomli_w.dumps(self.model_dump(exclude_none=True))

    def replace(self, **changes: Any) -> Plan:
        """Return a plan with other values, checked like one that is read: see `check_plan`."""
        plan = Plan.model_validate({**self.model_dump(), **changes})
        check_plan(plan)
        return plan

    def cells(self) -> list[PlanCell]:
        """List the cells, always in the same order."""
        cells = list(self._cells())
        if len({cell.key for cell in cells}) < len(cells):
            raise OptionError(f"plan {self.name!r} gives two cells the same key; rename a user")
        return cells

    def usable(self) -> Iterator[tuple[Domain, list[Question]]]:
        """Iterate over the domains that can be run, each with its selected questions."""
        for entry in self.domains:
            if not (entry.optional and self._trouble(entry)):
                yield domains.load(entry.name), entry.selected()

    def troubles(self) -> dict[str, str]:
        """Return the domains that cannot be run here, with the reason and what to do about it.

        Optional ones are left out of the cells; the others keep the plan from being run.
        """
        troubles = {entry.name: self._trouble(entry) for entry in self.domains}
        return {name: why for name, why in troubles.items() if why is not None}

    def embedders(self) -> dict[str, str]:
        """Return what makes the features of each domain on this machine."""
        return {domain.name: self._embedder(domain) for domain, _ in self.usable()}

    def _embedder(self, domain: Domain) -> str:
        return embedder_of(domain, self.embedder, self.image_embedder)

    def _trouble(self, entry: PlanDomain) -> str | None:
        if entry.name not in domains.names():
            return f"there is no domain {entry.name!r}; known: {', '.join(domains.names())}"
        domain = domains.load(entry.name)
        return domain.trouble(self._embedder(domain))

    def _cells(self) -> Iterator[PlanCell]:
        seeds = range(self.seeds) if isinstance(self.seeds, int) else self.seeds
        methods = [(method, mode) for method in self.methods for mode in method.modes]
        for domain, questions in self.usable():
            embedder = self._embedder(domain)
            for style, question, user in product(self.styles, questions, self.users):
                for name, seed, (method, mode) in product(user.roster(question), seeds, methods):
                    yield PlanCell(
                        *(domain.name, style, question.id, name, user.title),
                        method=method.title,
                        mode=mode,
                        seed=seed,
                        method_name=method.name,
                        options=tuple(sorted(method.options.items())),
                        cap=self.limit if mode == "epsilon" else self.budget,
                        embedder=embedder,
                        every_step=self.every_step,
                        data=self.data,
                    )


def shipped_plans() -> list[str]:
    """List the names of the plans that come with the package, sorted."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read_plan(source: str | Path) -> Plan:
    """Read a plan by the name of a shipped one, or by its path.

    Raises FileFormatError naming the file, the key and what is wrong with it.
    """
    path = Path(source)
    if str(source) in shipped_plans():
        path = SHIPPED / f"{source}.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(
            f"{path}: cannot be read as a plan ({error}); plans that come with useralign: "
            + ", ".join(shipped_plans())
        ) from error
    return parse_plan(text, where=str(path))


def parse_plan(text: str, where: str = "plan") -> Plan:
    """Read a plan from the text of a TOML file; `where` is its name in messages."""
    help_ = "the plans that come with useralign show every key"
    plan = parse_toml(Plan, text, where, check=check_plan, help_=help_)
    plan._text = text
    return plan


def check_plan(plan: Plan) -> None:
    """Raise OptionError, naming the key, if a plan names something that is not there."""
    if plan.data is not None:
        with _naming("data"):
            domains.add(plan.data)
    for number, entry in enumerate(plan.domains):
        with _naming(f"domains[{number}]"):
            questions = entry.selected()
            for index, user in enumerate(plan.users):
                with _naming(f"users[{index}]"):
                    for question in questions:
                        user.roster(question)
    for number, method in enumerate(plan.methods):
        with _naming(f"methods[{number}]"):
            _check_method(method)
    if not list(plan.usable()):
        raise OptionError("domains: all are optional, and none of them can be run here")


def _check_method(entry: PlanMethod) -> None:
    method = registry.load("methods", entry.name)
    if "epsilon" in entry.modes and not (method.asks and method.stops):
        raise OptionError(
            f'{entry.name} certifies nothing, so it has no mode "epsilon"; use modes = ["budget"]'
        )
    if entry.name != "oracle":  # it is given the utilities of each user
        method_for(entry.name, **entry.options)


@contextlib.contextmanager
def _naming(key: str) -> Iterator[None]:
    try:
        yield
    except OptionError as error:
        raise OptionError(f"{key}: {error}") from error
