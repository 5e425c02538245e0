"""The tables of the database.

A class here is a table, so its name is a plural; what a query gives of one row is a `NamedTuple` in the
singular, in the file of that noun. All times are aware, in UTC, to the millisecond.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    DateTime,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

PLAYER_KINDS: Final = ("guest", "account", "bot")
MODES: Final = ("casual", "daily", "race")
STATUSES: Final = ("playing", "won", "lost", "resigned", "expired")
EVENT_KINDS: Final = ("move", "undo", "resign", "expire", "reveal")


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    # A check and not an enumerated type: a value is added in one short migration, and taken away in another.
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


class Base(DeclarativeBase):
    """The root of all tables: every constraint has a name, the one that PostgreSQL itself would give it."""

    metadata = MetaData(
        naming_convention={
            "pk": "%(table_name)s_pkey",
            "uq": "%(table_name)s_%(column_0_N_name)s_key",
            "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
            "ck": "%(table_name)s_%(constraint_name)s_check",
            "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        }
    )
    type_annotation_map = {  # noqa: RUF012  SQLAlchemy reads it from the class and declares it so.
        UUID: Uuid(),
        str: Text(),
        bytes: LargeBinary(),
        datetime: DateTime(timezone=True),
        list[str]: ARRAY(Text()),
        dict[str, object]: JSONB(),
    }


class Players(Base):
    """Whoever plays: guests, accounts and bots."""

    __tablename__ = "players"
    __table_args__ = (_one_of("kind", PLAYER_KINDS),)

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str]
    kind: Mapped[str]
    created_at: Mapped[datetime]


class Tokens(Base):
    """Logins. A token's text is never stored, only its SHA-256."""

    __tablename__ = "tokens"
    __table_args__ = (
        UniqueConstraint("hash"),
        CheckConstraint("octet_length(hash) = 32", name="hash"),
        Index(None, "player"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    player: Mapped[UUID] = mapped_column(ForeignKey("players.id"))
    hash: Mapped[bytes]
    label: Mapped[str]
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Sessions(Base):
    """What was dealt to whom, and how it ended. `drawn` says that the server drew the seed.

    `status` and the five columns after it are as of the deal until the status changes; then they are set in
    the transaction of the event that changes it. In between, the session's last event has its score and
    moves. `looked_at` is housekeeping's alone: the session has been idle since then at the most, as far as
    anybody has looked; null until somebody has, and `created_at` stands in for it.
    """

    __tablename__ = "sessions"
    __table_args__ = (
        UniqueConstraint("player", "request_id"),
        _one_of("mode", MODES),
        _one_of("status", STATUSES),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    player: Mapped[UUID] = mapped_column(ForeignKey("players.id"))
    game: Mapped[str]
    rules: Mapped[str]
    variant: Mapped[str]
    options: Mapped[dict[str, object]]
    mode: Mapped[str]
    public: Mapped[bool]
    seed: Mapped[str]
    drawn: Mapped[bool]
    commitment: Mapped[str]
    request_id: Mapped[str | None]
    created_at: Mapped[datetime]
    status: Mapped[str]
    score: Mapped[int]
    moves: Mapped[int]
    undos: Mapped[int]
    ended_at: Mapped[datetime | None]
    elapsed_ms: Mapped[int | None] = mapped_column(BigInteger)
    looked_at: Mapped[datetime | None]


# Lists are newest first, and ids sort by time. There are no nulls; that they come last makes this an order
# which the primary key's index does not have. PostgreSQL would go through everybody's sessions in that one if
# it thought that the player's must soon be among them.
NEWEST: Final = Sessions.id.desc().nulls_last()

Index("sessions_newest_idx", Sessions.player, NEWEST)
Index("sessions_newest_of_kind_idx", Sessions.player, Sessions.status, Sessions.mode, NEWEST)
Index("sessions_newest_of_game_idx", Sessions.player, Sessions.game, Sessions.status, Sessions.mode, NEWEST)
# Only sessions that can expire are in it, those first that nobody has looked at for the longest time.
Index(
    "sessions_looked_at_idx",
    func.coalesce(Sessions.looked_at, Sessions.created_at),
    postgresql_where=text("status = 'playing' AND mode = 'casual'"),
)


class Events(Base):
    """What happened in a session after the deal. Rows are added, and never changed or removed.

    The primary key is what decides between two processes that both take a session's next move. `score` and
    `moves` are the session's after the event.
    """

    __tablename__ = "events"
    __table_args__ = (_one_of("kind", EVENT_KINDS), CheckConstraint("seq > 0", name="seq"))

    session: Mapped[UUID] = mapped_column(ForeignKey("sessions.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    move: Mapped[str | None]
    at: Mapped[datetime]
    score: Mapped[int]
    moves: Mapped[int]
