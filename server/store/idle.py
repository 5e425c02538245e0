"""Sessions that nobody plays any more, as several processes look for them at once."""

from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import case, func, literal, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from server.store.tables import Events, Sessions


class Looked(NamedTuple):
    """A casual session that is `playing`, and when its last event was, or its deal."""

    session: UUID
    active_at: datetime


# What is constant stands in the statement itself, or a plan that fits all values would not know that the
# index has all such rows, and that few are asked for.
_PLAYING: Final = literal("playing", literal_execute=True)
_CASUAL: Final = literal("casual", literal_execute=True)


async def claim_idle(db: AsyncConnection, before: datetime, again: datetime, most: int) -> list[Looked]:
    """Look at sessions that may have been idle since ``before``, and keep them from others for a while.

    A session is given at most once to all who ask, and to nobody else for as long as ``again`` is later than
    ``before``: that is how long whoever was given it has to make an event of it. One that turns out to have
    had an event since is not looked at again before it can be idle. So whether it is idle must still be seen
    from `active_at`, and made sure of by whoever makes the event: this holds nobody up who plays.

    To be called in a transaction.

    Args:
        db: the connection.
        before: sessions with an event after that are not idle.
        again: counts as the time of the last event of an idle session until somebody looks again.
        most: how many sessions to look at.
    """
    active = func.coalesce(Sessions.looked_at, Sessions.created_at)
    # It waits for nobody. NO KEY, since events that are being written refer to their sessions' rows.
    due = (
        select(Sessions.id)
        .where(Sessions.status == _PLAYING, Sessions.mode == _CASUAL, active <= before)
        .order_by(active)
        .limit(literal(most, literal_execute=True))
        .with_for_update(skip_locked=True, key_share=True)
        .cte("due")
    )
    last = (
        select(Events.at)
        .where(Events.session == due.c.id)
        .order_by(Events.seq.desc())
        .limit(1)
        .lateral("last")
    )
    found = select(due.c.id, last.c.at).outerjoin_from(due, last, true()).subquery("found")
    active_at = func.coalesce(found.c.at, Sessions.created_at)
    claim = (
        update(Sessions)
        .where(Sessions.id == found.c.id)
        .values(looked_at=case((active_at <= before, again), else_=active_at))
        .returning(Sessions.id, active_at)
    )
    return [Looked(*row) for row in await db.execute(claim)]
