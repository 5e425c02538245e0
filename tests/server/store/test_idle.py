import asyncio
from datetime import datetime, timedelta
from uuid import UUID

from server.store.database import Database
from server.store.driver import DriverConnection
from server.store.entries import Entry, SessionEnd
from server.store.idle import Looked, claim_idle
from server.store.journal import Journal
from server.store.sessions import insert_session
from tests.server.store.rows import NOW, WON, add_player, add_sessions, make_entry, make_session

HOUR = timedelta(hours=1)
CLAIM = timedelta(minutes=10)
LATER = NOW + timedelta(days=1)


async def claim(database: Database, before: datetime = LATER, most: int = 10) -> list[Looked]:
    async with database.writing() as db:
        return await claim_idle(db, before, before + CLAIM, most)


def moved(session: UUID, seq: int, at: datetime) -> Entry:
    return Entry(session, seq, "move", "draw", at, score=seq, moves=seq)


async def test_a_session_has_been_idle_since_its_last_event_or_its_deal(
    database: Database, journal: Journal
) -> None:
    fresh, played = await add_sessions(database, 2)
    for seq in (1, 2):
        assert await journal.append(moved(played.id, seq, NOW + seq * HOUR))
    assert await claim(database, NOW - HOUR) == []
    found = await claim(database)
    assert sorted(found) == sorted([Looked(fresh.id, NOW), Looked(played.id, NOW + 2 * HOUR)])


async def test_only_casual_sessions_that_go_on_are_looked_at(database: Database, journal: Journal) -> None:
    player = await add_player(database)
    won, undone = make_session(player.id), make_session(player.id)
    daily, race = (make_session(player.id)._replace(mode=mode) for mode in ("daily", "race"))
    async with database.writing() as db:
        for session in (won, undone, daily, race):
            await insert_session(db, session)
    lost = SessionEnd("lost", score=1, moves=1, undos=0, ended_at=NOW, elapsed_ms=5)
    again = SessionEnd("playing", score=0, moves=0, undos=1, ended_at=None, elapsed_ms=None)
    for entry in (
        make_entry(won.id, 1, end=WON),
        make_entry(undone.id, 1, end=lost),
        make_entry(undone.id, 2, end=again),
    ):
        assert await journal.append(entry)
    assert [looked.session for looked in await claim(database)] == [undone.id]


async def test_what_one_has_found_others_leave_alone_for_a_while(database: Database) -> None:
    [session] = await add_sessions(database, 1)
    assert await claim(database) == [Looked(session.id, NOW)]
    assert await claim(database) == []
    assert await claim(database, LATER + CLAIM - timedelta(milliseconds=1)) == []
    assert await claim(database, LATER + CLAIM) == [Looked(session.id, NOW)]


async def test_what_turns_out_not_to_be_idle_is_looked_at_again_when_it_can_be(
    database: Database, journal: Journal
) -> None:
    [session] = await add_sessions(database, 1)
    assert await journal.append(moved(session.id, 1, NOW + 2 * HOUR))
    looked = [Looked(session.id, NOW + 2 * HOUR)]
    assert await claim(database, NOW + HOUR) == looked
    assert await claim(database, NOW + 2 * HOUR - timedelta(milliseconds=1)) == []
    assert await claim(database, NOW + 2 * HOUR) == looked


async def test_those_nobody_has_looked_at_for_the_longest_time_come_first(database: Database) -> None:
    player = await add_player(database)
    dealt = [make_session(player.id)._replace(created_at=NOW + hours * HOUR) for hours in (3, 1, 2)]
    async with database.writing() as db:
        for session in dealt:
            await insert_session(db, session)
    assert {looked.session for looked in await claim(database, most=2)} == {dealt[1].id, dealt[2].id}
    assert [looked.session for looked in await claim(database, most=2)] == [dealt[0].id]


async def test_several_at_once_find_different_ones(database: Database) -> None:
    sessions = await add_sessions(database, 40)
    found = await asyncio.gather(*(claim(database, most=10) for _ in range(8)))
    together = [looked.session for batch in found for looked in batch]
    assert len(together) == len(set(together))
    while rest := await claim(database):
        together += [looked.session for looked in rest]
    assert sorted(together) == sorted(session.id for session in sessions)


async def test_nobody_waits_for_one_who_is_still_looking(database: Database) -> None:
    sessions = await add_sessions(database, 3)
    async with database.writing() as db:
        first = await claim_idle(db, LATER, LATER + CLAIM, 2)
        second = await claim(database)
    assert len(first) == 2
    assert {looked.session for looked in (*first, *second)} == {session.id for session in sessions}


async def test_neither_waits_for_the_other_where_an_event_is_being_written(
    database: Database, journal: Journal, admin: DriverConnection
) -> None:
    [session] = await add_sessions(database, 1)
    await admin.execute("BEGIN")
    await admin.execute("INSERT INTO events VALUES ($1, 1, 'move', 'draw', $2, 0, 1)", session.id, NOW + HOUR)
    assert await claim(database) == [Looked(session.id, NOW)], "as far as anybody can see"
    await admin.execute("ROLLBACK")
    async with database.writing() as db:
        await claim_idle(db, LATER + CLAIM, LATER + 2 * CLAIM, 1)
        assert await journal.append(moved(session.id, 1, NOW + HOUR))
