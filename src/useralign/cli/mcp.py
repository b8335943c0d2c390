"""`useralign mcp`: an MCP server on standard input and output, for an assistant on this machine."""

from __future__ import annotations

from useralign.cli.serve import Database


def mcp(database: Database = None) -> None:
    """Serve an assistant on this machine: an MCP server on standard input and output.

    Name this command in the assistant's configuration. For assistants elsewhere, `useralign serve`
    has the same at /mcp.
    """
    from useralign.extras import require_extra

    require_extra(["mcp", "fastapi", "sqlalchemy"], "the MCP server", "mcp")
    from useralign.store import open_store
    from useralign.web.app import create_app
    from useralign.web.identity import LOCAL
    from useralign.web.mcp import Assistant

    store = open_store(database)
    state = create_app(store).state
    try:
        Assistant(state, LOCAL).server().run()
    finally:
        state.pool_jobs.close()
        store.close()
