"""Entries of the journal, and the one statement that makes many of them durable.

The statement is built from the tables with SQLAlchemy, so that the two cannot drift apart, and compiled once.
It runs on the driver's own connection: through SQLAlchemy a lone entry takes BEGIN and COMMIT as round trips
of their own. The rows go as one JSON parameter, which costs this process a quarter of what an array for each
column costs.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple, cast
from uuid import UUID

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Select,
    Table,
    TableValuedAlias,
    Text,
    Uuid,
    bindparam,
    case,
    column,
    func,
    null,
    select,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import JSONB, array, insert
from sqlalchemy.dialects.postgresql.asyncpg import dialect

from server.store.driver import DriverConnection
from server.store.tables import Events, Sessions


class SessionEnd(NamedTuple):
    """What the session's own row becomes when an event changes its status.

    That is an end, or the undo of a lost session: `status` is `playing` again, `ended_at` and `elapsed_ms`
    are None.
    """

    status: str
    score: int
    moves: int
    undos: int
    ended_at: datetime | None
    elapsed_ms: int | None


# None of the fields can lead back to it, and one is made for every move.
class Entry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One event to be written, in the words of its columns; `score` and `moves` are those after it."""

    session: UUID
    seq: int
    kind: str
    move: str | None
    at: datetime
    score: int
    moves: int
    end: SessionEnd | None = None


_EVENT_FIELDS: Final = Entry.__struct_fields__[:-1]
_END_FIELDS: Final = ("id", *SessionEnd._fields)

_encode: Final = msgspec.json.Encoder().encode


class _Statement:
    """A compiled statement and the names of its parameters, in the order in which the driver wants them."""

    def __init__(self, statement: Select[UUID]) -> None:
        compiled = statement.compile(dialect=dialect())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  The dialect has no types.
        self.sql = compiled.string
        self.names = tuple(cast("list[str]", compiled.positiontup))

    def arguments(self, values: dict[str, object]) -> list[object]:
        return [values[name] for name in self.names]


def _rows(name: str, columns: Sequence[Column[object]]) -> TableValuedAlias:
    """Rows made of one parameter, a JSON array of objects whose names are the columns'."""
    return (
        func.jsonb_to_recordset(sql_cast(bindparam(name, type_=Text()), JSONB()))
        .table_valued(*(column(c.name, c.type) for c in columns))
        .render_derived(name=name, with_types=True)
    )


def _statement(*, with_ends: bool) -> _Statement:
    """Insert a batch of events, and with ends also set the rows of their sessions.

    Gives one value: null if all were inserted, as they nearly always are; else the sessions whose event was.
    The events go in sorted, so that two processes that write the same keys wait for each other and never in a
    circle.
    """
    events, sessions = cast("Table", Events.__table__), cast("Table", Sessions.__table__)
    batch = _rows("batch", [events.c[field] for field in _EVENT_FIELDS])
    inserted = (
        insert(events)
        .from_select(list(_EVENT_FIELDS), select(batch).order_by(batch.c.session, batch.c.seq))
        .on_conflict_do_nothing(index_elements=[events.c.session, events.c.seq])
        .returning(events.c.session)
        .cte("inserted")
    )
    some = func.coalesce(func.array_agg(inserted.c.session), array([], type_=Uuid()))
    answer = select(case((func.count() == bindparam("asked", type_=BigInteger()), null()), else_=some))
    answer = answer.select_from(inserted)
    if with_ends:
        told = _rows("told", [sessions.c[field] for field in _END_FIELDS])
        # Found first, or the rows of all sessions would be read of which there is an event in the batch.
        ended = select(told).where(told.c.id.in_(select(inserted.c.session))).cte("ended")
        ended = ended.prefix_with("MATERIALIZED")
        changed = (
            update(sessions)
            .where(sessions.c.id == ended.c.id)
            .values({field: ended.c[field] for field in SessionEnd._fields})
        )
        answer = answer.add_cte(changed.cte("changed"))
    return _Statement(answer)


_EVENTS: Final = _statement(with_ends=False)
_EVENTS_AND_ENDS: Final = _statement(with_ends=True)


async def write_entries(connection: DriverConnection, entries: Sequence[Entry]) -> frozenset[UUID]:
    """Write entries of different sessions in one transaction; give the sessions whose entry *lost*.

    An entry is lost when its (session, seq) is taken; it changes nothing then. That the entries' sessions
    differ is not checked. Raises what the driver raises, and then nothing is written, unless the connection
    was lost or timed out: then nobody knows.
    """
    values: dict[str, object] = {"batch": _encode(entries).decode(), "asked": len(entries)}
    ends = [{"id": entry.session, **entry.end._asdict()} for entry in entries if entry.end is not None]
    statement = _EVENTS
    if ends:
        statement = _EVENTS_AND_ENDS
        values["told"] = _encode(ends).decode()
    inserted = await connection.fetchval(statement.sql, *statement.arguments(values))
    if inserted is None:
        return frozenset()
    return frozenset(entry.session for entry in entries) - frozenset(cast("list[UUID]", inserted))
