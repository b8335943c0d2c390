"""A simulation from the administration pages: a server and a crowd of their own, in a thread.

Simulated people go to the simulated twin of a study, through real pages on a port of this machine,
with none of the limits that real visitors meet. One simulation runs at a time.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import threading
from typing import TYPE_CHECKING

import uvicorn

from useralign import domains
from useralign.errors import ConflictError
from useralign.study.material import Material, shipped
from useralign.study.simulate import Behaviour, Crowd
from useralign.web.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

    from useralign.study import Study

MOST = 50  # people of one simulation
THREAD = "rehearsal"
_RUNNING = threading.Lock()
_LOG = logging.getLogger(__name__)
_UNTIL = 300.0  # seconds after which a simulation is given up


def start(app: FastAPI, make: Callable[[], Study], people: int) -> Study:
    """Send at most so many simulated people to a study from now on, and return it.

    `make` returns the simulated twin of a study, begun anew. It is called when no simulation is
    under way; while one is, `ConflictError` is raised.
    """
    if not _RUNNING.acquire(blocking=False):
        raise ConflictError("a simulation is under way; wait until it is done")
    try:
        study = make()
    except BaseException:
        _RUNNING.release()
        raise
    people = min(people, MOST, study.design.wanted)
    arguments = (app, study, people)
    threading.Thread(target=_run, args=arguments, name=THREAD, daemon=True).start()
    return study


def _run(app: FastAPI, study: Study, people: int) -> None:
    try:
        asyncio.run(asyncio.wait_for(_simulate(app, study, people), _UNTIL))
    except Exception:  # noqa: BLE001 - nobody waits for the thread: the log is all there is
        _LOG.exception("the simulation of %s failed", study.slug)
    finally:
        _RUNNING.release()


async def _simulate(app: FastAPI, study: Study, people: int) -> None:
    settings = Settings(
        asks_per_hour=math.inf, answers_per_minute=math.inf, limit_participants=False
    )
    twin = app.state.create(settings)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(twin, log_level="warning", access_log=False, lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            crowd = Crowd(
                f"http://127.0.0.1:{listening.getsockname()[1]}",
                study.design,
                Behaviour(drop_out=0.1),
                participants=people,
                concurrency=8,
                material=_material(app, study),
            )
            await crowd.run()
        finally:
            server.should_exit = True
            await serving


def _material(app: FastAPI, study: Study) -> dict[str, list[Material]]:
    """Return the questions of a stored study; shipped ones with what their personas like."""
    pools = app.state.store.pools
    known = {}
    for entry in study.design.domains:
        questions = study.questions[entry.name]
        if not entry.own:
            domain = domains.load(entry.name)
            known[entry.name] = [shipped(domain.question(name)) for name in questions]
            continue
        known[entry.name] = [
            Material(name, one.text, one.personas, {}, pools.of_session(one.pool_id))
            for name, one in questions.items()
        ]
    return known
