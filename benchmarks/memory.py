"""What memory is worth: the tables in docs/memory.md.

python -m benchmarks.memory [part ...]
python -m benchmarks.memory people FOLDER ...

Parts: others, own, personas, recorded, time. Regret is the share of what the best candidate is
better than the average one, lost by the one that is recommended; mean (standard error) over people.
For recorded people it is the share of what the best is better than the worst.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.users.population import population

from useralign import Candidate, Pool, Session, domains
from useralign.lab.bench.cases import recorded_case, usable_people
from useralign.memory import Memory, PastSession, fit, past_sessions
from useralign.methods.frugal import Frugal
from useralign.models import embedder_for
from useralign.users import People, UtilityUser, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from useralign import Comparison
    from useralign.methods.frugal import Prior
    from useralign.users.base import Response

    Array = NDArray[np.float64]

MARKS = (0, 1, 2, 3, 5, 10)
DIMENSION, CANDIDATES = 16, 30
WORLDS, PEOPLE, TESTED, ASKED = 3, 40, 16, 10
SLIPS, EQUAL = 0.05, 0.2
SPLITS, SCREENS = 4, 3


class Person(UtilityUser):
    """Somebody for whom one answer in twenty is a slip, and the closest fifth of pairs is equal."""

    def __init__(self, worth: Array, seed: int) -> None:
        super().__init__(lambda candidate: float(worth[candidate.index]))
        first, second = np.triu_indices(len(worth), 1)
        self.close = np.quantile(np.abs(worth[first] - worth[second]), EQUAL)
        self.generator = np.random.default_rng([seed, 23])

    def response(self, comparison: Comparison) -> Response:
        """Return "equal" for a pair that is close, else "choice"."""
        gap = self.utility(comparison.first) - self.utility(comparison.second)
        return "equal" if abs(gap) <= self.close else "choice"

    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate, but for a slip."""
        better = self.utility(pair.first) > self.utility(pair.second)
        return pair.first if better != (self.generator.random() < SLIPS) else pair.second


def play(pool: Pool, worth: Array, prior: Prior | None, seed: int) -> tuple[Session, list[float]]:
    """Let somebody answer ten questions; return the session and the regret after each."""
    session = Session(pool, Frugal(prior=prior), epsilon=None, budget=ASKED, seed=seed)
    answers = chain([None], simulate(session, Person(worth, seed)))
    regrets = [_regret(worth, session.best.index) for _ in answers]
    return session, regrets + regrets[-1:] * (ASKED + 1 - len(regrets))


def _regret(worth: Array, best: int) -> float:
    return float((worth.max() - worth[best]) / (worth.max() - worth.mean()))


def table(title: str, rows: dict[str, list[list[float]]]) -> None:
    """Print mean regrets, and what is gained over the first row, person by person."""
    print(f"\n{title}\n\n| | " + " | ".join(f"t = {t}" for t in MARKS) + " |")
    print("|---" * (len(MARKS) + 1) + "|")
    names = list(rows)
    for name in names:
        print(f"| {name} | " + " | ".join(_cells(np.array(rows[name]))) + " |")
    for name in names[1:]:
        gained = np.array(rows[names[0]]) - np.array(rows[name])
        print(f"| less, {name} | " + " | ".join(_cells(gained)) + " |")
    for t in (5, 10):
        aim = np.mean(rows[names[0]], axis=0)[t]
        reached = {name: _first(np.mean(rows[name], axis=0) <= aim) for name in names[1:]}
        counts = ", ".join(f"{name} {after}" for name, after in reached.items())
        print(f"\nAs good as {t} questions without: {counts}")
    sys.stdout.flush()


def _cells(values: Array) -> list[str]:
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return [f"{values[:, t].mean():.3f} ({error[t]:.3f})" for t in MARKS]


def _first(reached: Array) -> str:
    return str(int(np.argmax(reached))) if reached.any() else f"more than {ASKED}"


@dataclass(frozen=True)
class World:
    """People with something in common: `theta = mean + directions z + noise`, and popularity."""

    mean: Array
    directions: Array
    popularity: Array
    features: Array

    @classmethod
    def draw(cls, seed: int) -> World:
        """Draw a world: two directions, noise of a half, and popularity of a half."""
        draw = np.random.default_rng([seed, 29])
        return cls(
            draw.normal(size=DIMENSION),
            draw.normal(size=(DIMENSION, 2)),
            0.5 * np.sqrt(DIMENSION) * draw.normal(size=CANDIDATES),
            draw.normal(size=(CANDIDATES, DIMENSION)),
        )

    def person(self, kind: str, same: bool, seed: int) -> tuple[Pool, Array]:
        """Return somebody's pool and what its candidates are worth to them."""
        draw = np.random.default_rng([seed, 31])
        features, popular = self.features, self.popularity
        if not same:
            features = draw.normal(size=features.shape)
            popular = popular.std() * draw.normal(size=len(popular))
        texts = [Candidate(f"{'the' if same else seed} {k}") for k in range(CANDIDATES)]
        pool = Pool("Which?", texts, features, embedder="drawn")
        if kind == "unrelated":
            taste = np.sqrt(1 + 2 + 0.25) * draw.normal(size=DIMENSION)
            return pool, features @ taste + popular.std() * draw.normal(size=CANDIDATES)
        sign = -1.0 if kind == "reversed" else 1.0
        apart = self.directions @ draw.normal(size=2) + 0.5 * draw.normal(size=DIMENSION)
        return pool, features @ (sign * self.mean + apart) + sign * popular


def others() -> None:
    """Compare other people's answers, for somebody like them and unlike them."""
    for same in (True, False):
        tables: dict[str, dict[str, list[list[float]]]] = {}
        gains = []
        for number in range(WORLDS):
            world = World.draw(number)
            pasts = []
            for n in range(PEOPLE):
                pool, worth = world.person("alike", same, 1000 * number + n)
                pasts.append(PastSession.from_session(play(pool, worth, None, n)[0], str(n)))
            memory = fit(pasts)
            gains.append(memory.populations[0].gain or 0.0)
            for kind in ("alike", "reversed", "unrelated"):
                rows = tables.setdefault(kind, {"without": [], "memory": []})
                for n in range(TESTED):
                    pool, worth = world.person(kind, same, 1000 * number + 500 + n)
                    rows["without"].append(play(pool, worth, None, n)[1])
                    rows["memory"].append(play(pool, worth, memory.prior_for(pool), n)[1])
        what = "the same candidates" if same else "new candidates"
        print(f"\n{what}: gain in log-probability of an answer, {np.mean(gains):.3f}")
        for kind, rows in tables.items():
            table(f"Others, {what}, somebody {kind}", rows)


def question(n: int, k: int, taste: Array, carried: float) -> tuple[Pool, Array]:
    """Return the pool of somebody's k-th question, and what its candidates are worth to them."""
    draw = np.random.default_rng([n, k, 41])
    features = draw.normal(size=(CANDIDATES, DIMENSION))
    texts = [Candidate(f"{n} {k} {c}") for c in range(CANDIDATES)]
    now = carried * taste + np.sqrt(1 - carried**2) * draw.normal(size=DIMENSION)
    return Pool(f"Question {k}", texts, features, embedder="drawn"), features @ now


def own() -> None:
    """Compare somebody's own answers to earlier questions, of a taste that carries over or not."""
    for carried in (1.0, 0.7, 0.0):
        rows: dict[str, list[list[float]]] = {"without": [], "memory": []}
        for n in range(WORLDS * TESTED):
            taste = np.random.default_rng([n, 37]).normal(size=DIMENSION)
            memory = Memory()
            for k in range(4):
                memory = memory.with_session(play(*question(n, k, taste, carried), None, n)[0])
            pool, worth = question(n, 9, taste, carried)
            rows["without"].append(play(pool, worth, None, n)[1])
            rows["memory"].append(play(pool, worth, memory.prior_for(pool), n)[1])
        table(f"One's own four earlier questions, correlation {carried}", rows)


def personas() -> None:
    """Compare for people described in words, the same over several questions of a domain."""
    embedder = embedder_for(None)
    for name in ("travel64d", "food64d"):
        questions = domains.load(name).questions
        pools = [question.pool(embedder=embedder) for question in questions]
        texts = [persona.description for question in questions for persona in question.personas]
        wishes = embedder.embed_texts(texts)
        rows: dict[str, list[list[float]]] = {"without": [], "own": [], "own and others": []}
        turns = [
            np.random.default_rng([n, 43]).permutation(len(pools))[:5] for n in range(len(texts))
        ]
        before = [
            _earlier([pools[k] for k in turns[n][1:]], wishes[n], n) for n in range(len(texts))
        ]
        rest = [
            fit(past for m, pasts in enumerate(before) if m % 5 != fold for past in pasts)
            for fold in range(5)
        ]
        for n, wish in enumerate(wishes):
            pool = pools[turns[n][0]]
            own_sessions, worth = tuple(before[n]), pool.features @ wish
            memories = {
                "own": Memory(own_sessions),
                "own and others": Memory(own_sessions, rest[n % 5].populations),
            }
            rows["without"].append(play(pool, worth, None, n)[1])
            for kind, memory in memories.items():
                rows[kind].append(play(pool, worth, memory.prior_for(pool), n)[1])
        table(f"{name}: four earlier questions of the same persona, by likeness", rows)


def _earlier(pools: list[Pool], wish: Array, n: int) -> list[PastSession]:
    return [
        PastSession.from_session(play(pool, pool.features @ wish, None, n)[0], str(n))
        for pool in pools
    ]


def recorded() -> None:
    """Compare for recorded people, a quarter of them at a time left out."""
    crowd = population(
        people=PEOPLE, items=CANDIDATES, dimension=8, pairs=ASKED, errors=0.05, seed=1
    )
    with tempfile.TemporaryDirectory() as folder:
        people = People.read(crowd.write(Path(folder)))
    names = [f"p{n}" for n in range(PEOPLE)]
    records = {
        "answers alone": replace(people, ratings={}),
        "answers and ratings": people,
    }
    pool = people.pool()
    rows: dict[str, list[list[float]]] = {"without": [], **{name: [] for name in records}}
    for group in range(0, PEOPLE, PEOPLE // 4):
        out = names[group : group + PEOPLE // 4]
        memories = {}
        for name, answers in records.items():
            memories[name] = fit(p for p in past_sessions(answers, pool) if p.person not in out)
        for n in range(group, group + PEOPLE // 4):
            rows["without"].append(play(pool, crowd.utilities[n], None, n)[1])
            for name, memory in memories.items():
                prior = memory.prior_for(pool)
                rows[name].append(play(pool, crowd.utilities[n], prior, n)[1])
    table("Recorded people, the same candidates", rows)


def people(folder: str) -> None:
    """Compare the preset for people on record, by what the other half of them answered.

    For somebody unrelated the items of all who were learnt from are exchanged by one permutation,
    so that they agree about the wrong things; for somebody contrary all their answers are reversed.
    """
    names = usable_people(folder)
    pasts = {past.person: past for past in past_sessions(People.read(folder))}
    rows: dict[str, list[list[list[float]]]] = {}
    for split in range(SPLITS):
        draw = np.random.default_rng([split, 77])
        order = [names[n] for n in draw.permutation(len(names))]
        middle = len(order) // 2
        for others, tested in (order[:middle], order[middle:]), (order[middle:], order[:middle]):
            known = [pasts[name] for name in others]
            memories = {
                "without": Memory(),
                "with memory": fit(known),
                "somebody unrelated": fit(_exchanged(known, draw)),
                "somebody contrary": fit(replace(p, wins=_turned(p.wins)) for p in known),
            }
            for kind, memory in memories.items():
                table = rows.setdefault(kind, [[] for _ in names])
                for name in tested:
                    n = names.index(name)
                    table[n].append(_screens(folder, name, memory, 1000 * split + n))
    _print_screens(folder, {kind: np.mean(table, axis=1) for kind, table in rows.items()})


def _screens(folder: str, name: str, memory: Memory, seed: int) -> list[float]:
    """Return somebody's regret after each screen of the preset, then the number of screens."""
    case = recorded_case(folder, name, seed)
    session = Session.few(case.pool, seed=seed, prior=memory.prior_for(case.pool))
    answers = chain([None], simulate(session, case.user()))
    regrets = [float(case.regret[session.best.index]) for _ in answers]
    padded = regrets + regrets[-1:] * SCREENS
    return [*padded[: SCREENS + 1], float(session.cost)]


def _exchanged(pasts: list[PastSession], draw: np.random.Generator) -> list[PastSession]:
    features = {key: row for p in pasts for key, row in zip(p.keys, p.features, strict=True)}
    to = dict(zip(features, draw.permutation(list(features)).tolist(), strict=True))
    moved = [tuple(to[key] for key in past.keys) for past in pasts]
    return [
        replace(past, keys=keys, features=np.array([features[key] for key in keys]))
        for past, keys in zip(pasts, moved, strict=True)
    ]


def _turned(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return tuple((worse, better) for better, worse in pairs)


def _print_screens(folder: str, rows: dict[str, Array]) -> None:
    without = rows["without"]
    heads = " | ".join(map(str, range(SCREENS + 1)))
    print(f"\n{Path(folder).name}: regret after so many screens, {len(without)} people\n")
    print(f"| | {heads} | screens |" + "\n" + "|---" * (SCREENS + 3) + "|")
    for kind, values in rows.items():
        print(f"| {kind} | " + " | ".join(f"{mean:.3f}" for mean in values.mean(axis=0)) + " |")
    for kind, values in list(rows.items())[1:]:
        gained = without - values
        error = gained.std(axis=0, ddof=1) / np.sqrt(len(gained))
        cells = (f"{m:+.3f} ({e:.3f})" for m, e in zip(gained.mean(axis=0), error, strict=True))
        print(f"| less, {kind} | " + " | ".join(cells) + " |")
    sys.stdout.flush()


def duration() -> None:
    """Measure the processor time that learning takes, and a prior."""
    print("\n| people | answers each | features | fit | prior |\n|---|---|---|---|---|")
    for people, answers, dimension in _sizes():
        draw = np.random.default_rng(1)
        features = draw.normal(size=(200, dimension))
        mean, pasts = draw.normal(size=dimension), []
        pool = Pool("Which?", [f"item {k}" for k in range(200)], features, embedder="drawn")
        for n in range(people):
            worth = features @ (mean + draw.normal(size=dimension))
            pairs = [draw.choice(200, 2, replace=False) for _ in range(answers)]
            wins = [(a, b) if worth[a] > worth[b] else (b, a) for a, b in pairs]
            z = features / np.sqrt(dimension)
            keys = tuple(candidate.text for candidate in pool)
            pasts.append(PastSession(str(n), "Which?", "drawn", keys, z, tuple(wins)))
        start = time.process_time()
        memory = fit(pasts)
        middle = time.process_time()
        Memory((pasts[0],), memory.populations).prior_for(pool)
        end = time.process_time()
        times = f"{middle - start:.1f} s | {1e3 * (end - middle):.0f} ms"
        print(f"| {people} | {answers} | {dimension} | {times} |")


def _sizes() -> Iterator[tuple[int, int, int]]:
    yield from ((30, 10, 64), (100, 10, 64), (300, 10, 64), (100, 40, 64), (100, 10, 512))


PARTS = {"others": others, "own": own, "personas": personas, "recorded": recorded, "time": duration}


def main() -> None:
    """Print the tables that were asked for, or all."""
    if sys.argv[1:2] == ["people"]:
        for folder in sys.argv[2:]:
            people(folder)
        return
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
