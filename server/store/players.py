"""Players: who plays."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from server.store.tables import Players


class Player(NamedTuple):
    """A row of `players`; `kind` is one of `tables.PLAYER_KINDS`."""

    id: UUID
    name: str
    kind: str
    created_at: datetime


async def insert_player(db: AsyncConnection, player: Player) -> None:
    """Add a player; a token follows in the same transaction, so that no player is without a way in."""
    await db.execute(insert(Players).values(player._asdict()))


async def find_player(db: AsyncConnection, player: UUID) -> Player | None:
    """The player of that id."""
    query = select(Players.id, Players.name, Players.kind, Players.created_at).where(Players.id == player)
    row = (await db.execute(query)).one_or_none()
    return None if row is None else Player(*row)
