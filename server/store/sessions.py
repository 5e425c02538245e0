"""Sessions: what was dealt to whom. How they go on is the journal's."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select, true
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from server.store.tables import Events, Sessions


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


async def insert_session(db: AsyncConnection, session: Session) -> tuple[Session, bool]:
    """Add a session; give what is stored, and whether it is new.

    If the player has one with the same `request_id`, that one is given and nothing is added. To be called in
    a transaction of isolation level READ COMMITTED, PostgreSQL's own default, or in none.
    """
    added = await db.execute(
        insert(Sessions)
        .values(session._asdict())
        .on_conflict_do_nothing(index_elements=[Sessions.player, Sessions.request_id])
        .returning(Sessions.id)
    )
    if added.one_or_none() is not None:
        return session, True
    # The insertion waited until the other one was committed, and a new statement sees it.
    query = select(*_COLUMNS).where(
        Sessions.player == session.player, Sessions.request_id == session.request_id
    )
    return Session(*(await db.execute(query)).one()), False


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
    if status is not None:
        wanted.append(Sessions.status == status)
    if game is not None:
        wanted.append(Sessions.game == game)
    if mode is not None:
        wanted.append(Sessions.mode == mode)
    if before is not None:
        wanted.append(Sessions.id < before)
    # The row of a session that is going on is as of its deal; the last event has what is true now.
    last = (
        select(Events.score, Events.moves)
        .where(Events.session == Sessions.id, Sessions.status == "playing")
        .order_by(Events.seq.desc())
        .limit(1)
        .lateral("last")
    )
    query = (
        select(
            Sessions.id,
            Sessions.game,
            Sessions.variant,
            Sessions.mode,
            Sessions.status,
            Sessions.created_at,
            Sessions.ended_at,
            Sessions.elapsed_ms,
            func.coalesce(last.c.score, Sessions.score),
            func.coalesce(last.c.moves, Sessions.moves),
        )
        .outerjoin(last, true())
        .where(*wanted)
        .order_by(Sessions.id.desc())
        .limit(limit)
    )
    return [SessionLine(*row) for row in await db.execute(query)]
