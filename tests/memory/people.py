"""People with a known structure, who answer pairs drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from useralign import Candidate, Pool
from useralign.answers import Answer
from useralign.memory import PastSession

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Crowd:
    """Tastes are `mean + directions @ z + noise`, utilities have a popularity on top."""

    pool: Pool
    mean: Array
    directions: Array
    popularity: Array
    noise: float = 0.3

    @classmethod
    def draw(
        cls,
        count: int = 30,
        dimension: int = 8,
        *,
        mean: float = 1.0,
        rank: int = 2,
        width: float = 1.0,
        popular: float = 0.0,
        embedder: str | None = "test",
        seed: int = 0,
    ) -> Crowd:
        draw = np.random.default_rng([seed, 3])
        texts = [Candidate(f"dish {k}") for k in range(count)]
        pool = Pool("Which?", texts, draw.normal(size=(count, dimension)), embedder=embedder)
        return cls(
            pool,
            mean * draw.normal(size=dimension),
            width * draw.normal(size=(dimension, rank)),
            popular * draw.normal(size=count),
        )

    def taste(self, draw: np.random.Generator) -> Array:
        depth = self.directions @ draw.normal(size=self.directions.shape[1])
        return self.mean + depth + self.noise * draw.normal(size=len(self.mean))

    def utilities(self, taste: Array) -> Array:
        features = self.pool.raw_features
        return np.asarray(features @ taste + self.popularity)

    def past(self, number: int, answers: int, taste: Array | None = None) -> PastSession:
        draw = np.random.default_rng([number, 5])
        utilities = self.utilities(self.taste(draw) if taste is None else taste)
        told = []
        for _ in range(answers):
            a, b = (int(k) for k in draw.choice(len(utilities), 2, replace=False))
            told.append(Answer(a, b, a if utilities[a] > utilities[b] else b))
        return PastSession.from_answers(self.pool, told, f"p{number}")

    def pasts(self, people: int, answers: int) -> list[PastSession]:
        return [self.past(number, answers) for number in range(people)]


def cosine(a: Array, b: Array) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
