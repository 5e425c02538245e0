import hashlib
from datetime import datetime, timedelta

import pytest

from server.ids import new_id
from server.store.database import Database
from server.store.players import Player, find_player, insert_player
from server.store.tokens import USE_RESOLUTION, Token, insert_token, revoke_token, use_token
from tests.server.store.rows import NOW, make_player

HASH = hashlib.sha256(b"some token").digest()
SCOPES = frozenset({"read", "play", "account"})


async def add_token(database: Database, *, expires_at: datetime | None = None) -> tuple[Token, Player]:
    player = make_player()
    token = Token(new_id(), player.id, "browser", SCOPES, NOW, expires_at)
    async with database.writing() as db:
        await insert_player(db, player)
        await insert_token(db, token, HASH)
    return token, player


async def use(database: Database, now: datetime = NOW) -> tuple[Token, Player] | None:
    async with database.writing() as db:
        return await use_token(db, HASH, now)


async def test_a_token_gives_its_player(database: Database) -> None:
    token, player = await add_token(database)
    assert await use(database) == (token, player)
    async with database.writing() as db:
        assert await use_token(db, hashlib.sha256(b"another").digest(), NOW) is None


async def test_player_and_token_are_added_both_or_neither(database: Database) -> None:
    player = make_player()

    async def fail_halfway() -> None:
        async with database.writing() as db:
            await insert_player(db, player)
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        await fail_halfway()
    async with database.reading() as db:
        assert await find_player(db, player.id) is None


async def test_use_is_noted_once_a_minute(database: Database) -> None:
    await add_token(database)
    noted: list[datetime | None] = []
    for seconds in (0, 1, 59, 60, 61):
        used = await use(database, NOW + timedelta(seconds=seconds))
        assert used is not None
        noted.append(used[0].last_used_at)
    assert noted == [None, NOW, NOW, NOW, NOW + USE_RESOLUTION]


async def test_an_expired_token_gives_nobody(database: Database) -> None:
    await add_token(database, expires_at=NOW + timedelta(seconds=1))
    assert await use(database, NOW) is not None
    assert await use(database, NOW + timedelta(seconds=1)) is None


async def test_a_revoked_token_gives_nobody(database: Database) -> None:
    token, player = await add_token(database)
    async with database.writing() as db:
        assert not await revoke_token(db, new_id(), token.id, NOW), "somebody else's"
    assert await use(database) is not None
    async with database.writing() as db:
        assert await revoke_token(db, player.id, token.id, NOW)
        assert not await revoke_token(db, player.id, token.id, NOW), "a second time"
    assert await use(database) is None
