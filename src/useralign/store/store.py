"""A store: one database with all that is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.store.database import Database, default_url
from useralign.store.keys import ApiKeys
from useralign.store.media import Pictures
from useralign.store.migrate import migrate
from useralign.store.persons import Persons
from useralign.store.pool_jobs import PoolJobs
from useralign.store.pools import Pools

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection


class Store:
    """What outlives requests and restarts.

    Parameters
    ----------
    database : Database
        Brought to the newest schema.

    Attributes
    ----------
    pools : Pools
    pool_jobs : PoolJobs
    media : Pictures
    persons : Persons
    keys : ApiKeys
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        self.pools = Pools(database)
        self.pool_jobs = PoolJobs(database)
        self.media = Pictures(database)
        self.persons = Persons(database)
        self.keys = ApiKeys(database)

    def __repr__(self) -> str:
        return f"Store({self.database.url.render_as_string()})"

    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a connection for reading."""
        return self.database.reading()

    def writing(self) -> AbstractContextManager[Connection]:
        """Lend a connection for one transaction: all of it is kept, or nothing."""
        return self.database.writing()

    def wipe(self) -> None:
        """Remove deleted data from the files, too; see `Database.wipe`."""
        self.database.wipe()

    def rinse(self) -> bool:
        """Remove deleted data from the files as far as that takes no time."""
        return self.database.rinse()

    def close(self) -> None:
        """Let go of all connections."""
        self.database.close()


def open_store(url: str | None = None) -> Store:
    """Open a store by its address.

    Parameters
    ----------
    url : str, optional
        `sqlite:////path/to/file.db` or `postgresql+psycopg://user@host/name`. When not given,
        `USERALIGN_DATABASE`, or a SQLite file in the data folder.

    Raises
    ------
    OptionError
        If the address cannot be understood.
    StoreError
        If the database cannot be reached, or is of a newer version.
    """
    return Store(Database(url or default_url()))
