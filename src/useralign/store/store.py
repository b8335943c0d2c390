"""A store: one database with all that is in it."""

from __future__ import annotations

from useralign.store.database import Database, default_url
from useralign.store.keys import ApiKeys
from useralign.store.media import Pictures
from useralign.store.migrate import migrate
from useralign.store.personal import PersonalData, Persons
from useralign.store.pool_jobs import PoolJobs
from useralign.store.pools import Pools
from useralign.store.rate_limits import RateLimits
from useralign.store.rebuilt import Rebuilt


class Store(Database):
    """What outlives requests and restarts: a database of the newest schema, by its parts."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        try:
            migrate(self)
        except BaseException:
            self.close()
            raise
        self.pools = Pools(self)
        self.pool_jobs = PoolJobs(self)
        self.media = Pictures(self)
        self.persons = Persons(self)
        self.personal = PersonalData(self)
        self.keys = ApiKeys(self)
        self.rate_limits = RateLimits(self)
        self.rebuilt = Rebuilt()  # sessions that this process has in its memory

    def __repr__(self) -> str:
        return f"Store({self})"


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
    return Store(url or default_url())
