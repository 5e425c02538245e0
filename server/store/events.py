"""Events, as they are read. The journal alone writes them."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select
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


async def load_events(
    db: AsyncConnection, session: UUID, *, since: int = 0, limit: int | None = None
) -> list[Event]:
    """The session's events of a `seq` greater than `since`, in order.

    Without `limit` that is all of them: a session takes a few thousand, which the caller sees to.
    """
    query = (
        select(Events.seq, Events.kind, Events.move, Events.at, Events.score, Events.moves)
        .where(Events.session == session, Events.seq > since)
        .order_by(Events.seq)
        .limit(limit)
    )
    return [Event(*row) for row in await db.execute(query)]


async def last_seq(db: AsyncConnection, session: UUID) -> int:
    """The `seq` of the session's last event; 0 after the deal, and where there is no such session."""
    query = select(func.coalesce(func.max(Events.seq), 0)).where(Events.session == session)
    return (await db.execute(query)).scalar_one()
