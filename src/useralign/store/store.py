"""A store: one database with all that is kept in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.store.database import Database, default_url
from useralign.store.media import MediaShelf
from useralign.store.migrate import migrate
from useralign.store.persons import Persons
from useralign.store.pools import Pools
from useralign.store.wiping import rinse, wipe

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection


class Store:
    """What is kept between requests and restarts.

    Parameters
    ----------
    database : Database
        Brought to the newest schema.

    Attributes
    ----------
    pools : Pools
    media : MediaShelf
    persons : Persons
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        self.pools = Pools(database)
        self.media = MediaShelf(database)
        self.persons = Persons(database)

    def __repr__(self) -> str:
        return f"Store({self.database.url.render_as_string()})"

    def reading(self) -> AbstractContextManager[Connection]:
        """Lend a connection for reading."""
        return self.database.reading()

    def writing(self) -> AbstractContextManager[Connection]:
        """Lend a connection for one transaction: all of it is kept, or nothing."""
        return self.database.writing()

    def wipe(self) -> None:
        """Take what was deleted out of the files, too; needs a moment alone."""
        wipe(self.database)

    def rinse(self) -> bool:
        """Take what was deleted out of the files as far as that takes no time."""
        return rinse(self.database)

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
