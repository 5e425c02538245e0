"""Sessions: what was dealt to whom. How they go on is the journal's."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Text, Values, column, func, literal, select, true, values
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from server.store.tables import MODES, NEWEST, STATUSES, Events, Sessions


class Session(NamedTuple):
    """A row of `sessions`.

    `status` is right at any time. `score`, `moves` and `undos` are, while it is `playing`, as of the deal or
    of the last undo of a lost session; the events tell more. `drawn` says that the server drew the
    seed. `seed` is a secret until the session may show
    it, and is kept out of `repr`.
    """

    id: UUID
    player: UUID
    game: str
    rules: str
    variant: str
    options: dict[str, object]
    mode: str
    public: bool
    seed: str
    drawn: bool
    commitment: str
    request_id: str | None
    created_at: datetime
    status: str = "playing"
    score: int = 0
    moves: int = 0
    undos: int = 0
    ended_at: datetime | None = None
    elapsed_ms: int | None = None

    def __repr__(self) -> str:
        """Enough to find it, and no seed."""
        return f"Session(id={self.id}, game={self.game!r}, mode={self.mode!r}, status={self.status!r})"


class SessionLine(NamedTuple):
    """A session in a list, with its score and moves of now; `elapsed_ms` is None while it is `playing`."""

    id: UUID
    game: str
    variant: str
    mode: str
    status: str
    created_at: datetime
    ended_at: datetime | None
    elapsed_ms: int | None
    score: int
    moves: int


_COLUMNS = [getattr(Sessions, field) for field in Session._fields]
_LINE = [getattr(Sessions, field) for field in SessionLine._fields]
_REQUEST = [Sessions.player, Sessions.request_id]


async def insert_session(db: AsyncConnection, session: Session) -> tuple[Session, bool]:
    """Add a session; give what is stored, and whether it is new.

    If the player has one with the same `request_id`, that one is given and nothing is added. To be called in
    a transaction of isolation level READ COMMITTED, PostgreSQL's own default, or in none.
    """
    added = await db.execute(
        insert(Sessions)
        .values(session._asdict())
        .on_conflict_do_nothing(index_elements=_REQUEST)
        .returning(Sessions.id)
    )
    if added.one_or_none() is not None:
        return session, True
    # The insertion waited until the other one was committed, and a new statement sees it.
    found = await find_request(db, session.player, session.request_id)
    assert found is not None, "sessions are not removed"
    return found, False


async def insert_casual_session(
    db: AsyncConnection, session: Session, most: int
) -> tuple[Session, bool] | None:
    """Do the same if the player has fewer than `most` casual sessions going on; None, and nothing, if not.

    Those that are inserted at the same time do not see each other. So a player may come to have more, but by
    less than there are transactions at the same time: by no more than all processes have in their pools.
    """
    going_on = (
        select(Sessions.id)
        .where(Sessions.player == session.player, Sessions.status == "playing", Sessions.mode == "casual")
        .offset(most - 1)
        .limit(1)
    )
    values = [literal(value, column.type) for value, column in zip(session, _COLUMNS, strict=True)]
    added = await db.execute(
        insert(Sessions)
        .from_select(Session._fields, select(*values).where(~going_on.exists()))
        .on_conflict_do_nothing(index_elements=_REQUEST)
        .returning(Sessions.id)
    )
    if added.one_or_none() is not None:
        return session, True
    found = await find_request(db, session.player, session.request_id)
    return None if found is None else (found, False)


async def find_request(db: AsyncConnection, player: UUID, request_id: str | None) -> Session | None:
    """The session that the player made by this `request_id`; none was made by None."""
    if request_id is None:
        return None
    query = select(*_COLUMNS).where(Sessions.player == player, Sessions.request_id == request_id)
    row = (await db.execute(query)).one_or_none()
    return None if row is None else Session(*row)


async def load_session(db: AsyncConnection, session: UUID) -> Session | None:
    """The session of that id. Events read afterwards may go further than the row does."""
    row = (await db.execute(select(*_COLUMNS).where(Sessions.id == session))).one_or_none()
    return None if row is None else Session(*row)


async def list_sessions(
    db: AsyncConnection,
    player: UUID,
    *,
    status: str | None = None,
    game: str | None = None,
    mode: str | None = None,
    before: UUID | None = None,
    limit: int,
) -> list[SessionLine]:
    """A player's sessions, newest first, at most `limit`: one more than a page tells if another follows.

    `before` is the id of the page before's last line: ids sort by time, so what is created meanwhile shifts
    nothing.
    """
    wanted = [Sessions.player == player]
    if game is not None:
        wanted.append(Sessions.game == game)
    if before is not None:
        wanted.append(Sessions.id < before)
    newest = select(*_LINE).where(*wanted).order_by(NEWEST).limit(limit)
    if status is None and game is None and mode is None:
        page = newest.subquery("page")
    else:
        # The newest of each status and mode that is wanted, and of those the newest: an index has each in
        # order, so what does not match is not read, however much of it there is.
        kinds = _kinds([status] if status else STATUSES, [mode] if mode else MODES)
        each = newest.where(Sessions.status == kinds.c.status, Sessions.mode == kinds.c.mode).lateral("each")
        merged = select(*each.c).select_from(kinds).join(each, true())
        page = merged.order_by(each.c.id.desc()).limit(limit).subquery("page")
    # The row of a session that is going on is as of its deal; the last event has what is true now.
    last = (
        select(Events.score, Events.moves)
        .where(Events.session == page.c.id, page.c.status == "playing")
        .order_by(Events.seq.desc())
        .limit(1)
        .lateral("last")
    )
    *same, score, moves = page.c
    query = (
        select(*same, func.coalesce(last.c.score, score), func.coalesce(last.c.moves, moves))
        .outerjoin(last, true())
        .order_by(page.c.id.desc())
    )
    return [SessionLine(*row) for row in await db.execute(query)]


def _kinds(statuses: Sequence[str], modes: Sequence[str]) -> Values:
    """Each status with each mode, as rows."""
    rows = [(status, mode) for status in statuses for mode in modes]
    return values(column("status", Text), column("mode", Text), name="kinds").data(rows)
