"""Statements overheard as the code sends them, and what PostgreSQL says that they read."""

import json
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias, cast

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection

from server.store.database import Database
from server.store.driver import DriverConnection

Work: TypeAlias = Callable[[AsyncConnection], Awaitable[object]]
Node: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Statement:
    """A statement as it was sent, and what it was sent with."""

    sql: str
    values: Sequence[object]


@dataclass(frozen=True)
class Reads:
    """What a statement reads of the tables."""

    whole: frozenset[str]
    """Those that it reads from one end to the other."""
    rows: int
    """Rows it looks at in all, also those that turn out not to be wanted."""
    looks: int
    """How often it looks into an index."""
    pages: int
    """Pages it touches, of tables and indexes."""


class Overheard:
    """Stands in for the journal's connection, and remembers what is sent on it."""

    def __init__(self, connection: DriverConnection) -> None:
        self._connection = connection
        self.statements: list[Statement] = []

    async def execute(self, query: str, *args: object) -> str:
        return await self._connection.execute(query, *args)

    async def fetchval(self, query: str, *args: object) -> object:
        self.statements.append(Statement(query, args))
        return await self._connection.fetchval(query, *args)

    def is_closed(self) -> bool:
        return self._connection.is_closed()

    async def close(self) -> None:
        await self._connection.close()

    def terminate(self) -> None:
        self._connection.terminate()


async def overheard(database: Database, work: Work) -> list[Statement]:
    """Return the statements that `work` sends; whatever it changes is rolled back."""
    with _listening(database) as statements:
        async with database.engine.connect() as db:
            await work(db)
            await db.rollback()
    return statements


@contextmanager
def _listening(database: Database) -> Generator[list[Statement]]:
    statements: list[Statement] = []

    def listen(*arguments: object) -> None:
        _, _, sql, values, *_ = arguments
        statements.append(Statement(cast("str", sql), cast("Sequence[object]", values)))

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", listen)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", listen)


async def explain(connection: DriverConnection, statement: Statement, mode: str) -> Reads:
    """Carry a statement out and roll it back; return what it reads.

    Args:
        connection: it must not be in a transaction.
        statement: what is carried out.
        mode: `force_custom_plan` or `force_generic_plan`. PostgreSQL makes the one while a connection has
            sent a statement a few times only, and perhaps the other afterwards.
    """
    await connection.execute(f"BEGIN; SET LOCAL plan_cache_mode = {mode}; PREPARE probe AS {statement.sql}")
    values = ", ".join(map(_literal, statement.values))
    probe = f"EXECUTE probe({values})" if values else "EXECUTE probe"
    try:
        text = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {probe}")
    finally:
        await connection.execute("ROLLBACK; DEALLOCATE probe")
    [document] = json.loads(cast("str", text))
    scans = [node for node in _nodes(document["Plan"]) if _reads_table(node)]
    return Reads(
        frozenset(scan["Relation Name"] for scan in scans if scan["Node Type"] == "Seq Scan"),
        sum(map(_rows, scans)),
        sum(scan["Actual Loops"] for scan in scans),
        document["Plan"]["Shared Hit Blocks"] + document["Plan"]["Shared Read Blocks"],
    )


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


def _reads_table(node: Node) -> bool:
    """Tell whether a node reads a table or an index, and not the rows of other nodes."""
    return "Scan" in node["Node Type"] and ("Relation Name" in node or "Index Name" in node)


def _rows(scan: Node) -> int:
    """Return how many rows a scan looks at, in all its rounds; none if it leaves that to another."""
    if "Relation Name" not in scan:
        return 0
    counts = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    return round(sum(scan.get(count, 0) for count in counts) * scan["Actual Loops"])


def _literal(value: object) -> str:
    """Write a value as SQL does; what type it is the statement says."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"'\\x{value.hex()}'"
        case list() | tuple():
            items = ["NULL" if item is None else f'"{item}"' for item in cast("Sequence[object]", value)]
            return "'{" + ",".join(items) + "}'"
        case datetime():
            return f"'{value.isoformat()}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"
