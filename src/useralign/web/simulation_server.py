"""A server for simulated people, over a socket that is open already.

`python -m useralign.web.simulation_server NUMBER-OF-SOCKET` serves the database that
`USERALIGN_DATABASE` names, with none of the limits that real visitors meet. Several of them may
share the socket.
"""

from __future__ import annotations

import math
import sys
import threading

import uvicorn

from useralign.store import open_store
from useralign.web.app import create_app
from useralign.web.settings import Settings


def main(number: str) -> None:
    """Serve until told to stop, or until nobody is left who could."""
    store = open_store()
    # All simulated people come from one network address.
    settings = Settings(
        asks_per_hour=math.inf, answers_per_minute=math.inf, limit_participants=False
    )
    app = create_app(store, settings)
    server = uvicorn.Server(
        uvicorn.Config(app, fd=int(number), log_level="warning", access_log=False)
    )

    def end_with_parent() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=end_with_parent, daemon=True).start()
    server.run()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1])
