"""Tokens: what a player logs in with. Only the SHA-256 of a token's text comes here."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from server.store.players import Player
from server.store.tables import Players, Tokens

USE_RESOLUTION: Final = timedelta(minutes=1)
"""How exact `last_used_at` is: a token in steady use is written to once in that time."""


class Token(NamedTuple):
    """A row of `tokens`, without the hash."""

    id: UUID
    player: UUID
    label: str
    scopes: frozenset[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = None


async def insert_token(db: AsyncConnection, token: Token, token_hash: bytes) -> None:
    """Add a token; `token_hash` is the 32 bytes of SHA-256 over its text."""
    values = token._asdict() | {"scopes": sorted(token.scopes), "hash": token_hash}
    await db.execute(insert(Tokens).values(values))


async def use_token(db: AsyncConnection, token_hash: bytes, now: datetime) -> tuple[Token, Player] | None:
    """The token of that hash and its player, if it is neither revoked nor expired; notes that it was used.

    `last_used_at` in the result is from before this use.
    """
    query = (
        select(
            Tokens.id,
            Tokens.label,
            Tokens.scopes,
            Tokens.created_at,
            Tokens.expires_at,
            Tokens.last_used_at,
            Players.id,
            Players.name,
            Players.kind,
            Players.created_at,
        )
        .join(Players, Players.id == Tokens.player)
        .where(
            Tokens.hash == token_hash,
            Tokens.revoked_at.is_(None),
            or_(Tokens.expires_at.is_(None), Tokens.expires_at > now),
        )
    )
    row = (await db.execute(query)).one_or_none()
    if row is None:
        return None
    token_id, label, scopes, created_at, expires_at, last_used_at, player_id, name, kind, joined_at = row
    token = Token(token_id, player_id, label, frozenset(scopes), created_at, expires_at, last_used_at)
    if last_used_at is None or last_used_at <= now - USE_RESOLUTION:
        # The condition stands here once more, for the uses at the same time in other processes.
        stale = or_(Tokens.last_used_at.is_(None), Tokens.last_used_at <= now - USE_RESOLUTION)
        await db.execute(update(Tokens).where(Tokens.id == token.id, stale).values(last_used_at=now))
    return token, Player(player_id, name, kind, joined_at)


async def revoke_token(db: AsyncConnection, player: UUID, token: UUID, now: datetime) -> bool:
    """Revoke a token of that player; False if there is none of that id, or it is revoked already."""
    mine = (Tokens.id == token, Tokens.player == player, Tokens.revoked_at.is_(None))
    revoked = await db.execute(update(Tokens).where(*mine).values(revoked_at=now).returning(Tokens.id))
    return revoked.one_or_none() is not None
