"""Simulated people on real pages: servers for them, in processes beside this one.

From the administration pages people are sent to the simulated twin of a study; one such simulation
runs at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from useralign import domains
from useralign.errors import ConflictError
from useralign.study.material import Material, shipped
from useralign.study.simulate import Behaviour, Crowd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from useralign.store import Store
    from useralign.study import Study

MOST = 50  # people of one simulation from the pages
THREAD = "rehearsal"
_SERVER = "useralign.web.serving"  # by name: it imports all of the application, and so this
_RUNNING = threading.Lock()
_LOG = logging.getLogger(__name__)
_UNTIL = 300.0  # seconds after which such a simulation is given up


@contextmanager
def serving(database: str, workers: int = 1) -> Iterator[str]:
    """Run servers on this machine over a database that exists by now, and yield their address."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        started = [
            subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-m", _SERVER, str(listening.fileno())],
                pass_fds=[listening.fileno()],
                env={**os.environ, "USERALIGN_DATABASE": database},
                stdin=subprocess.PIPE,
            )
            for _ in range(workers)
        ]
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.communicate(timeout=30)


def start(store: Store, make: Callable[[], Study], people: int) -> Study:
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
    arguments = (store, study, min(people, MOST, study.design.wanted))
    threading.Thread(target=_run, args=arguments, name=THREAD, daemon=True).start()
    return study


def _run(store: Store, study: Study, people: int) -> None:
    try:
        with serving(store.url.render_as_string(hide_password=False)) as address:
            crowd = Crowd(
                address,
                study.design,
                Behaviour(drop_out=0.1),
                participants=people,
                concurrency=8,
                material=_material(store, study),
            )
            asyncio.run(asyncio.wait_for(crowd.run(), _UNTIL))
    except Exception:  # noqa: BLE001 - nobody waits for the thread: the log is all there is
        _LOG.exception("the simulation of %s failed", study.slug)
    finally:
        _RUNNING.release()


def _material(store: Store, study: Study) -> dict[str, list[Material]]:
    """Return the questions of a stored study; shipped ones with what their personas like."""
    material = {}
    for entry in study.design.domains:
        questions = study.questions[entry.name]
        if not entry.own:
            domain = domains.load(entry.name)
            material[entry.name] = [shipped(domain.question(name)) for name in questions]
            continue
        material[entry.name] = [
            Material(name, one.text, one.personas, {}, store.pools.of_session(one.pool_id))
            for name, one in questions.items()
        ]
    return material
