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

    [[methods]]
    name = "useralign"
    modes = ["epsilon", "budget"]
    options = { reask = true }

Cells come in a fixed order, and all their randomness follows from their keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator

from useralign.errors import FileFormatError, OptionError
from useralign.files import parse_toml
from useralign.lab.cells import CellSpec, embedder_of
from useralign.lab.plan_checks import check_plan, domain_trouble, usable_domains
from useralign.users import user_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

SHIPPED = Path(__file__).parent / "plans"

Count = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DomainEntry(_Entry):
    """A domain of a plan; one that is optional is left out where it cannot be run."""

    name: Name
    questions: Literal["all"] | list[str] = "all"
    optional: bool = False


class UserEntry(_Entry):
    """A kind of users, and how many there are for each question."""

    kind: Name
    count: Count = 3


class MethodEntry(_Entry):
    """A method with its options; `label` tells two variants of one method apart."""

    name: Name
    label: Name | None = None
    modes: Annotated[list[Literal["epsilon", "budget"]], Field(min_length=1)]
    options: dict[str, bool | int | float | str] = {}

    @property
    def shown(self) -> str:
        """What the method is called in results."""
        return self.label or self.name


class Plan(_Entry):
    """An experiment as data; `read_plan` makes one from a file.

    Parameters
    ----------
    name, title : str
    domains, users, methods : list
        Their product, with styles and seeds, is the cells.
    styles : list of {"mixed", "unbiased"}
    seeds : int or list of int
        How many, or which.
    limit : int
        How many answers a session may take in mode `epsilon`; the paper's cap is 199.
    budget : int
        How many it takes in mode `budget`.
    embedder, image_embedder : str, optional
        The default embedders of the machine when not given.
    """

    name: Name
    title: str = ""
    domains: Annotated[list[DomainEntry], Field(min_length=1)]
    users: Annotated[list[UserEntry], Field(min_length=1)]
    methods: Annotated[list[MethodEntry], Field(min_length=1)]
    styles: Annotated[list[Literal["mixed", "unbiased"]], Field(min_length=1)] = ["mixed"]
    seeds: Count | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = 5
    limit: Count = 199
    budget: Count = 199
    embedder: str | None = None
    image_embedder: str | None = None
    _text: str = PrivateAttr(default="")

    @field_validator("domains", "users", "methods", "styles", "seeds")
    @classmethod
    def _no_twins(cls, entries: object) -> object:
        if isinstance(entries, list):
            names = [_name(entry) for entry in entries]
            if twins := {name for name in names if names.count(name) > 1}:
                raise ValueError(f"{sorted(twins, key=str)[0]!r} is there twice")
        return entries

    @property
    def text(self) -> str:
        """The plan as it was read."""
        return self._text

    def cells(self) -> list[CellSpec]:
        """List the cells, always in the same order."""
        found = list(self._cells())
        keys = {cell.key for cell in found}
        if len(keys) < len(found):
            raise OptionError(f"plan {self.name!r} gives two cells the same key; rename a user")
        return found

    def troubles(self) -> dict[str, str]:
        """Return the domains that cannot be run here, with the reason and what to do about it.

        Optional ones are left out of the cells; the others keep the plan from being run.
        """
        found = {entry.name: domain_trouble(entry, self) for entry in self.domains}
        return {name: why for name, why in found.items() if why is not None}

    def embedders(self) -> dict[str, str]:
        """Return what makes the features of each domain on this machine."""
        return {
            domain.name: embedder_of(domain, self.embedder, self.image_embedder)
            for domain, _ in usable_domains(self)
        }

    def _cells(self) -> Iterator[CellSpec]:
        seeds = range(self.seeds) if isinstance(self.seeds, int) else self.seeds
        embedders = self.embedders()
        people = [(user.kind, user_kind(user.kind), user.count) for user in self.users]
        for domain, questions in usable_domains(self):
            for style, question in ((s, q) for s in self.styles for q in questions):
                for kind, name in (
                    (kind, name) for kind, made, n in people for name in made.roster(question, n)
                ):
                    where = (domain.name, style, question.id, name, kind)
                    for seed in seeds:
                        yield from self._runs(where, seed, embedders[domain.name])

    def _runs(
        self, where: tuple[str, str, str, str, str], seed: int, embedder: str
    ) -> Iterator[CellSpec]:
        for method in self.methods:
            for mode in method.modes:
                yield CellSpec(
                    *where,
                    method=method.shown,
                    mode=mode,
                    seed=seed,
                    method_name=method.name,
                    options=tuple(sorted(method.options.items())),
                    cap=self.limit if mode == "epsilon" else self.budget,
                    embedder=embedder,
                )


def shipped_plans() -> list[str]:
    """List the names of the plans that come with the package, sorted."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read_plan(source: str | Path) -> Plan:
    """Read a plan by the name of a shipped one, or by its path.

    Raises
    ------
    FileFormatError
        Naming the file, the key and what is wrong with it.
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


def _name(entry: object) -> object:
    for attribute in ("shown", "kind", "name"):
        if hasattr(entry, attribute):
            return getattr(entry, attribute)
    return entry
