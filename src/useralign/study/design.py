"""What a study is: its material, its arms, its pages and its words, as data.

The paper's study (section 6) crosses two domains, two methods and two conditions; a design may
have any number of each, and material of its own. `read_design` builds one from a TOML file.
"""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from string import Template as StringTemplate
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from useralign import domains
from useralign.errors import FileFormatError, OptionError, UseralignError
from useralign.files import parse_json, parse_toml
from useralign.methods import method_for
from useralign.store.interactions import FEW
from useralign.study.flags import FlagRules
from useralign.study.material import Material, QuestionEntry, shipped
from useralign.study.pages import (
    TASK,
    Context,
    Entry,
    PageEntry,
    Text,
    duplicates,
    in_language,
    named_pages,
)
from useralign.study.recruitment import Recruitment
from useralign.study.wording import Words, check_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from useralign.store.studies import Assignment

_DATA = Path(__file__).parent / "data"
WITH_PERSONA = "with-persona"
OWN = "own"  # the domain of questions that stand in the file itself
QUERY, COMPARISONS, EVALUATION, DONE = "query", "comparisons", "evaluation", "done"

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
Condition = Literal["with-persona", "without-persona"]
Budget = Annotated[int, Field(ge=1, le=200)]
Checkpoints = Annotated[list[Annotated[int, Field(ge=1)]], Field(max_length=2)]


class StudyCell(NamedTuple):
    """What is compared: one combination of domain, arm (by its name) and condition."""

    domain: str
    method: str
    condition: str


class Arm(Entry):
    """A way of choosing comparisons, as one group of participants meets it."""

    # Its name in the data; the method's when not given.
    name: Annotated[str, Field(max_length=40)] = ""
    method: str  # any installed one, or the preset `few`
    # How many candidates a screen has; 2, or what the preset says.
    per_screen: Annotated[int, Field(ge=2, le=9)] | None = None
    budget: Budget | None = None  # instead of the domain's
    checkpoints: Checkpoints | None = None  # instead of the domain's, as many as it has
    # Stop earlier, when the bound is at most this.
    epsilon: Annotated[float, Field(ge=0, strict=False)] | None = None
    options: dict[str, Any] = Field(default_factory=dict)  # the method's own
    # Its share of the participants, against 1 for the others.
    weight: Annotated[float, Field(gt=0, le=1000, strict=False)] = 1.0

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = {"method": data}
        if isinstance(data, dict) and not data.get("name") and "method" in data:
            data = {**data, "name": data["method"]}
        return data

    def problems(self, context: Context, /) -> Iterator[str]:
        """Yield what is wrong with the method and its options."""
        if context is None:
            return
        try:
            method = method_for("frugal" if self.method == FEW else self.method, **self.options)
        except UseralignError as error:
            yield str(error)
        else:
            if not method.asks:
                yield (
                    f"{self.method!r} asks nothing, so there is nothing to compare; "
                    "Random is evaluated in every study, leave it out"
                )

    @model_serializer(mode="wrap")
    def _brief(self, handler: SerializerFunctionWrapHandler) -> Any:
        """Write an arm that is a method and nothing else as its name, as a file has it."""
        plain = self == Arm.model_construct(name=self.method, method=self.method)
        return self.method if plain else handler(self)


class DomainEntry(Entry):
    """A set of questions with the number of comparisons and the steps to evaluate."""

    # A domain that comes with the package; or any name, with questions of your own.
    name: Annotated[str, Field(max_length=40)]
    # Of a domain that comes with the package.
    questions: Literal["all"] | Annotated[list[str], Field(min_length=1)] = "all"
    own: list[QuestionEntry] = Field(default_factory=list)  # questions of your own
    budget: Budget
    # One or two steps whose selections are compared with the baseline; none for a study without
    # evaluation.
    checkpoints: Checkpoints

    def problems(self, context: Context, /) -> Iterator[str]:
        """Yield what is wrong with checkpoints and questions."""
        yield from _checkpoint_problems(self.checkpoints, self.budget)
        for name in duplicates(question.id for question in self.own):
            yield f"the question {name!r} is there twice"
        if context is not None and not self.own:
            try:
                self.load_questions(None)
            except OptionError as error:
                yield str(error)

    def load_questions(self, folder: Path | None) -> list[Material]:
        """Return the questions; `folder` is where the files of your own are."""
        if self.own:
            return [entry.material(folder or Path()) for entry in self.own]
        domain = domains.load(self.name)
        if self.questions == "all":
            return [shipped(question) for question in domain.questions]
        return [shipped(domain.question(name)) for name in self.questions]


def _checkpoint_problems(checkpoints: list[int], budget: int) -> Iterator[str]:
    if sorted(set(checkpoints)) != checkpoints or max(checkpoints, default=0) > budget:
        yield (
            f"checkpoints must be at most two steps, the earlier first, within the budget of "
            f"{budget}; got {checkpoints}"
        )


class Quota(Entry):
    """How many participants some cells want."""

    # Which cells; all where one of these is not given.
    domain: str | None = None
    method: str | None = None
    condition: Condition | None = None
    participants: Annotated[int, Field(ge=0, le=1_000_000)]  # for each of these cells

    def covers(self, cell: StudyCell) -> bool:
        """Whether a cell is one of these."""
        names = (self.domain, self.method, self.condition)
        return all(name in (None, value) for name, value in zip(names, cell, strict=True))


class Design(Entry):
    """A study as data."""

    # Checks between parts run also for those that are left at their defaults.
    model_config = ConfigDict(validate_default=True)

    slug: Slug  # its name in addresses and commands
    title: Text  # what participants see; like every text, one or one per language
    participants: Annotated[int, Field(ge=1, le=1_000_000)]  # how many are wanted, over all cells
    # In a file also `arms`; a plain name is a method without options.
    methods: Annotated[list[Arm], Field(min_length=1)]
    conditions: list[Condition] = Field(["without-persona"], min_length=1)
    # In a file questions of your own also stand at the top, with `budget` and `checkpoints`.
    domains: Annotated[list[DomainEntry], Field(min_length=1)]
    # Whether a participant meets one arm, or all of them one after the other.
    assignment: Literal["between", "within"] = "between"
    # How many questions a participant gets with each arm they meet.
    questions_each: Literal["all"] | Annotated[int, Field(ge=1, le=50)] = 1
    # For cells that want another number of participants than the others.
    quotas: list[Quota] = Field([])
    seed: int | None = None  # makes assignments, sides and orders reproducible
    # What comes before and after the task; the task alone when not given.
    pages: Annotated[list[PageEntry], BeforeValidator(named_pages)] = Field(default_factory=list)
    wording: Literal["plain", "paper"] = "plain"  # the built-in texts
    # Texts in place of built-in ones, by their key.
    words: dict[str, Text] = Field(default_factory=dict)
    # The first is the one for browsers of other languages.
    languages: list[str] = Field(["en"], min_length=1)
    # Whether the evaluation has a comparison whose right answer is stated.
    attention_checks: bool = False
    # How long a participant who does nothing keeps their place.
    active_minutes: Annotated[float, Field(gt=0, le=10_000, strict=False)] = 45.0
    # How long a participant may take in all.
    limit_minutes: Annotated[float, Field(gt=0, le=100_000, strict=False)] | None = None
    withdraw: bool = True  # whether pages have a way to stop taking part
    payment: Text = ""
    contact: Text
    consent: Text  # Markdown
    recruitment: Recruitment = Recruitment()
    flags: FlagRules = FlagRules()  # when somebody's answers are flagged
    # What its data are: a rehearsal is a study of its own, and marked.
    data: Literal["study", "pilot", "simulated"] = "study"
    _folder: Path | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, data: Any, info: ValidationInfo) -> Any:
        """Take the shorter spellings of a file for what they stand for."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        if "arms" in data and "methods" not in data:
            data["methods"] = data.pop("arms")
        if "questions" in data and "domains" not in data:
            folder = (info.context or {}).get("folder")
            entry = {"name": OWN, "own": _listed(data.pop("questions"), folder), "checkpoints": []}
            keys = [key for key in ("budget", "checkpoints") if key in data]
            data["domains"] = [entry | {key: data.pop(key) for key in keys}]
        return data

    @field_validator("methods", "conditions", "domains", "pages", "languages")
    @classmethod
    def _each_once(cls, entries: list[Any]) -> list[Any]:
        names = [getattr(entry, "name", getattr(entry, "id", entry)) for entry in entries]
        for name in duplicates(names):
            raise ValueError(f"{name!r} is there twice")
        return entries

    @field_validator("contact", "consent", "title")
    @classmethod
    def _says_something(cls, text: Any) -> Any:
        if not text:
            raise ValueError("must not be empty")
        return text

    @field_validator("domains", "questions_each", "quotas", "pages", "languages")
    @classmethod
    def _fits_the_rest(cls, value: Any, info: ValidationInfo) -> Any:
        """Check a part together with those before it, so that one mistake does not hide another."""
        needed, find_problems = _CHECKS[str(info.field_name)]
        if all(name in info.data for name in needed):
            draft = cls.model_construct(**info.data, **{str(info.field_name): value})
            if problems := list(find_problems(draft, info.context)):
                raise PydanticCustomError("lines", "{lines}", {"lines": "\n".join(problems)})
        return value

    def model_post_init(self, context: Any) -> None:
        """Remember where the files are."""
        self._folder = (context or {}).get("folder")

    def __eq__(self, other: object) -> bool:
        """Whether two designs say the same, wherever their files are."""
        return isinstance(other, Design) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.slug)

    @property
    def crossed(self) -> bool:
        """Whether a participant gets all questions, with every arm they meet."""
        return self.questions_each == "all"

    @property
    def cells(self) -> list[StudyCell]:
        """The cells, always in the same order; a participant's `cell` is an index into it.

        Within persons a cell has all arms, and is named after the one that comes first.
        """
        return [
            StudyCell(domain.name, arm.name, condition)
            for domain in self.domains
            for arm in self.methods
            for condition in self.conditions
        ]

    def sequence(self, number: int, questions: int) -> list[StudyCell]:
        """Return what a participant of a cell meets, round by round.

        `number` is the index among the cells, `questions` how many of them the domain has.
        """
        cell = self.cells[number]
        each = questions if isinstance(self.questions_each, str) else self.questions_each
        if self.assignment == "between":
            return [cell] * each
        names = self.arm_names
        first = names.index(cell.method)
        turned = names[first:] + names[:first]
        return [cell._replace(method=name) for name in turned for _ in range(each)]

    def route(self, sequence: list[StudyCell]) -> list[str]:
        """Return the stages of a participant who meets this sequence; see `stage_key`."""
        pages = self.pages or [PageEntry(id=TASK, kind=TASK)]
        rounds = [page.id for page in pages if page.each_round]
        stages: list[str] = []
        for page in pages:
            if page.kind == TASK:
                for number, cell in enumerate(sequence):
                    evaluated = [EVALUATION] if self.checkpoints(*cell[:2]) else []
                    names = [QUERY, COMPARISONS, *evaluated, *rounds]
                    stages += [stage_key(name, number) for name in names]
            elif not page.each_round:
                stages.append(page.id)
        return [*stages, DONE]

    @property
    def quota(self) -> list[int]:
        """How many participants each cell wants."""
        weights = [self.arm(cell.method).weight for cell in self.cells]
        whole = sum(weights)
        wanted = [math.ceil(self.participants * weight / whole - 1e-9) for weight in weights]
        for entry in self.quotas:
            for number, cell in enumerate(self.cells):
                if entry.covers(cell):
                    wanted[number] = entry.participants
        return wanted

    @property
    def wanted(self) -> int:
        """How many participants are wanted in all."""
        return sum(self.quota) if self.quotas else self.participants

    @property
    def places(self) -> int:
        """How many participants the largest cell wants."""
        return max(self.quota)

    @property
    def heading(self) -> str:
        """The title in the first language."""
        return in_language(self.title, self.languages[0])

    @property
    def window(self) -> float:
        """How long a participant who does nothing keeps their place, in seconds."""
        return 60.0 * self.active_minutes

    @property
    def arm_names(self) -> list[str]:
        """The names of the arms."""
        return [arm.name for arm in self.methods]

    def arm(self, name: str) -> Arm:
        """Return an arm by its name."""
        return next(arm for arm in self.methods if arm.name == name)

    def page(self, name: str) -> PageEntry | None:
        """Return a page by its id; None for a part of the task."""
        return next((page for page in self.pages if page.id == name), None)

    def budget(self, domain: str, arm: str) -> int:
        """Return the number of comparisons of an arm in a domain."""
        return self.arm(arm).budget or self.domain(domain).budget

    def checkpoints(self, domain: str, arm: str) -> list[int]:
        """Return the steps that are evaluated for an arm in a domain."""
        own_steps = self.arm(arm).checkpoints
        return self.domain(domain).checkpoints if own_steps is None else own_steps

    def settings(self, assignment: Assignment, seed: int) -> dict[str, Any]:
        """Return the arguments of a session of somebody with this assignment."""
        arm = self.arm(assignment.method)
        optional = {"per_screen": arm.per_screen, "options": arm.options}
        return {
            "method": arm.method,
            "epsilon": arm.epsilon,
            "budget": self.budget(assignment.domain, arm.name),
            "seed": seed,
        } | {name: value for name, value in optional.items() if value}

    def domain(self, name: str) -> DomainEntry:
        """Return the entry of a domain."""
        for entry in self.domains:
            if entry.name == name:
                return entry
        raise OptionError(f"study {self.slug!r} has no domain {name!r}")

    def words_in(self, language: str) -> Words:
        """Return the texts of the pages in a language."""
        return Words(self.wording, self.words, language)

    def load_questions(self) -> dict[str, list[Material]]:
        """Return the questions by domain; those of your own from beside the study file."""
        return {entry.name: entry.load_questions(self._folder) for entry in self.domains}

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain data."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, data: Any) -> Design:
        """Build a design from plain data, such as `to_dict` returns."""
        return cls.model_validate(data)

    def changed(self, **changes: Any) -> Design:
        """Return the design with other values for some keys; its files are where they were."""
        new = self.from_dict(self.to_dict() | changes)
        new._folder = self._folder
        return new


# What is wrong between parts that are right by themselves.
def _material_problems(draft: Design, context: Context) -> Iterator[str]:
    if context is None or not context["prepared"]:
        return
    for number, entry in enumerate(draft.domains):
        for index, material in enumerate(entry.load_questions(context["folder"])):
            where = f"domains[{number}]" + (f".own[{index}]" if entry.own else "")
            if WITH_PERSONA in draft.conditions and not material.personas:
                yield (
                    f"{where}: {material.id} has no persona, which the condition 'with-persona' "
                    "needs; leave one of the two out"
                )
            if entry.own and entry.checkpoints and material.pool.baseline is None:
                yield (
                    f"{where}: {material.id}: has no baseline to compare selections with; give "
                    "baseline = ..., or checkpoints = [] for a study without evaluation"
                )


def _question_problems(draft: Design, context: Context) -> Iterator[str]:
    if context is None or draft.crossed:
        return
    needed = int(draft.questions_each)
    needed *= len(draft.methods) if draft.assignment == "within" else 1
    for entry in draft.domains:
        count = len(entry.load_questions(context["folder"]))
        if count < needed:
            yield (
                f"questions_each: a participant would need {needed} different questions, there are "
                f'{count}; lower it, or say questions_each = "all" to repeat them with every arm'
            )


def _cell_problems(draft: Design, _: Context) -> Iterator[str]:
    for number, arm in enumerate(draft.methods):
        for entry in draft.domains:
            steps = draft.checkpoints(entry.name, arm.name)
            for problem in _checkpoint_problems(steps, draft.budget(entry.name, arm.name)):
                yield f"methods[{number}]: {problem}"
            if len(steps) != len(entry.checkpoints):
                wanted = f"{entry.name} has {len(entry.checkpoints)}; give as many"
                yield f"methods[{number}]: has {len(steps)} checkpoints, {wanted}"
    for number, quota in enumerate(draft.quotas):
        if not any(quota.covers(cell) for cell in draft.cells):
            yield f"quotas[{number}]: is about none of the cells"


def _page_problems(draft: Design, _: Context) -> Iterator[str]:
    for name in sorted({QUERY, COMPARISONS, EVALUATION, DONE} & {page.id for page in draft.pages}):
        yield f"pages: the id {name!r} is taken by a part of the task; name the page otherwise"
    if draft.pages and [page.kind for page in draft.pages].count(TASK) != 1:
        yield 'pages: needs one page of kind = "task", where the comparisons come'


def _word_problems(draft: Design, context: Context) -> list[str]:
    return check_words(draft.words, draft.wording, draft.languages) if context else []


# By the field that is checked: what must be right before it, and how.
_CHECKS: dict[str, tuple[tuple[str, ...], Callable[[Design, Context], Iterable[str]]]] = {
    "domains": (("conditions",), _material_problems),
    "questions_each": (("methods", "domains", "assignment"), _question_problems),
    "quotas": (("methods", "conditions", "domains"), _cell_problems),
    "pages": ((), _page_problems),
    "languages": (("wording", "words"), _word_problems),
}


def stage_key(name: str, number: int) -> str:
    """Return the name of a stage in a round, from 0: `query`, `query.1`, ..."""
    return f"{name}.{number}" if number else name


def split_stage(key: str) -> tuple[str, int]:
    """Return the name and the round of a stage."""
    name, _, number = key.partition(".")
    return name, int(number) if number.isdecimal() else 0


def _listed(questions: Any, folder: Path | None) -> Any:
    """Return questions as a list; a text is the name of a TOML or JSON lines file beside."""
    if isinstance(questions, str):
        path = Path(folder or ".") / questions
        try:
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".toml":
                questions = tomllib.loads(text).get("questions")
            else:
                questions = [parse_json(line) for line in text.splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise ValueError(f"questions: {path.name} cannot be read ({error})") from None
    if not isinstance(questions, list):
        return questions
    return [
        {"id": f"q{number}", **question} if isinstance(question, dict) else question
        for number, question in enumerate(questions, start=1)
    ]


def template() -> str:
    """Return a study file to begin with: the paper's study, with comments."""
    return (_DATA / "study.toml").read_text(encoding="utf-8")


def paper_template(participants: int) -> str:
    """Return the same as close to the paper as can be, without what the paper does not have."""
    words = 'wording = "paper"              # its stage titles and instructions\nwithdraw = false\n'
    changes = {
        "participants = 960 ": f"participants = {participants} ",
        "attention_checks = true ": f"{words}attention_checks = false",
        # The paper's algorithm may select a pair that was answered before.
        '["useralign",': '[{ method = "useralign", options = { reask = true } },',
    }
    text = template()
    for before, after in changes.items():
        text = text.replace(before, after)
    return text


def own_template(kind: str, question: str, answers: str, participants: int) -> str:
    """Return a study file to begin with for material of your own, with comments.

    `kind` is "texts" or "pictures"; `answers` a file or folder, or who makes them, such as
    `openai:gpt-4o`.
    """
    text = (_DATA / "own.toml").read_text(encoding="utf-8")
    pictures = kind == "pictures"
    made = ":" in answers and not Path(answers).exists()
    material = f"model = {json.dumps(answers)}   # makes the answers: `useralign study prepare`"
    if not made:
        usual = '"A usual answer, to compare selections with."   # or the id of an answer'
        if pictures:
            usual = '"usual.png"         # a picture beside this file, or the id of one in the pool'
        material = f"pool = {json.dumps(answers)}\nbaseline = {usual}"
    return StringTemplate(text).substitute(
        slug="my-study",
        participants=participants,
        several=6 if pictures else 4,
        question=json.dumps(question, ensure_ascii=False),
        material=material + ("\nimages = true" if made and pictures else ""),
    )


def read_design(path: str | Path, *, prepared: bool = True) -> Design:
    """Read a study file; `prepared` is whether the material must be there.

    A FileFormatError names the file, and for everything that is wrong the key, what was found and
    what was expected.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(
            f"{path}: cannot be read as a study file ({error}); `useralign study init {path}` "
            "writes one to begin with"
        ) from error
    folder = Path(path).absolute().parent
    return parse_design(text, where=str(path), folder=folder, prepared=prepared)


def parse_design(
    text: str, where: str = "study file", *, folder: Path | None = None, prepared: bool = True
) -> Design:
    """Read a design from the text of a TOML file, which messages call `where`.

    The files that it names are in `folder`, the working folder when not given; `prepared` is
    whether the material must be there.
    """
    help_ = "`useralign study init` shows every key"
    context = {"folder": folder or Path(), "prepared": prepared}
    return parse_toml(Design, text, where, help_=help_, context=context, spell=_as_written(text))


def _as_written(text: str) -> Callable[[str], str]:
    """Return what undoes the spelling out of shorter keys, for messages about a file."""
    lines = [line.strip() for line in text.splitlines()]
    if "[[domains]]" in lines:
        short: dict[str, str] = {}
    else:
        short = {"domains[0].own": "questions", "domains[0].": "", "domains[0]: ": ""}
    if any(line.startswith(("[[arms]]", "arms ", "arms=")) for line in lines):
        short["methods"] = "arms"

    def spell(problem: str) -> str:
        for long, brief in short.items():
            if problem.startswith(long):
                return brief + problem.removeprefix(long)
        return problem

    return spell
