"""Bringing a database to this program's schema."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

import migrations
from server.store.database import make_engine
from server.store.errors import MigrationError, store_errors

T = TypeVar("T")

_CONNECT_SECONDS = 10.0

PATIENCE_SECONDS = 300.0
"""How long to wait for another process that migrates, and how long one statement of a revision may take."""


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's settings: the revisions are those installed with this package, wherever it runs."""
    config = Config()
    folder = Path(migrations.__path__[0])
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def upgrade(database_url: str) -> None:
    """Bring the database to this program's schema; does nothing where it is there already.

    Of several processes that do this at once, one does the work and the others wait for it. Runs an event
    loop of its own: a coroutine calls it by `asyncio.to_thread`; two threads of a process must not migrate at
    once, which Alembic forbids. Raises `StoreUnavailable` if the database is away, and `MigrationError` if it
    was migrated by a newer version of this program.
    """
    _run(database_url, lambda connection: command.upgrade(alembic_config(connection), "head"))


def pending(database_url: str) -> bool:
    """Whether `upgrade` has anything to do; changes nothing. It runs and raises as `upgrade` does."""
    scripts = ScriptDirectory.from_config(alembic_config())

    def behind(connection: Connection) -> bool:
        heads = MigrationContext.configure(connection).get_current_heads()
        for head in heads:
            # An unknown revision is an error here, as it is in an upgrade.
            scripts.get_revision(head)
        return set(heads) != set(scripts.get_heads())

    return _run(database_url, behind)


def _run(database_url: str, work: Callable[[Connection], T]) -> T:
    async def connected() -> T:
        engine = make_engine(
            database_url, connections=1, timeout=_CONNECT_SECONDS, command_timeout=PATIENCE_SECONDS
        )
        try:
            async with engine.connect() as connection:
                return await connection.run_sync(work)
        finally:
            await engine.dispose()

    try:
        with store_errors():
            return asyncio.run(connected())
    except CommandError as error:
        raise MigrationError(
            f"{error}. If a newer version of this program has migrated the database, run that version, "
            "or restore a backup from before."
        ) from error
