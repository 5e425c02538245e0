"""Rows to begin a test with."""

import hashlib
from datetime import UTC, datetime
from secrets import token_hex
from uuid import UUID

from server.ids import new_id
from server.store.database import Database
from server.store.entries import Entry, SessionEnd
from server.store.players import Player, insert_player
from server.store.sessions import Session, insert_session

NOW = datetime(2026, 11, 30, 9, 0, 0, 123_000, tzinfo=UTC)


def make_player(name: str = "Ada") -> Player:
    return Player(new_id(), name, "guest", NOW)


def make_session(player: UUID, *, request_id: str | None = None, game: str = "klondike") -> Session:
    seed = token_hex(16)
    return Session(
        id=new_id(),
        player=player,
        game=game,
        rules=f"{game}/1",
        variant="draw1",
        options={"draw": 1, "passes": 1, "worry_back": False},
        mode="casual",
        public=False,
        seed=seed,
        drawn=True,
        commitment=hashlib.sha256(seed.encode()).hexdigest(),
        request_id=request_id,
        created_at=NOW,
    )


async def add_player(database: Database) -> Player:
    player = make_player()
    async with database.writing() as db:
        await insert_player(db, player)
    return player


async def add_sessions(database: Database, count: int) -> list[Session]:
    player = await add_player(database)
    sessions = [make_session(player.id) for _ in range(count)]
    async with database.writing() as db:
        for session in sessions:
            await insert_session(db, session)
    return sessions


def make_entry(session: UUID, seq: int, *, move: str = "draw", end: SessionEnd | None = None) -> Entry:
    return Entry(session, seq, "move", move, NOW, score=seq, moves=seq, end=end)


WON = SessionEnd("won", score=52, moves=7, undos=1, ended_at=NOW, elapsed_ms=48_211)
