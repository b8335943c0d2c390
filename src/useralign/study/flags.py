"""What may speak against somebody's answers: four flags, and the measures behind them.

A flag excludes nobody by itself: exports carry flags and measures, and an analysis says which it
leaves out (`useralign.study.analysis`). The thresholds stand under `[flags]` in the study file.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from useralign.store.studies import ATTENTION
from useralign.study.pages import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from useralign.store.studies import (
        Choice,
        Matchup,
        PageAnswer,
        StudyRecords,
    )
    from useralign.study.pages import PageEntry

FLAGS = ("too_fast", "same_side", "failed_check", "left_page")
LEFT = "_left"  # the field with how often a page was left


class FlagRules(Entry):
    """When somebody is flagged."""

    # Too fast: half of their choices took less than this.
    fast_seconds: Annotated[float, Field(ge=0, le=600, strict=False)] = 1.0
    # Always the same side: at least this share of their choices was at one position.
    same_side: Annotated[float, Field(gt=0, le=1, strict=False)] = 1.0
    # Nobody with fewer choices is too fast or always on one side.
    least_choices: Annotated[int, Field(ge=1, le=1000)] = 6
    # Left the page: looked elsewhere at least so many times in all.
    left: Annotated[int, Field(ge=1, le=1000)] = 3


@dataclass(frozen=True, slots=True)
class Measures:
    """What is known of how somebody answered."""

    choices: int  # of comparisons and the evaluation, attention checks left out
    # The median, by the page's clock, or the server's where the page ran no script.
    seconds_per_choice: float | None
    same_side_share: float | None  # the share of choices at the position that was chosen most often
    # Attention checks, and pages with a right answer whose last attempt was wrong.
    checks_failed: int
    times_left: int  # how often they looked elsewhere while a page was open

    def flags(self, rules: FlagRules) -> dict[str, bool]:
        """Return each flag of `FLAGS`, and whether it is raised."""
        enough = self.choices >= rules.least_choices
        return {
            "too_fast": enough and (self.seconds_per_choice or 0.0) < rules.fast_seconds,
            "same_side": enough and (self.same_side_share or 0.0) >= rules.same_side,
            "failed_check": self.checks_failed > 0,
            "left_page": self.times_left >= rules.left,
        }


def measure(
    choices: Sequence[Choice],
    matchups: Iterable[Matchup],
    answers: Sequence[PageAnswer],
    pages: Iterable[PageEntry],
) -> Measures:
    """Measure how one participant answered.

    Of the matchups only the attention checks count; `answers` are what they filled in on pages and
    what the pages measured, `pages` those of the design.
    """
    positions = Counter(choice.position for choice in choices)
    failed = sum(one.role == ATTENTION and one.won is False for one in matchups)
    return Measures(
        len(choices),
        median(choice.seconds for choice in choices) if choices else None,
        max(positions.values()) / len(choices) if choices else None,
        failed + sum(_failed_times(page, answers) for page in pages),
        sum(int(one.value or 0) for one in answers if one.field == LEFT),
    )


def measure_people(
    records: StudyRecords, pages: Sequence[PageEntry], ids: Sequence[str]
) -> dict[str, Measures]:
    """Measure participants, by id."""
    choices, matchups = records.choices_of(ids), records.matchups_of(ids)
    answers = records.page_answers_of(ids)
    return {
        who: measure(choices.get(who, []), matchups.get(who, []), answers.get(who, []), pages)
        for who in ids
    }


def _failed_times(page: PageEntry, answers: Sequence[PageAnswer]) -> int:
    """Return in how many rounds the last attempt at a page with right answers was wrong."""
    stages = {one.page for one in answers if one.page.partition(".")[0] == page.id}
    return sum(bool(page.wrong(attempts_at(stage, answers)[-1])) for stage in stages)


def attempts_at(stage: str, answers: Sequence[PageAnswer]) -> list[dict[str, str | None]]:
    """Return what was answered at each attempt at a page, by field."""
    here = [one for one in answers if one.page == stage]
    count = max((one.attempt for one in here), default=-1) + 1
    return [{a.field: a.value for a in here if a.attempt == number} for number in range(count)]
