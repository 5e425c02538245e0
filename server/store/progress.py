"""How far sessions have come, asked for many at once."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ARRAY, Integer, Uuid, bindparam, column, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from server.store.tables import Events

_known = (
    func.unnest(bindparam("sessions", type_=ARRAY(Uuid())), bindparam("seqs", type_=ARRAY(Integer())))
    .table_valued(column("session", Uuid()), column("seq", Integer()))
    .render_derived(name="known")
)
# A subquery of its own for each session, so that each is one look into the primary key's index.
_later = (
    select(Events.seq)
    .where(Events.session == _known.c.session, Events.seq > _known.c.seq)
    .limit(1)
    .lateral("later")
)
_gone_on = select(_known.c.session).select_from(_known.join(_later, true()))


async def gone_on(db: AsyncConnection, known: Sequence[tuple[UUID, int]]) -> list[UUID]:
    """Return those of the sessions that have an event after the one that is known of them."""
    values = {"sessions": [session for session, _ in known], "seqs": [seq for _, seq in known]}
    return list((await db.execute(_gone_on, values)).scalars())
