"""Starting a session on the personal page: how to ask, and from what is known already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from useralign.memory.from_store import memory_for
from useralign.presets import few

if TYPE_CHECKING:
    from useralign.methods.frugal.prior import Prior
    from useralign.pool import Pool
    from useralign.store import Interactions, Screen, Store, StoredSession

FEW, CERTAIN, QUICK = "few", "useralign", "frugal"  # a preset and two methods; see start.html
PATIENCE = 0.5  # seconds that a person waits for what is learnt from others
ON_A_PHONE = 6  # pictures at most
_PAGE = ("method", "shown", "budget", "rank", "fresh", "phone", "options")


def settings_for(
    store: Store, pool: Pool, owner: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of a session, as `Interactions.create` takes them.

    The options are plain data: arguments of `Session`, the method's own under `"options"`;
    `"rank"`, to put all that are shown in order; `"fresh"`, to start from nothing; `"phone"`, for a
    small screen. With the method `few` what is not given, or None, is as the preset has it. What is
    known of the person is looked up now, so that what they allow now counts.
    """
    settings = {key: value for key, value in options.items() if key not in _PAGE}
    own = {key: value for key, value in options.get("options", {}).items() if key != "prior"}
    page: dict[str, Any] = {"fresh": bool(options.get("fresh"))}
    preset = {"method": options["method"], "per_screen": 2, "budget": None}
    if options["method"] == FEW:
        preset = few(pool)
        page["preset"] = FEW
        if options.get("phone"):
            preset["per_screen"] = min(preset["per_screen"], ON_A_PHONE)
    wanted = {"per_screen": options.get("shown"), "budget": options.get("budget")}
    preset |= {key: value for key, value in wanted.items() if value is not None}
    settings |= {key: preset.pop(key) for key in ("method", "budget", "per_screen")}
    own = preset | own
    page["rank"] = bool(options.get("rank")) and settings["per_screen"] > 2
    if settings["method"] == QUICK and not page["fresh"]:
        own["prior"], page["known"] = _prior(store, owner, pool)
    return settings | {"options": own, "page": page}


def begin(
    store: Store, live: Interactions, pool_id: str, owner: str, options: Mapping[str, Any]
) -> Screen:
    """Begin a session over a stored pool and return its first screen; see `settings_for`."""
    pool = store.pools.get(pool_id, owner)
    return live.create(pool_id, owner, settings_for(store, pool, owner, options))


def options_of(stored: StoredSession) -> dict[str, Any]:
    """Return the options for a session like an earlier one, with another seed."""
    first = stored.session.to_dict()  # as it began, whatever was asked for since
    options = {key: stored.page.get(key, False) for key in ("rank", "fresh")}
    options |= {"shown": first.get("shown", 2), "seed": None}
    if stored.page.get("preset") == FEW:
        return options | {"method": FEW}
    return options | {key: first[key] for key in ("method", "options", "epsilon", "budget")}


def options_for(stored: StoredSession, pool: Pool) -> dict[str, Any]:
    """Return the options of a session's method that are others over a larger pool.

    The preset's count of the best depends on how many there are; and what others like says nothing
    of candidates that they never saw.
    """
    session = stored.session
    options: dict[str, Any] = {}
    if stored.page.get("preset") == FEW and session.method.name == QUICK:
        options["top"] = few(pool)["top"]
    prior = session.method.options().get("prior")
    if isinstance(prior, Mapping) and (popularity := prior.get("popularity")):
        usual = sum(popularity) / len(popularity)
        more = [usual] * (len(pool) - len(popularity))
        options["prior"] = {**prior, "popularity": [*popularity, *more]}
    return options


def _prior(store: Store, owner: str, pool: Pool) -> tuple[Prior | None, str]:
    """Return what is to be expected of someone, and whose answers that rests on."""
    prior = memory_for(store, owner, pool, patience=PATIENCE)
    if prior is None:
        return None, ""
    if not store.persons.others_share(owner):
        return prior, "you"
    own = memory_for(store, owner, pool, others=False)
    if own is None:
        return prior, "others"
    return prior, "you" if own == prior else "both"
