"""What `tests.processes` imports once for all its processes."""

import uvicorn

import useralign.cli.app
import useralign.cli.conversation
import useralign.memory
import useralign.models.text_embedders
import useralign.store.migrate
import useralign.study
import useralign.web.app

__all__ = ["useralign", "uvicorn"]
