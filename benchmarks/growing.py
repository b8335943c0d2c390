"""What growing a pool brings, in a simulated world and with a real model: docs/growing.md.

    python -m benchmarks.growing                           # the simulation
    python -m benchmarks.growing --model local:NAME        # a real model in this process
    python -m benchmarks.growing --model local:NAME --http # the same behind its own HTTP server

In the simulation a candidate is a point. A model that is asked the question draws points broadly;
one that is shown what was liked draws nearer to it, by its closeness a: `a * mean + sqrt(1 - a^2) *
draw`. With a = 0 it pays no attention, and the pool is merely larger. A person's taste is linear
over directions, or falls off around one point of a cloud, where every method is wrong about it. The
pool is fixed or grows by `Growth`, prompts and all, with the same budget, seed and person.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))

import numpy as np
from numpy.typing import NDArray
from tests.local_server import LocalServer

import useralign as ua
from useralign import domains
from useralign.models import Embedder, Generator, Text, TextRequest, Usage
from useralign.models.openai import OpenAI
from useralign.pooling import Growth, Recipe, load_generator
from useralign.users import LikenessUser, UtilityUser

Array = NDArray[np.float64]
MARKS = (4, 8, 12, 20, 30, 40)
SIZE = 20
WORLDS = {"linear, 64-d": (64, "unit"), "peaked, 8-d": (8, "ball")}
CLOSENESS = (0.0, 0.4, 0.7)
METHODS = ("useralign", "frugal")
QUESTION = "Which point?"


class World(Embedder):
    """Points by name: what the simulated model says, and what the embedder makes of it.

    Parameters
    ----------
    name : str
        One of `WORLDS`.
    seed : int
        Of the person, the first pool, and the model.
    """

    embeds = frozenset({"text"})

    def __init__(self, name: str, seed: int) -> None:
        self.name = "world"
        self.dimension, self.normalise = WORLDS[name]
        self.rng = np.random.default_rng([self.dimension, seed])
        self.points: dict[str, Array] = {}
        self.target = self.rng.normal(size=self.dimension)
        worth = self.worth(self.rng.normal(size=(4000, self.dimension)))
        self.mean, self.spread = float(worth.mean()), float(worth.std())

    def worth(self, points: Array) -> Array:
        """Return the person's utilities, shape (n,)."""
        if self.normalise == "unit":
            return np.asarray(points @ self.target / np.linalg.norm(points, axis=-1))
        return np.asarray(-((points - self.target) ** 2).sum(axis=-1))

    def utility(self, candidate: ua.Candidate) -> float:
        """Return a utility in standard deviations of what the model says unprompted."""
        return float((self.worth(self.points[candidate.text]) - self.mean) / self.spread)

    def say(self, point: Array) -> str:
        """Name a point by words that no other name has."""
        words = " ".join(f"{word:08x}" for word in self.rng.integers(2**32, size=6))
        self.points[f"Take {words}."] = point
        return f"Take {words}."

    def embed_texts(self, texts: Sequence[str]) -> Array:
        """Return the points of names, shape (n, d)."""
        return np.array([self.points[text] for text in texts])

    def pool(self) -> ua.Pool:
        """Draw a broad pool."""
        texts = [self.say(self.rng.normal(size=self.dimension)) for _ in range(SIZE)]
        return ua.Pool.from_texts(QUESTION, texts, embedder=self, normalise=self.normalise)


class Model(Generator):
    """A model that follows the examples in its prompt as closely as `closeness` says."""

    name = "simulated"
    makes = frozenset({"text"})
    model = "simulated"

    def __init__(self, world: World, closeness: float) -> None:
        self.world = world
        self.closeness = closeness

    async def text(self, request: TextRequest) -> Text:
        """Draw a point near the mean of those under "Liked" in the prompt."""
        lines = request.prompt.partition("\nLiked:")[2].splitlines()
        liked = [self.world.points[line[2:]] for line in lines if line.startswith("- ")]
        near = np.mean(liked, axis=0) if liked else np.zeros(self.world.dimension)
        if self.world.normalise == "unit" and liked:
            near *= np.sqrt(self.world.dimension) / np.linalg.norm(near)
        draw = self.world.rng.normal(size=self.world.dimension)
        point = self.closeness * near + np.sqrt(1.0 - self.closeness**2) * draw
        return Text(self.world.say(point), self.model, usage=Usage(1))


def course(name: str, method: str, seed: int, closeness: float | None) -> list[float]:
    """Return the true utility of the best candidate at the marks; closeness None does not grow."""
    world = World(name, seed)
    session = ua.Session(world.pool(), method, epsilon=None, budget=MARKS[-1], seed=seed)
    utilities = []
    with tempfile.TemporaryDirectory() as folder:
        growth = Growth(Model(world, closeness or 0.0), world, seed=seed, folder=folder)
        for _ in ua.simulate(session, UtilityUser(world.utility)):
            if session.cost in MARKS:
                utilities.append(world.utility(session.best))
            if closeness is not None and growth.due(session):
                growth.grow(session)
    return utilities + utilities[-1:] * (len(MARKS) - len(utilities))


def simulate(runs: int, methods: Sequence[str]) -> None:
    """Print the tables."""
    for method in methods:
        for name in WORLDS:
            print(f"\n{name}, {method}, {runs} runs: utility (win-rate against the fixed pool, %)")
            fixed = np.array([course(name, method, seed, None) for seed in range(runs)])
            print(row("fixed", fixed, None))
            for closeness in CLOSENESS:
                grown = np.array([course(name, method, seed, closeness) for seed in range(runs)])
                print(row(f"grows, a = {closeness}", grown, fixed), flush=True)


def row(title: str, utilities: Array, fixed: Array | None) -> str:
    """Return one row of a table, with standard errors of the last mark."""
    cells = [f"{mean:.2f}" for mean in utilities.mean(axis=0)]
    if fixed is not None:
        wins = (utilities > fixed).mean(axis=0) + 0.5 * (utilities == fixed).mean(axis=0)
        cells = [f"{cell} ({100 * win:.0f})" for cell, win in zip(cells, wins, strict=True)]
    error = utilities[:, -1].std() / np.sqrt(len(utilities))
    return f"| {title} | {' | '.join(cells)} | {error:.2f} |"


@contextlib.contextmanager
def opened(name: str, http: bool) -> Iterator[Generator]:
    """Yield a real model, in this process or behind HTTP."""
    if not http:
        yield load_generator(name)
        return
    model = name.removeprefix("local:")
    with LocalServer(model, parallel=4) as server:
        key = server.key_file
        yield OpenAI(model, base_url=server.base_url, key_file=key, timeout=900.0)


def real(name: str, http: bool, wish: str, questions: int) -> None:
    """Let a simulated person answer over a shipped question while a real model grows the pool."""
    question = domains.load("food64d").questions[0]
    session = ua.Session(question.pool(), epsilon=None, budget=questions)
    user = LikenessUser(session.pool, wish)
    first = max(map(user.utility, session.pool))
    with (
        tempfile.TemporaryDirectory() as folder,
        opened(name, http) as generator,
        Growth(generator, recipe=Recipe.concise(), folder=folder) as growth,
    ):
        for _ in ua.simulate(session, user):
            if growth.due(session):
                began, busy = time.perf_counter(), time.process_time()
                grown = growth.grow(session)
                took, work = time.perf_counter() - began, time.process_time() - busy
                count = len(grown.joined) + len(grown.rejected)
                print(f"\nafter {session.cost} answers, {took:.0f} s, {work:.0f} s of processor")
                print(grown.usage)
                print(f"{len(grown.joined)} of {count} joined {grown.problem}")
                for candidate in grown.joined:
                    print(f"  + {user.utility(candidate):.3f} {candidate.text}")
                for rejected in grown.rejected:
                    print(f"  - {rejected.why}: {rejected.text}", flush=True)
    print(f"\nbest of the first pool {first:.3f}; best now {user.utility(session.best):.3f}")
    print(session.best.text)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--model", help="a real model, such as local:qwen2.5-coder-1.5b")
    parser.add_argument("--http", action="store_true", help="serve it, and ask it over HTTP")
    parser.add_argument("--wish", default="loves spicy Thai noodles")
    parser.add_argument("--questions", type=int, default=9)
    options = parser.parse_args()
    if options.model:
        real(options.model, options.http, options.wish, options.questions)
    else:
        simulate(options.runs, options.method or METHODS)


if __name__ == "__main__":
    main()
