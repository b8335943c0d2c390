"""What Alembic runs: the migrations on the connection it was handed."""

from __future__ import annotations

from alembic import context

from useralign.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=False,
)
context.run_migrations()
