import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from server.ids import new_id
from server.store.database import Database
from server.store.driver import DriverConnection
from server.store.errors import MigrationError, StoreUnavailable
from server.store.migrate import alembic_config, pending, upgrade
from server.store.tables import Base

# Everything that a constraint, an index or a column of ours says, as PostgreSQL itself tells it.
CATALOG = """
    SELECT conrelid::regclass::text, conname::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL
    SELECT table_name, column_name, concat_ws(' ', data_type, udt_name, is_nullable, column_default)
        FROM information_schema.columns WHERE table_schema = 'public'
"""


@pytest.fixture
async def empty_url(database_url: str, admin: DriverConnection) -> AsyncGenerator[str]:
    """The URL of a database beside the migrated one, with nothing in it."""
    name = f"empty_{new_id().hex}"
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    yield urlunsplit(urlsplit(database_url)._replace(path=f"/{name}"))
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def catalog(url: str) -> set[tuple[str, str, str]]:
    database = Database(url)
    async with database.reading() as db:
        rows = {(row[0], row[1], row[2]) for row in await db.execute(text(CATALOG))}
    await database.close()
    return {row for row in rows if "alembic_version" not in row[0]}


async def test_models_and_migrations_are_equal(database: Database, database_url: str, empty_url: str) -> None:
    def differences(connection: Connection) -> object:
        return compare_metadata(MigrationContext.configure(connection), Base.metadata)

    async with database.reading() as db:
        assert await db.run_sync(differences) == []
    modelled = Database(empty_url)
    async with modelled.writing() as db:
        await db.run_sync(Base.metadata.create_all)
    await modelled.close()
    assert await catalog(database_url) == await catalog(empty_url) != set()


async def test_up_from_nothing_and_down_again(empty_url: str, database_url: str) -> None:
    assert await asyncio.to_thread(pending, empty_url)
    assert await catalog(empty_url) == set(), "asking changes nothing"
    await asyncio.to_thread(upgrade, empty_url)
    assert not await asyncio.to_thread(pending, empty_url)
    assert await catalog(empty_url) == await catalog(database_url)
    await asyncio.to_thread(upgrade, empty_url)
    database = Database(empty_url)
    async with database.reading() as db:
        await db.run_sync(lambda connection: command.downgrade(alembic_config(connection), "base"))
    await database.close()
    assert await catalog(empty_url) == set()
    await asyncio.to_thread(upgrade, empty_url)
    assert await catalog(empty_url) == await catalog(database_url)


async def test_processes_that_start_at_once_migrate_once(
    empty_url: str, database_url: str, tmp_path: Path
) -> None:
    program = "import sys; from server.store.migrate import upgrade; upgrade(sys.argv[1])"
    # Started elsewhere, so the revisions are found in the installed package.
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, empty_url, cwd=tmp_path, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    errors = [(await process.communicate())[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], errors
    assert await catalog(empty_url) == await catalog(database_url)


async def test_a_newer_database_is_refused(database: Database, database_url: str) -> None:
    async with database.writing() as db:
        await db.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for work in (upgrade, pending):
        with pytest.raises(MigrationError, match="newer version"):
            await asyncio.to_thread(work, database_url)


async def test_no_database(empty_url: str) -> None:
    gone = urlunsplit(urlsplit(empty_url)._replace(netloc="127.0.0.1:1", query=""))
    for work in (upgrade, pending):
        with pytest.raises(StoreUnavailable):
            await asyncio.to_thread(work, gone)


async def test_a_migration_that_was_broken_off_is_made_again(database: Database, database_url: str) -> None:
    before = await catalog(database_url)
    async with database.writing() as db:
        await db.execute(text("DROP INDEX sessions_newest_of_kind_idx"))
        await db.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    await asyncio.to_thread(upgrade, database_url)
    assert await catalog(database_url) == before
