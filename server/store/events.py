"""Events, as they are read. The journal alone writes them."""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import msgspec
from sqlalchemy import Integer, Select, Text, bindparam, cast, func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from server.store.tables import Events


class Event(NamedTuple):
    """A row of `events`, without its session; `score` and `moves` are those after it."""

    seq: int
    kind: str
    move: str | None
    at: datetime
    score: int
    moves: int


_decode: Final = msgspec.json.Decoder(list[Event]).decode


def _query() -> Select[str | None]:
    """Select events as one JSON text, or null if there are none.

    It takes a seventh of the time that thousands of rows take on their way through the driver. Times in it
    are in the zone of the connection's session, which is UTC.
    """
    found = (
        select(*(getattr(Events, name) for name in Event._fields))
        .where(Events.session == bindparam("session"), Events.seq > bindparam("since"))
        .order_by(Events.seq)
        .limit(bindparam("limit", type_=Integer()))
        .subquery()
    )
    each = func.json_build_array(*(found.c[name] for name in Event._fields))
    return select(cast(func.json_agg(aggregate_order_by(each, found.c.seq)), Text))


_QUERY: Final = _query()


async def load_events(
    db: AsyncConnection, session: UUID, *, since: int = 0, limit: int | None = None
) -> list[Event]:
    """The session's events of a `seq` greater than `since`, in order.

    Without `limit` that is all of them: a session takes a few thousand, which the caller sees to.
    """
    given = {"session": session, "since": since, "limit": limit}
    text = (await db.execute(_QUERY, given)).scalar_one()
    return [] if text is None else _decode(text)


async def last_seq(db: AsyncConnection, session: UUID) -> int:
    """The `seq` of the session's last event; 0 after the deal, and where there is no such session."""
    query = select(func.coalesce(func.max(Events.seq), 0)).where(Events.session == session)
    return (await db.execute(query)).scalar_one()
