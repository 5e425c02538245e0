"""How Alembic reaches the database: one process at a time, and never in the way of a server for long.

`server.store.migrate` hands over the connection to use. Without one (the `alembic` command, which drafts new
revisions) it is `DATABASE_URL`'s. Scripts for others to run (`--sql`) are not made.
"""

import asyncio
import os
import time

from alembic import context
from sqlalchemy import Connection, text

from server.store.database import make_engine
from server.store.migrate import PATIENCE_SECONDS
from server.store.tables import Base

# Any number will do that nobody else uses on this database: the letters "patience" in ASCII.
LOCK = 0x70617469656E6365
PATIENCE_MS = round(PATIENCE_SECONDS * 1000)
# A migration that waits for a table's lock holds up everybody who comes after it, so it gives up soon.
TABLE_LOCK_MS = 4_000
POLL_SECONDS = 0.1


def migrate(connection: Connection) -> None:
    """Run what was asked for while holding the lock; whoever comes second finds nothing left to do."""
    connection.execute(text(f"SET statement_timeout = {PATIENCE_MS}"))
    connection.execute(text(f"SET idle_in_transaction_session_timeout = {PATIENCE_MS}"))
    connection.execute(text(f"SET lock_timeout = {TABLE_LOCK_MS}"))
    take_lock(connection)
    try:
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            transaction_per_migration=True,
            compare_server_default=True,
        )
        with context.begin_transaction():
            context.run_migrations()
    finally:
        # What failed is rolled back first: in a broken transaction nothing can be unlocked.
        connection.rollback()
        connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})
        connection.commit()


def take_lock(connection: Connection) -> None:
    """Wait until nobody else migrates, and hold the others up from here on.

    The lock is the connection's, not the transaction's, so each migration can have its own. It is asked for
    again and again, since a statement that waits for it would be waited for in turn by whoever has it and
    makes an index CONCURRENTLY.

    Raises:
        TimeoutError: the other one takes too long.
    """
    late = time.monotonic() + PATIENCE_SECONDS
    while True:
        taken = connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}).scalar_one()
        connection.commit()
        if taken:
            return
        if time.monotonic() > late:
            raise TimeoutError("another process has been migrating for too long")
        time.sleep(POLL_SECONDS)


async def migrate_alone() -> None:
    """Connect to `DATABASE_URL` and migrate there."""
    engine = make_engine(os.environ["DATABASE_URL"], connections=1, timeout=PATIENCE_SECONDS)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(migrate)
    finally:
        await engine.dispose()


if context.is_offline_mode():
    raise SystemExit("These migrations need a database to run on: leave out --sql.")
given = context.config.attributes.get("connection")
if isinstance(given, Connection):
    migrate(given)
else:
    asyncio.run(migrate_alone())
