"""The web application: a personal page, an HTTP API, and what studies are built on.

`create_app` makes it; `useralign serve` runs it. It needs the extra `web`.
"""

from useralign.web.settings import Settings

__all__ = ["Settings"]
