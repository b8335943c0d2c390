"""What the endpoint in OpenAI's format is worth and costs: tables of docs/tutorials/endpoint.md.

    python -m benchmarks.endpoint people FOLDER ...  # recorded people: useralign.users.recorded
    python -m benchmarks.endpoint personas
    python -m benchmarks.endpoint time

Somebody asks ten times. Each time the model behind writes four candidates, the one is returned that
fits what is remembered, and they send back which of the four they like best. Regret is how much
worse the returned one is than the best of the four, in standard deviations of their utilities. The
last row is what a regression would choose that was told the utilities of all four each time.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.models.scripted_service import Reply, ScriptedService, chats
from tests.servers import Server

from useralign import Pool, Session, domains
from useralign.answers import Answer
from useralign.memory import Memory, PastSession, fit
from useralign.memory.past import standardised
from useralign.models import embedder_for
from useralign.users import People

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Draw = Callable[[int], tuple[Pool, Array]]

FIRST, MEMORY, TOLD = "the first", "memory", "told all utilities"
SHARED = "memory, and half of the others share"
REQUESTS, CANDIDATES = 10, 4
LIVES = 2  # draws of candidates per person
RIDGE = 0.05
SECONDS = 1.0  # that the model behind takes
CROWD = 50


def life(draw: Draw, memory: Memory) -> tuple[dict[str, list[float]], list[PastSession]]:
    """Let somebody ask ten times; return regrets by how one is chosen, and the sessions."""
    regrets: dict[str, list[float]] = {}
    rows, told = np.empty((0, 0)), np.empty(0)
    for request in range(REQUESTS):
        pool, worth = draw(request)
        prior = memory.prior_for(pool)
        options: dict[str, Any] = {"epsilon": None, "budget": 1, "per_screen": len(pool)}
        session = Session(pool, "frugal", seed=request, prior=prior, **options)
        z = standardised(pool)
        choices = {
            FIRST: 0,
            MEMORY: 0 if prior is None else session.best.index,
            TOLD: _by_regression(rows, told, z) if request else 0,
        }
        for name, choice in choices.items():
            regrets.setdefault(name, []).append(float(worth.max() - worth[choice]))
        answer = Answer(0, 1, int(worth.argmax()), others=tuple(range(2, len(pool))))
        past = PastSession.from_answers(pool, [answer])
        memory = replace(memory, own=(*memory.own, past))
        rows = np.vstack([rows, z]) if request else z
        told = np.concatenate([told, worth - worth.mean()])
    return regrets, list(memory.own)


def _by_regression(rows: Array, told: Array, z: Array) -> int:
    """Return which of the candidates `z` is best by a ridge regression on utilities."""
    weights = np.linalg.solve(rows @ rows.T + RIDGE * np.eye(len(rows)), told)
    return int((z @ rows.T @ weights).argmax())


def compare(title: str, draws: Sequence[Draw]) -> None:
    """Print mean regrets by request: alone, and with what half of the others share."""
    rows: dict[str, list[list[float]]] = {}
    pasts = []
    for draw in draws:
        regrets, sessions = life(draw, Memory())
        for name, values in regrets.items():
            rows.setdefault(name, []).append(values)
        pasts.append(sessions)
    for half in (0, 1):
        learnt = [
            replace(past, person=str(n // LIVES))
            for n, sessions in enumerate(pasts)
            if n // LIVES % 2 != half and n % LIVES == 0
            for past in sessions
        ]
        populations = fit(learnt).populations
        for draw in (draw for n, draw in enumerate(draws) if n // LIVES % 2 == half):
            shared = life(draw, Memory((), populations))[0][MEMORY]
            rows.setdefault(SHARED, []).append(shared)
    print(f"\n{title}: {len(draws) // LIVES} people, {LIVES} draws of candidates each\n")
    print("| request | " + " | ".join(map(str, range(1, REQUESTS + 1))) + " | all | last 4 |")
    print("|---" * (REQUESTS + 3) + "|")
    for name in (FIRST, MEMORY, SHARED, TOLD):
        array = np.array(rows[name])
        means = [f"{mean:.2f}" for mean in array.mean(axis=0)]
        people = array.mean(axis=1).reshape(-1, LIVES).mean(axis=1)
        error = people.std(ddof=1) / np.sqrt(len(people))
        gained = 1.0 - array[:, -4:].mean() / np.array(rows[FIRST])[:, -4:].mean()
        all_ = f"{array.mean():.2f} ({error:.2f})"
        print(f"| {name} | {' | '.join(means)} | {all_} | {100 * gained:.0f}% |")
    sys.stdout.flush()


def drawn(pool: Pool, worth: Array, seed: int) -> Draw:
    """Return requests over one pool: four of its candidates each time, in any order."""

    def draw(request: int) -> tuple[Pool, Array]:
        order = np.random.default_rng([seed, request, 53]).permutation(len(pool))[:CANDIDATES]
        chosen = [pool[int(k)] for k in order]
        rows = pool.raw_features[order]
        part = Pool(f"{pool.question} {request}", chosen, rows, embedder=pool.embedder or "given")
        return part, worth[order]

    return draw


def standard(worth: Array) -> Array:
    """Return utilities in standard deviations."""
    return np.asarray((worth - worth.mean()) / worth.std())


def people(folders: Sequence[str]) -> None:
    """Compare for recorded people."""
    for folder in folders:
        records = People.read(folder)
        draws: list[Draw] = []
        for name in records.names:
            pool = records.pool(person=name)
            person = records.person(name)
            worths = person.ratings or person.shares()
            worth = standard(np.array([float(worths[candidate.label]) for candidate in pool]))
            draws += [drawn(pool, worth, len(draws) + k) for k in range(LIVES)]
        compare(Path(folder).name, draws)


def personas() -> None:
    """Compare for people described in words: by their own ranking, and over many questions."""
    embedder = embedder_for(None)
    for name in ("food64d", "travel64d", "dsp64d"):
        questions = domains.load(name).questions
        pools = [question.pool(embedder=embedder) for question in questions]
        ranked: list[Draw] = []
        likely: list[Draw] = []
        for question, pool in zip(questions, pools, strict=True):
            for persona in question.personas:
                place = {ident: n for n, ident in enumerate(persona.ranking)}
                worth = standard(-np.array([float(place[c.label]) for c in pool]))
                wish = embedder.embed_texts([persona.description])[0]
                seeds = range(len(ranked), len(ranked) + LIVES)
                ranked += [drawn(pool, worth, seed) for seed in seeds]
                likely += [_over(pools, wish, seed) for seed in seeds]
        compare(f"{name}, their own question and ranking", ranked)
        compare(f"{name}, another question each time, by likeness to the description", likely)


def _over(pools: Sequence[Pool], wish: Array, seed: int) -> Draw:
    """Return requests over several pools in turn, of somebody who likes what is like a wish."""

    def draw(request: int) -> tuple[Pool, Array]:
        pool = pools[(seed + request) % len(pools)]
        return drawn(pool, standard(pool.features @ wish), seed)(request)

    return draw


def timing() -> None:
    """Measure what a request costs beside the model behind, one by one and fifty at once."""
    import openai

    service = ScriptedService()
    numbers = iter(range(10**9))

    def reply() -> Reply:
        count = service.requests[-1].get("n") or 1
        texts = [f"Answer number {next(numbers)} is to cook some noodles." for _ in range(count)]
        return Reply(chats(*texts), delay=SECONDS)

    service.next_reply = reply  # type: ignore[method-assign]
    thread = Thread(target=service.serve_forever, args=(0.02,))
    thread.start()
    environment = {"OPENAI_BASE_URL": service.base_url, "OPENAI_API_KEY": "none"}
    database = f"sqlite:///{Path(tempfile.mkdtemp()) / 'time.db'}"
    try:
        with Server(database, environment=environment) as server:
            here = openai.AsyncOpenAI(
                base_url=f"{server.address}/v1", api_key="none", max_retries=0
            )
            direct = openai.AsyncOpenAI(base_url=service.base_url, api_key="none", max_retries=0)
            asyncio.run(_measure(server, here, direct))
    finally:
        service.shutdown()
        thread.join()
        service.server_close()


async def _measure(server: Server, here: Any, direct: Any) -> None:
    async def timed(client: Any, user: str, number: int) -> tuple[float, Any]:
        messages = [{"role": "user", "content": f"Question {number} of {user}"}]
        start = time.perf_counter()
        reply = await client.chat.completions.create(model="m", messages=messages, user=user)
        return time.perf_counter() - start, reply

    async def row(name: str, client: Any, users: Sequence[str]) -> None:
        times = [(await timed(client, user, n))[0] for n, user in enumerate(users)]
        print(f"| {name} | {1000 * (statistics.median(times) - SECONDS):.0f} ms |")

    await timed(here, "warm", 0)
    print(f"| beside the {SECONDS:g} s of the model behind | median |\n|---|---|")
    await row("the model server itself", direct, [f"d{n}" for n in range(10)])
    await row("the endpoint, a stranger", here, [f"s{n}" for n in range(10)])
    for known in (1, 10, 40):
        for number in range(known):
            _, reply = await timed(here, f"known {known}", number)
            body = {"user": f"known {known}", "session": reply.useralign["session"], "choice": 1}
            await here.post("/feedback", cast_to=object, body=body)
        await row(f"the endpoint, {known} choices remembered", here, [f"known {known}"] * 10)
    for name, client in (("the model server itself", direct), ("the endpoint", here)):
        start, busy = time.perf_counter(), server.processor_seconds
        replies = await asyncio.gather(*(timed(client, f"{name} {n}", 0) for n in range(CROWD)))
        whole, busy = time.perf_counter() - start, server.processor_seconds - busy
        median = statistics.median(taken for taken, _ in replies)
        print(f"{CROWD} at once, {name}: {whole:.1f} s in all, median {median:.1f} s")
        print(f"  the endpoint's processor: {1000 * busy / CROWD:.0f} ms per request")


if __name__ == "__main__":
    part, *arguments = sys.argv[1:] or ["personas"]
    if part == "people":
        people(arguments)
    else:
        {"personas": personas, "time": timing}[part]()
