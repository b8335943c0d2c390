"""Pages of a study beside the task: texts and questions, how they are checked, what follows.

Every page is of one form: a title, a text, and fields to fill in. Its kind sets what happens when
a field that has a right answer is answered otherwise: a quiz is tried again and then ends the
study, an attention check is tried once and recorded.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

COMPLETED, SCREENED_OUT, QUOTA_FULL = "completed", "screened-out", "quota-full"
TIMED_OUT, WITHDRAWN, RETURNED = "timed-out", "withdrawn", "returned"
FAILED_CHECK, DECLINED = "failed-check", "declined"
OUTCOMES = (
    COMPLETED, SCREENED_OUT, QUOTA_FULL, TIMED_OUT, WITHDRAWN, RETURNED, FAILED_CHECK, DECLINED,
)  # fmt: skip
TASK: Literal["task"] = "task"
LONGEST = 5_000  # characters of a text answer, unless the field says less
RESERVED = ("stage", "step", "response", "milliseconds", "left", "leave")  # of every page's form
_SEVERAL = "choices"
_FORM_KINDS = ("quiz", "questionnaire", "attention")
# Of a study file: its `folder`, and whether its material must be there (`prepared`). None where a
# design comes from the database, and its material and words were checked before.
Context = Mapping[str, Any] | None


class Entry(BaseModel):
    """A part of a study file: every key is known, and nothing is changed after reading."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="after")
    def _is_right(self, info: ValidationInfo) -> Self:
        if problems := list(self.problems(info.context)):
            raise PydanticCustomError("several", "{lines}", {"lines": "\n".join(problems)})
        return self

    def problems(self, _: Context, /) -> Iterator[str]:
        """Yield what is wrong between fields that are right by themselves."""
        yield from ()


def duplicates(names: Iterable[str]) -> list[str]:
    """List what is there more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _text(value: Any, info: ValidationInfo) -> str | dict[str, str]:
    """Check a text, or one per language; the name of a `.md` file stands for what is in it."""
    if isinstance(value, dict):
        if not value or not all(isinstance(v, str) for v in value.values()):
            raise ValueError('expected a text for each language: { en = "...", de = "..." }')
        return {name: _read(text, info) for name, text in value.items()}
    if not isinstance(value, str):
        # Pydantic collects a ValueError alone.
        raise ValueError(  # noqa: TRY004
            'expected a text, or one per language: { en = "...", de = "..." }'
        )
    return _read(value, info)


def _read(text: str, info: ValidationInfo) -> str:
    folder = (info.context or {}).get("folder")
    if folder is not None and text.endswith(".md") and not any(map(str.isspace, text)):
        try:
            text = (Path(folder) / text).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the file {text} cannot be read ({error})") from None
    if len(text) > 20_000:
        raise ValueError(f"a text has at most 20,000 characters, this one has {len(text):,}")
    return text


Text = Annotated[str | dict[str, str], PlainValidator(_text)]


def in_language(text: str | Mapping[str, str], language: str) -> str:
    """Return a text in a language; in the first that it has where that one is missing."""
    if isinstance(text, str):
        return text
    return text.get(language) or next(iter(text.values()))


class Option(Entry):
    """One of the answers to choose from; in a file a plain text is both its value and its text."""

    value: Annotated[str, Field(min_length=1, max_length=200)]
    text: Text


def _option(value: Any) -> Any:
    return {"value": value, "text": value} if isinstance(value, str) else value


class FieldEntry(Entry):
    """A question on a page."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]  # its name in the data
    type: Literal["choice", "choices", "likert", "number", "text"]
    text: Text  # the question
    # Of a choice; of a Likert scale where every point has a text.
    options: list[Annotated[Option, BeforeValidator(_option)]] = Field(default_factory=list)
    points: Annotated[int, Field(ge=2, le=11)] = 5  # of a Likert scale, answered by 1, 2, ...
    low: Text = ""  # what its ends mean
    high: Text = ""
    required: bool = True
    # Of a number; for a text, how many characters.
    min: float | int | None = None
    max: float | int | None = None
    whole: bool = False  # whether a number must be whole
    # The right answer, in a quiz or an attention check.
    correct: str | int | float | list[str] | None = None
    # Answers with which somebody does not belong to the study.
    screen_out: list[str] = Field(default_factory=list)
    # How many people with an answer are wanted at most.
    quota: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)

    def problems(self, _: Context, /) -> Iterator[str]:
        """Yield what is wrong between options, limits and right answers."""
        values = [option.value for option in self.choices]
        if self.type in ("choice", _SEVERAL) and len(values) < 2:
            yield f'{self.id}: a {self.type} needs options = ["...", "..."]'
        if duplicates(values):
            yield f"{self.id}: an option is there twice in {values}"
        if self.min is not None and self.max is not None and self.min > self.max:
            yield f"{self.id}: min = {self.min} is above max = {self.max}"
        if self.id in RESERVED:
            yield f"{self.id}: is a name that pages use themselves; choose another"
        named = [*self.screen_out, *self.quota]
        if self.correct is not None:
            named += self.correct if isinstance(self.correct, list) else [str(self.correct)]
        for name in named:
            if values and name not in values:
                yield f"{self.id}: {name!r} is none of its options {values}"
        if named and self.type == "text":
            yield f"{self.id}: a text has no right answer, screen_out or quota"

    @property
    def choices(self) -> list[Option]:
        """What can be chosen, of a choice or a Likert scale."""
        if self.options or self.type != "likert":
            return self.options
        return [Option(value=str(k), text=str(k)) for k in range(1, self.points + 1)]

    def parse(self, sent: Sequence[str]) -> tuple[str | None, str | None]:
        """Return the answer as it is stored, None for none, and what is wrong with it, if anything.

        What is wrong is a key of the wording: `required`, `option`, `number`, `whole`, `range` or
        `long`.
        """
        values = [text.strip() for text in sent if text.strip()]
        if not values:
            return None, "required" if self.required else None
        if self.type == _SEVERAL:
            allowed = {option.value for option in self.choices}
            problem = None if set(values) <= allowed else "option"
            return json.dumps(sorted(set(values)), ensure_ascii=False), problem
        value = values[0]
        if self.type == "number":
            return _number(value, self)
        if self.type == "text":
            length = len(value)
            fits = (self.min or 0) <= length <= min(self.max or LONGEST, LONGEST)
            return value[:LONGEST], None if fits else "long"
        return value, None if value in [o.value for o in self.choices] else "option"

    def is_correct(self, value: str | None) -> bool:
        """Whether an answer is the right one; also where there is none."""
        if self.correct is None:
            return True
        if isinstance(self.correct, list):
            right = json.dumps(sorted(set(self.correct)), ensure_ascii=False)
            return value == right if self.type == _SEVERAL else value in self.correct
        if self.type == "number" and value is not None:
            return float(value) == float(self.correct)
        return value == str(self.correct)


def _number(text: str, field: FieldEntry) -> tuple[str, str | None]:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return text[:LONGEST], "number"
    if not math.isfinite(number):
        return text[:LONGEST], "number"
    if field.whole and number != int(number):
        return text, "whole"
    low, high = field.min, field.max
    fits = (low is None or number >= low) and (high is None or number <= high)
    return str(int(number)) if number == int(number) else str(number), None if fits else "range"


class PageEntry(Entry):
    """A page of a study."""

    # Its name in the data; when not given its kind, with a number if there are several.
    id: Annotated[str, Field(pattern=r"^([a-z][a-z0-9_-]{0,11})?$")] = ""
    # `task` is where the query, the comparisons and the evaluation come.
    kind: Literal["instructions", "quiz", "questionnaire", "attention", "task", "debriefing"]
    title: Text = ""
    text: Text = ""  # Markdown
    fields: list[FieldEntry] = Field(default_factory=list)
    # How often right answers may be tried for; 2 in a quiz, else 1.
    attempts: Annotated[int, Field(ge=1, le=20)] | None = None
    # What follows when the last attempt was wrong: a quiz screens out, others go on.
    fail: Literal["go-on", "screened-out", "failed-check"] | None = None
    each_round: bool = False  # whether it comes after every question instead of once

    def problems(self, _: Context, /) -> Iterator[str]:
        """Yield what is wrong between a page's kind and its fields."""
        for name in duplicates(field.id for field in self.fields):
            yield f"the field {name!r} is there twice"
        if self.kind in _FORM_KINDS and not self.fields:
            yield f"a page of kind {self.kind!r} needs [[pages.fields]]"
        elif self.kind not in _FORM_KINDS and self.fields:
            kinds = ", ".join(_FORM_KINDS)
            yield f"a page of kind {self.kind!r} has no fields; kinds with fields are {kinds}"
        elif self.kind in ("quiz", "attention") and all(
            field.correct is None for field in self.fields
        ):
            yield f"a page of kind {self.kind!r} needs a field with correct = ..."

    @property
    def tries(self) -> int:
        """How often right answers may be tried for."""
        return self.attempts or (2 if self.kind == "quiz" else 1)

    @property
    def outcome_of_failing(self) -> str | None:
        """The outcome when the last attempt was wrong; None where they go on."""
        rule = self.fail or (SCREENED_OUT if self.kind == "quiz" else "go-on")
        return None if rule == "go-on" else rule

    def parse(
        self, form: Mapping[str, Sequence[str]]
    ) -> tuple[dict[str, str | None], dict[str, str]]:
        """Return the answers of a form by field, and by field what is wrong with them."""
        parsed = {field.id: field.parse(form.get(field.id, ())) for field in self.fields}
        problems = {name: problem for name, (_, problem) in parsed.items() if problem}
        return {name: value for name, (value, _) in parsed.items()}, problems

    def wrong(self, answers: Mapping[str, str | None]) -> list[str]:
        """List the fields whose right answer was not given."""
        return [field.id for field in self.fields if not field.is_correct(answers.get(field.id))]

    def screens_out(self, answers: Mapping[str, str | None]) -> bool:
        """Whether an answer means that somebody does not belong to the study."""
        for field in self.fields:
            value = answers.get(field.id)
            values = json.loads(value) if field.type == _SEVERAL and value else [value]
            if set(field.screen_out) & set(values):
                return True
        return False


def named_pages(pages: Any) -> Any:
    """Give pages without an id their kind as one, with a number from the second of a kind on."""
    if not isinstance(pages, list):
        return pages
    taken = {page.get("id") for page in pages if isinstance(page, dict)}
    named = []
    for page in pages:
        if isinstance(page, dict) and not page.get("id") and isinstance(page.get("kind"), str):
            name, number = page["kind"][:12], 1
            while name in taken:
                number += 1
                name = f"{page['kind'][:10]}{number}"
            taken.add(name)
            page = {**page, "id": name}  # noqa: PLW2901 - the same page, named
        named.append(page)
    return named
