"""Starting a session on the personal page: how to ask, and from what is known already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from useralign.memory.from_store import memory_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.methods.frugal.prior import Prior
    from useralign.pool import Pool
    from useralign.store import Interactions, Screen, Store, StoredSession

CERTAIN, QUICK = "useralign", "frugal"  # the methods that the page offers; see start.html


def usual_method(store: Store, owner: str) -> str:
    """Return the method to use when none is chosen: who is remembered gets the one that can."""
    return QUICK if store.persons.get(owner).remember else CERTAIN


def begin(
    store: Store, live: Interactions, pool_id: str, owner: str, options: Mapping[str, Any]
) -> Screen:
    """Begin a session and return its first screen.

    Parameters
    ----------
    store : Store
    live : Interactions
    pool_id, owner : str
    options : mapping
        Plain data: arguments of `Session`, the method's own under `"options"`; `"rank"`, to put
        all that are shown in order; `"fresh"`, to start from nothing. What is known of the person
        is looked up now, so that what they allow now counts.
    """
    settings = {key: value for key, value in options.items() if key not in ("rank", "fresh")}
    rank = bool(options.get("rank")) and options.get("shown", 2) > 2
    page: dict[str, Any] = {"rank": rank, "fresh": bool(options.get("fresh"))}
    if options["method"] == QUICK:
        own = {key: value for key, value in options.get("options", {}).items() if key != "prior"}
        if not page["fresh"]:
            pool = store.pools.get(pool_id, owner)
            own["prior"], page["known"] = _prior(store, owner, pool)
        settings["options"] = own
    return live.create(pool_id, owner, settings | {"page": page})


def options_of(stored: StoredSession) -> dict[str, Any]:
    """Return the options for a session like an earlier one, with another seed."""
    session = stored.session
    return {
        "method": session.method.name,
        "options": session.method.options(),
        "epsilon": session.epsilon,
        "budget": session.budget,
        "shown": session.per_screen,
        "seed": None,
        "rank": stored.page.get("rank", False),
        "fresh": stored.page.get("fresh", False),
    }


def _prior(store: Store, owner: str, pool: Pool) -> tuple[Prior | None, str]:
    """Return what is to be expected of someone, and whose answers that rests on."""
    prior = memory_for(store, owner, pool)
    if prior is None:
        return None, ""
    own = memory_for(store, owner, pool, others=False)
    if own is None:
        return prior, "others"
    return prior, "you" if own == prior else "both"
