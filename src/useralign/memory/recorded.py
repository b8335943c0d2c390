"""What recorded people said, as earlier sessions: a population to learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.memory.past import Past, over

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.models.embedders import Embedder
    from useralign.pool import Pool
    from useralign.users.recorded import People


def pasts_of(people: People, *, embedder: str | Embedder | None = None) -> list[Past]:
    """Return one earlier session for everybody on record.

    Parameters
    ----------
    people : People
    embedder : str or Embedder, optional
        For items without features; the default embedder when not given.
    """
    return pasts_over(people, people.pool(embedder=embedder))


def pasts_over(people: People, pool: Pool) -> list[Past]:
    """Return the same, over the pool of all items; what is about others is left out."""
    place = {candidate.label: candidate.index for candidate in pool}
    pasts = []
    for name in people.names:
        wins, ties = [], []
        for first, second, winner in people.answers.get(name, ()):
            if first in place and second in place:
                pair = place[first], place[second]
                if winner is None:
                    ties.append(pair)
                else:
                    wins.append(pair if winner == first else pair[::-1])
        rated = {place[k]: v for k, v in people.ratings.get(name, {}).items() if k in place}
        pasts.append(over(pool, wins + clear(rated), ties, (), name))
    return [past for past in pasts if len(past)]


def clear(rated: Mapping[int, float]) -> list[tuple[int, int]]:
    """Return pairs that ratings decide clearly, about one a rating.

    Neighbours in a list of ratings differ by chance; those half a list apart, and a quarter,
    do not.

    Parameters
    ----------
    rated : mapping of int to float

    Returns
    -------
    list of (int, int)
        The better and the worse.
    """
    order = sorted(rated, key=lambda k: -rated[k])
    lags = dict.fromkeys(max(1, len(order) // part) for part in (2, 4))
    return [
        (better, worse)
        for lag in lags
        for better, worse in zip(order, order[lag:], strict=False)
        if rated[better] > rated[worse]
    ]
