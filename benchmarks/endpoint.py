"""What the endpoint in OpenAI's format is worth and costs: tables of docs/tutorials/endpoint.md.

    python -m benchmarks.endpoint people FOLDER ...  # recorded people: useralign.users.recorded
    python -m benchmarks.endpoint personas
    python -m benchmarks.endpoint time

Somebody asks ten times. Each time the model behind writes four candidates, the one is returned that
fits what is remembered, and they send back which of the four they like best. Regret is how much
worse the returned one is than the best of the four, in standard deviations of their utilities.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.models.scripted_service import Reply, ScriptedService, chat
from tests.servers import Server

from useralign import Pool, Session, domains
from useralign.memory import Memory, PastSession, fit
from useralign.models import embedder_for
from useralign.users import People

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Draw = Callable[[int], tuple[Pool, Array]]

REQUESTS, CANDIDATES = 10, 4
SECONDS = 1.0  # that the model behind takes
CROWD = 50


def life(draw: Draw, memory: Memory) -> tuple[list[float], list[float], list[PastSession]]:
    """Let somebody ask ten times; return regrets by memory and of the first, and the sessions."""
    regrets, firsts = [], []
    for request in range(REQUESTS):
        pool, worth = draw(request)
        prior = memory.prior_for(pool)
        options: dict[str, Any] = {"epsilon": None, "budget": 1, "per_screen": len(pool)}
        session = Session(pool, "frugal", seed=request, prior=prior, **options)
        choice = 0 if prior is None else session.best.index
        regrets.append(float(worth.max() - worth[choice]))
        firsts.append(float(worth.max() - worth[0]))
        session.ask()
        session.tell(int(worth.argmax()))
        memory = memory.with_session(session)
    return regrets, firsts, list(memory.own)


def table(title: str, rows: dict[str, list[list[float]]]) -> None:
    """Print mean regrets by request."""
    print(f"\n{title}, {len(next(iter(rows.values())))} people\n")
    print("| request | " + " | ".join(map(str, range(1, REQUESTS + 1))) + " | all |")
    print("|---" * (REQUESTS + 2) + "|")
    for name, values in rows.items():
        array = np.array(values)
        means = [f"{mean:.2f}" for mean in array.mean(axis=0)]
        error = array.mean(axis=1).std(ddof=1) / np.sqrt(len(array))
        print(f"| {name} | {' | '.join(means)} | {array.mean():.2f} ({error:.2f}) |")
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
    """Compare for recorded people: alone, and with what half of the others share."""
    for folder in folders:
        records = People.read(folder)
        draws = []
        for n, name in enumerate(records.names):
            pool = records.pool(person=name)
            person = records.person(name)
            worths = person.ratings or person.shares()
            worth = standard(np.array([float(worths[candidate.label]) for candidate in pool]))
            draws.append(drawn(pool, worth, n))
        rows: dict[str, list[list[float]]] = {}
        pasts: list[list[PastSession]] = []
        for draw in draws:
            regrets, firsts, sessions = life(draw, Memory())
            rows.setdefault("the first", []).append(firsts)
            rows.setdefault("memory", []).append(regrets)
            pasts.append(sessions)
        for half in (0, 1):
            learnt = [
                PastSession(**{**_fields(past), "person": str(n)})
                for n, sessions in enumerate(pasts)
                if n % 2 != half
                for past in sessions
            ]
            populations = fit(learnt).populations
            for draw in draws[half::2]:
                shared = life(draw, Memory((), populations))[0]
                rows.setdefault("memory, and half of the others share", []).append(shared)
        table(Path(folder).name, rows)


def _fields(past: PastSession) -> dict[str, Any]:
    return {name: getattr(past, name) for name in past.__dataclass_fields__}


def personas() -> None:
    """Compare for people described in words: by their own ranking, and over many questions."""
    embedder = embedder_for(None)
    for name in ("food64d", "travel64d", "dsp64d"):
        questions = domains.load(name).questions
        pools = [question.pool(embedder=embedder) for question in questions]
        ranked: dict[str, list[list[float]]] = {"the first": [], "memory": []}
        likely: dict[str, list[list[float]]] = {"the first": [], "memory": []}
        for question, pool in zip(questions, pools, strict=True):
            for persona in question.personas:
                place = {ident: n for n, ident in enumerate(persona.ranking)}
                worth = standard(-np.array([float(place[c.label]) for c in pool]))
                seed = len(ranked["memory"])
                _add(ranked, life(drawn(pool, worth, seed), Memory()))
                wish = embedder.embed_texts([persona.description])[0]
                _add(likely, life(_over(pools, wish, seed), Memory()))
        table(f"{name}, their own question and ranking", ranked)
        table(f"{name}, another question each time, by likeness to the description", likely)


def _add(
    rows: dict[str, list[list[float]]], outcome: tuple[list[float], list[float], list[PastSession]]
) -> None:
    rows["memory"].append(outcome[0])
    rows["the first"].append(outcome[1])


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
    service.next_reply = lambda: Reply(  # type: ignore[method-assign]
        chat(f"Answer number {next(numbers)} is to cook some noodles."), delay=SECONDS
    )
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
            asyncio.run(_measure(here, direct))
    finally:
        service.shutdown()
        thread.join()
        service.server_close()


async def _measure(here: Any, direct: Any) -> None:
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
        start = time.perf_counter()
        replies = await asyncio.gather(*(timed(client, f"{name} {n}", 0) for n in range(CROWD)))
        whole = time.perf_counter() - start
        median = statistics.median(taken for taken, _ in replies)
        print(f"{CROWD} at once, {name}: {whole:.1f} s in all, median {median:.1f} s")


if __name__ == "__main__":
    part, *arguments = sys.argv[1:] or ["personas"]
    if part == "people":
        people(arguments)
    else:
        {"personas": personas, "time": timing}[part]()
