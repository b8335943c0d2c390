"""What a memory holds, in plain words and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.memory.memory import recalled
from useralign.memory.population import described

if TYPE_CHECKING:
    from useralign.memory.memory import Memory
    from useralign.memory.past import Past
    from useralign.memory.population import Population

SHOWN = 3  # candidates at either end
_LONGEST = 90


def summary(memory: Memory) -> dict[str, Any]:
    """Return what a memory holds, as plain data.

    Returns
    -------
    dict
        `sessions`: each of the person's own, with question, answers and embedder. `tastes`: for
        each kind of features what they lean towards and away from. `others`: what was learnt
        from other people.
    """
    spaces = dict.fromkeys(past.space for past in memory.own)
    return {
        "sessions": [
            {"question": past.question, "answers": len(past), "embedder": past.embedder}
            for past in memory.own
        ],
        "tastes": [_taste(memory, space) for space in spaces],
        "others": [_others(known) for known in memory.populations],
    }


def describe(memory: Memory) -> str:
    """Say what a memory holds, for the person it is about."""
    found = summary(memory)
    if not memory:
        return "Nothing is remembered."
    lines = []
    if found["sessions"]:
        told = sum(session["answers"] for session in found["sessions"])
        lines.append(f"{_count(len(memory.own), 'session')} of yours, {_count(told, 'answer')}.")
    for taste in found["tastes"]:
        lines += _ends("Your past answers lean towards:", taste["towards"])
        lines += _ends("and away from:", taste["away_from"])
    for known in found["others"]:
        lines.append(
            f"Learnt from {_count(known['people'], 'other person', 'other people')} with "
            f"{_count(known['answers'], 'answer')}, about {known['features']}."
        )
        lines.append(_worth(known))
        lines += _ends("They like more than their features tell:", known["popular"])
    return "\n".join(lines)


def _taste(memory: Memory, space: tuple[str | None, int]) -> dict[str, Any]:
    mine = [past for past in memory.own if past.space == space]
    known = memory.population(space)
    keys, features = _met(mine)
    belief, extra = recalled(known, mine, "", keys)
    worth = features @ belief.mean + known.popularity(keys) + extra
    order = [keys[k] for k in np.argsort(-worth, kind="stable")]
    ends = min(SHOWN, len(order) // 2)
    return {
        "features": described(space),
        "sessions": len(mine),
        "answers": sum(map(len, mine)),
        "towards": order[:ends],
        "away_from": order[::-1][:ends],
    }


def _met(mine: list[Past]) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
    """Return all candidates that were spoken of, each once, with their features."""
    rows = {key: row for past in mine for key, row in zip(past.keys, past.features, strict=True)}
    return list(rows), np.array(list(rows.values()))


def _others(known: Population) -> dict[str, Any]:
    worth = dict(zip(known.keys, known.belief.popularity.tolist(), strict=True))
    liked = sorted((key for key in worth if worth[key] > 0), key=lambda key: -worth[key])
    return {
        "features": described(known.space),
        "people": known.people,
        "sessions": known.sessions,
        "answers": known.answers,
        "gain": known.gain,
        "used": known.speaks,
        "popular": liked[:SHOWN],
    }


def _worth(known: dict[str, Any]) -> str:
    gain = known["gain"]
    if gain is None:
        return "They are too few to tell whether that helps; your own answers decide."
    if not known["used"]:
        return "It does not help with people it was not learnt from, so it is not used."
    percent = 100.0 * np.expm1(gain)
    return f"It makes the answers of somebody new {percent:.0f}% more probable, on average."


def _ends(title: str, keys: list[str]) -> list[str]:
    shown = [key if len(key) <= _LONGEST else key[: _LONGEST - 3].rstrip() + "..." for key in keys]
    return [title, *(f"  {' '.join(line.split())}" for line in shown)] if keys else []


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
