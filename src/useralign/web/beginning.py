"""Beginning a session on the personal page: how to ask, and from what is known already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from useralign.memory.from_store import memory_for
from useralign.store.schema import persons

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.methods.frugal.prior import Prior
    from useralign.pool import Pool
    from useralign.store import Interactions, Screen, Store

CERTAIN, QUICK = "useralign", "frugal"  # the methods that the page offers; see start.html


def usual_method(store: Store, owner: str) -> str:
    """Return the method to use when nothing is said: who is remembered gets the one that can."""
    return QUICK if store.persons.get(owner).remember else CERTAIN


def others_share(store: Store, owner: str) -> bool:
    """Return whether anybody else lets others profit from their answers."""
    chosen = select(persons.c.id).where(persons.c.share, persons.c.id != owner).limit(1)
    with store.reading() as connection:
        return connection.execute(chosen).first() is not None


def begin(
    store: Store, live: Interactions, pool_id: str, owner: str, wish: Mapping[str, Any]
) -> Screen:
    """Begin a session and return its first screen.

    Parameters
    ----------
    store : Store
    live : Interactions
    pool_id, owner : str
    wish : mapping
        Plain data: arguments of `Session`, the method's own under `"options"`; `"rank"`, to put
        all that are shown in order; `"fresh"`, to start from nothing. What is known of the person
        is looked up now, so that what they allow now counts.
    """
    settings = {key: value for key, value in wish.items() if key not in ("rank", "fresh")}
    rank = bool(wish.get("rank")) and wish.get("shown", 2) > 2
    page: dict[str, Any] = {"rank": rank, "fresh": bool(wish.get("fresh"))}
    if wish["method"] == QUICK:
        options = {key: value for key, value in wish.get("options", {}).items() if key != "prior"}
        if not page["fresh"]:
            prior, page["known"] = _known(store, owner, store.pools.get(pool_id, owner))
            options["prior"] = prior
        settings["options"] = options
    return live.create(pool_id, owner, settings | {"page": page})


def again(live: Interactions, session_id: str, owner: str) -> dict[str, Any]:
    """Return the wish for a session like an earlier one, from another beginning."""
    old, page = live.session(session_id, owner), live.page(session_id, owner)
    return {
        "method": old.method.name,
        "options": old.method.options(),
        "epsilon": old.epsilon,
        "budget": old.budget,
        "shown": old.per_screen,
        "seed": None,
        "rank": page.get("rank", False),
        "fresh": page.get("fresh", False),
    }


def _known(store: Store, owner: str, pool: Pool) -> tuple[Prior | None, str]:
    """Return what is to be expected of someone, and whose answers that rests on."""
    prior = memory_for(store, owner, pool)
    if prior is None:
        return None, ""
    own = memory_for(store, owner, pool, others=False)
    if own is None:
        return prior, "others"
    return prior, "you" if own == prior else "both"
