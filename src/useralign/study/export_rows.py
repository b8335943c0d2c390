"""What an export contains: rows, a few at a time, from the database.

Three sets: `answers`, a row for every choice; `participants`, a row each; and `payments`, which
names the recruiting service's workers and is never part of the others.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from useralign.store.schema import matchups, participants, stages, steps
from useralign.study import flow
from useralign.study.participants import pseudonym_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Row

    from useralign.pool import Pool
    from useralign.store import Store
    from useralign.study.studies import Study

    Record = dict[str, Any]

CHUNK = 250
BASELINE = "baseline"
_INSTRUCTED, _FORBIDDEN = "instructed", "forbidden"  # the two options of an attention check


def rows_of(store: Store, study: Study, dataset: str) -> Iterator[Record]:
    """Iterate over the rows of one set.

    Parameters
    ----------
    store : Store
    study : Study
    dataset : {"answers", "participants", "payments"}
    """
    maker = {"answers": _answers, "participants": _participants, "payments": _payments}[dataset]
    with store.reading() as connection:
        options = {"stream_results": True, "yield_per": CHUNK}
        yield from maker(connection.execution_options(**options), store, study)


def _answers(connection: Connection, store: Store, study: Study) -> Iterator[Record]:
    who = participants.c
    about = (who.id.label("participant"), who.assignment, who.finished)
    compared = (
        select(*about, steps)
        .join_from(participants, steps, steps.c.session_id == who.session_id)
        .where(who.study_id == study.slug, steps.c.kind.is_not(None))
        .order_by(who.number, steps.c.number)
    )
    for row in connection.execute(compared):
        pool = _pool(store, study, row)
        left, right = (pool[place].label for place in row.shown)
        side = flow.SIDES[row.told["request"]["position"]]
        shown = (flow.COMPARISONS, row.number + 1, "comparison", left, right)
        yield _answer(row, shown, side)
    judged = (
        select(*about, matchups)
        .join_from(participants, matchups)
        .where(who.study_id == study.slug, matchups.c.chosen.is_not(None))
        .order_by(who.number, matchups.c.number)
    )
    for row in connection.execute(judged):
        names = _names(_pool(store, study, row), row)
        pair = names if row.side == "left" else names[::-1]
        yield _answer(row, (flow.EVALUATION, row.number + 1, row.role, *pair), row.chosen)


def _answer(row: Row[Any], shown: tuple[str, int, str, str, str], side: str) -> Record:
    stage, order, role, left, right = shown
    given = row.assignment
    return {
        "participant": pseudonym_of(row.participant),
        "finished": row.finished is not None,
        "domain": given["domain"],
        "question": given["question"],
        "method": given["method"],
        "condition": given["condition"],
        "persona": given["persona"],
        "stage": stage,
        "order": order,
        "role": role,
        "left": left,
        "right": right,
        "chosen": side,
        "winner": left if side == "left" else right,
        "asked": _moment(row.asked),
        "server_seconds": round(row.answered - row.asked, 3),
        "page_seconds": None if row.milliseconds is None else row.milliseconds / 1000,
    }


def _participants(connection: Connection, store: Store, study: Study) -> Iterator[Record]:
    mine = select(participants).where(participants.c.study_id == study.slug)
    for chunk in connection.execute(mine.order_by(participants.c.number)).partitions(CHUNK):
        ids = [row.id for row in chunk]
        entered: dict[str, dict[str, float]] = {}
        for row in connection.execute(select(stages).where(stages.c.participant_id.in_(ids))):
            entered.setdefault(row.participant_id, {})[row.stage] = row.entered
        judged: dict[str, dict[str, Row[Any]]] = {}
        for row in connection.execute(select(matchups).where(matchups.c.participant_id.in_(ids))):
            judged.setdefault(row.participant_id, {})[row.role] = row
        for row in chunk:
            pool = _pool(store, study, row)
            yield _participant(row, entered.get(row.id, {}), judged.get(row.id, {}), pool)


def _participant(
    row: Row[Any], entered: dict[str, float], judged: dict[str, Row[Any]], pool: Pool
) -> Record:
    given = row.assignment
    roles = (flow.EARLIER, flow.LATER, flow.RANDOM)
    chosen = {role: judged[role].candidate for role in roles if role in judged}
    return {
        "participant": pseudonym_of(row.id),
        "source": row.source,
        **{key: given[key] for key in ("domain", "question", "method", "condition", "persona")},
        "stage": row.stage,
        "finished": row.finished is not None,
        "started": _moment(row.created),
        "query_seconds": _span(entered, flow.QUERY, flow.COMPARISONS),
        "comparisons_seconds": _span(entered, flow.COMPARISONS, flow.EVALUATION),
        "evaluation_seconds": _span(entered, flow.EVALUATION, flow.DONE),
        **{role: pool[chosen[role]].label if role in chosen else None for role in roles},
        **{f"{role}_won": _won(judged.get(role)) for role in roles},
        "coincide": len(set(chosen.values())) < len(chosen) if chosen else None,
        "attention_passed": _won(judged.get(flow.ATTENTION)),
    }


def _payments(connection: Connection, store: Store, study: Study) -> Iterator[Record]:
    del store
    mine = select(participants).where(participants.c.study_id == study.slug)
    for row in connection.execute(mine.order_by(participants.c.number)):
        ids = row.recruitment
        yield {
            "participant": pseudonym_of(row.id),
            "source": row.source,
            "worker": ids.get("PROLIFIC_PID") or ids.get("workerId"),
            "assignment": ids.get("SESSION_ID") or ids.get("assignmentId"),
            "task": ids.get("STUDY_ID") or ids.get("hitId"),
            "finished": None if row.finished is None else _moment(row.finished),
            "code": row.code,
        }


def _pool(store: Store, study: Study, row: Row[Any]) -> Pool:
    given = row.assignment
    return store.pools.of_session(study.asked(given["domain"], given["question"]).pool_id)


def _names(pool: Pool, row: Row[Any]) -> tuple[str, str]:
    if row.role == flow.ATTENTION:
        return _INSTRUCTED, _FORBIDDEN
    return pool[row.candidate].label, BASELINE


def _won(row: Row[Any] | None) -> bool | None:
    return None if row is None or row.chosen is None else bool(row.chosen == row.side)


def _span(entered: dict[str, float], begin: str, end: str) -> float | None:
    if begin not in entered or end not in entered:
        return None
    return round(entered[end] - entered[begin], 3)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
