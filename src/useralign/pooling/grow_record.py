"""What a pool remembers of its growth: how often, at which cost, and with what outcome.

It stands in `pool.meta["growth"]`, so that a saved pool goes on growing where it was, be it in a
file or in a database.
"""

from __future__ import annotations

import copy
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from useralign.checks import is_whole
from useralign.models.generators.base import Usage
from useralign.pooling.spending import usage_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.pool import Pool

KEY = "growth"


def record_of(pool: Pool) -> dict[str, Any]:
    """Return what a pool says of its growth; what does not belong there counts as not there.

    Returns
    -------
    dict
        `asked`: how many candidates were asked for; `usage`; `rounds`: one mapping each time, with
        at least its `key` and the `step` it joined at.
    """
    found = pool.meta.get(KEY)
    kept = found if isinstance(found, dict) else {}
    asked, usage, rounds = kept.get("asked"), kept.get("usage"), kept.get("rounds")
    try:
        usage_from(usage)
    except TypeError:
        usage = None
    return {
        "asked": asked if is_whole(asked) else 0,
        "usage": usage or asdict(Usage()),
        "rounds": [r for r in rounds if _is_round(r)] if isinstance(rounds, list) else [],
    }


def keys_of(pool: Pool) -> list[str]:
    """Return the keys of the proposals that have joined."""
    return [done["key"] for done in record_of(pool)["rounds"]]


def last_step(pool: Pool) -> int:
    """Return after how many answers the pool grew last, or was tried to."""
    return max((done["step"] for done in record_of(pool)["rounds"]), default=0)


def spent(pool: Pool) -> float:
    """Return what the growth has cost so far, in US dollars; an unknown price counts as nothing."""
    return usage_from(record_of(pool)["usage"]).cost or 0.0


def next_call(pool: Pool) -> float:
    """Return what the next call is expected to cost, in US dollars: the mean of those so far."""
    usage = usage_from(record_of(pool)["usage"])
    return (usage.cost or 0.0) / max(1, usage.calls)


def noted(pool: Pool, done: Mapping[str, Any], usage: Usage) -> Pool:
    """Return the pool with one more round on record. The one given may be shared, and is left.

    Parameters
    ----------
    pool : Pool
    done : mapping
        The round: `key`, `step`, `asked`, and anything else worth keeping.
    usage : Usage
    """
    record = record_of(pool)
    written = {
        "asked": record["asked"] + done["asked"],
        "usage": asdict(usage_from(record["usage"]) + usage),
        "rounds": [*record["rounds"], dict(done)],
    }
    copied = copy.copy(pool)
    copied.meta = {**pool.meta, KEY: written}
    return copied


def _is_round(item: object) -> bool:
    return (
        isinstance(item, dict) and isinstance(item.get("key"), str) and is_whole(item.get("step"))
    )
