"""What the page says of a session, in words."""

from __future__ import annotations

import numpy as np

from tests.conftest import gaussian_features
from useralign import Pool, Session
from useralign.presets import few
from useralign.store import Interactions, Store, UserResponse
from useralign.web import words

TASTE = np.array([3.0, -2.0, 1.0, 0.0, 0.0, 0.0])


def ended(store: Store, prior: dict[str, list[float]] | None) -> str:
    """Let somebody with a taste answer the preset, and return what the last page says of memory."""
    pool = Pool.from_features(gaussian_features(20, 6, seed=1), question="Which?")
    own = few(pool)
    settings = {key: own.pop(key) for key in ("method", "budget", "per_screen")} | {"seed": 0}
    live = Interactions(store)
    pool_id = store.pools.add(pool, "me")
    screen = live.create(pool_id, "me", settings | {"options": own | {"prior": prior}})
    while screen.finished is None:
        worth = [float(pool.features[k] @ TASTE) for k in screen.candidates]
        response = UserResponse("choice", position=int(np.argmax(worth)))
        screen = live.open(screen.session_id, "me").answer(screen.step, response)
    return words.origin(screen, live.open(screen.session_id, "me").session, "you" if prior else "")


def test_the_end_says_what_memory_saved(store: Store) -> None:
    line = ended(store, {"mean": (3 * TASTE).tolist()})
    assert line.startswith("Started from what you liked before: ")
    took, _, without = line.partition(" instead of about ")
    assert int(took.split()[-2]) < int(without)
    assert ended(store, None) == ""


def test_the_price_of_a_proof() -> None:
    alike = Session(Pool("Which?", ["a", "b"], [[0.0], [1.0]]))
    assert words.price(alike) == "about 1 more question"
    alike.tell(alike.ask().first)  # type: ignore[union-attr]
    assert words.price(alike) == ""
