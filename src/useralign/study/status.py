"""How a study is going: places, drop-outs, times, attention."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, case, func, select

from useralign.store.schema import matchups, participants, stages
from useralign.study import flow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from useralign.study.design import Cell
    from useralign.study.studies import Study


@dataclass(frozen=True, slots=True)
class CellStatus:
    """How many there are of one cell.

    Parameters
    ----------
    cell : Cell
    wanted, finished, active : int
    dropped : int
        Who began and has done nothing for longer than the window.
    attentive, inattentive : int
        How many attention checks were passed and failed by those who finished.
    """

    cell: Cell
    wanted: int
    finished: int
    active: int
    dropped: int
    attentive: int
    inattentive: int


@dataclass(frozen=True, slots=True)
class Status:
    """A study at one moment.

    Parameters
    ----------
    slug, title : str
    open : bool
    cells : list of CellStatus
    seconds : dict of str to float
        The median time that finished participants spent in each stage, and in all.
    left_share : float or None
        How often the left option was chosen in stage 3.
    shown_left : float or None
        How often the selection stood on the left in stage 3.
    coinciding : int
        How many finished participants had the same candidate in two of the three roles.
    """

    slug: str
    title: str
    open: bool
    cells: list[CellStatus]
    seconds: dict[str, float]
    left_share: float | None
    shown_left: float | None
    coinciding: int

    def total(self, name: str) -> int:
        """Return a count over all cells."""
        return sum(getattr(cell, name) for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = ("wanted", "finished", "active", "dropped", "attentive", "inattentive")
        return {
            "slug": self.slug,
            "title": self.title,
            "open": self.open,
            **{name: self.total(name) for name in names},
            "seconds": self.seconds,
            "left_chosen": self.left_share,
            "selection_left": self.shown_left,
            "coinciding": self.coinciding,
            "cells": [
                {**cell.cell._asdict(), **{name: getattr(cell, name) for name in names}}
                for cell in self.cells
            ],
        }


def status(connection: Connection, study: Study, now: float) -> Status:
    """Count and time.

    Parameters
    ----------
    connection : Connection
    study : Study
    now : float
        Seconds since 1970.
    """
    places = _places(connection, study, now)
    checks = _checks(connection, study)
    cells = [
        CellStatus(
            cell, study.design.places, *places.get(number, (0, 0, 0)), *checks.get(number, (0, 0))
        )
        for number, cell in enumerate(study.design.cells)
    ]
    return Status(
        study.slug,
        study.design.title,
        study.open,
        cells,
        _seconds(connection, study),
        *_sides(connection, study),
        coinciding=_coinciding(connection, study),
    )


def finish_times(connection: Connection, study: Study) -> list[float]:
    """List when participants finished, in order."""
    column = participants.c.finished
    mine = (participants.c.study_id == study.slug) & column.is_not(None)
    return list(connection.execute(select(column).where(mine).order_by(column)).scalars())


def _places(connection: Connection, study: Study, now: float) -> dict[int, tuple[int, int, int]]:
    done = participants.c.finished.is_not(None)
    active = ~done & (participants.c.seen > now - study.design.window)
    counted = [func.sum(case((test, 1), else_=0)) for test in (done, active)]
    rows = connection.execute(
        select(participants.c.cell, *counted, func.count())
        .where(participants.c.study_id == study.slug)
        .group_by(participants.c.cell)
    )
    return {row[0]: (row[1], row[2], row[3] - row[1] - row[2]) for row in rows}


def _checks(connection: Connection, study: Study) -> dict[int, tuple[int, int]]:
    right = func.sum(case((matchups.c.chosen == matchups.c.side, 1), else_=0))
    rows = connection.execute(
        select(participants.c.cell, right, func.count())
        .join_from(participants, matchups)
        .where(_finished(study), matchups.c.role == flow.ATTENTION)
        .group_by(participants.c.cell)
    )
    return {row[0]: (row[1], row[2] - row[1]) for row in rows}


def _seconds(connection: Connection, study: Study) -> dict[str, float]:
    rows = connection.execute(
        select(stages.c.participant_id, stages.c.stage, stages.c.entered)
        .join_from(stages, participants)
        .where(_finished(study))
    )
    entered: dict[str, dict[str, float]] = {}
    for who, stage, moment in rows:
        entered.setdefault(who, {})[stage] = moment
    if not entered:
        return {}
    result = {
        stage: median(times[after] - times[stage] for times in entered.values())
        for stage, after in zip(flow.STAGES[:-1], flow.STAGES[1:], strict=True)
    }
    result["all"] = median(times[flow.DONE] - times[flow.QUERY] for times in entered.values())
    return result


def _sides(connection: Connection, study: Study) -> tuple[float | None, float | None]:
    row = connection.execute(
        select(
            func.sum((matchups.c.chosen == "left").cast(Integer)),
            func.sum((matchups.c.side == "left").cast(Integer)),
            func.count(),
        )
        .join_from(matchups, participants)
        .where(_finished(study), matchups.c.role != flow.ATTENTION)
    ).one()
    return (row[0] / row[2], row[1] / row[2]) if row[2] else (None, None)


def _coinciding(connection: Connection, study: Study) -> int:
    inner = (
        select(matchups.c.participant_id)
        .join_from(matchups, participants)
        .where(_finished(study), matchups.c.role != flow.ATTENTION)
        .group_by(matchups.c.participant_id)
        .having(func.count(matchups.c.candidate.distinct()) < 3)
    )
    return int(connection.execute(select(func.count()).select_from(inner.subquery())).scalar_one())


def _finished(study: Study) -> Any:
    return (participants.c.study_id == study.slug) & participants.c.finished.is_not(None)
