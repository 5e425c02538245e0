import asyncpg
import pytest

from server.ids import new_id
from server.store.database import Database
from server.store.driver import DriverConnection
from server.store.entries import write_entries
from server.store.events import load_events
from server.store.sessions import load_session
from tests.server.store.rows import WON, add_sessions, make_entry


async def test_a_batch_says_which_entries_lost(database: Database, admin: DriverConnection) -> None:
    one, two, three = [session.id for session in await add_sessions(database, 3)]
    assert await write_entries(admin, [make_entry(one, 1), make_entry(two, 1)]) == set()
    assert await write_entries(admin, [make_entry(two, 1), make_entry(three, 1)]) == {two}
    assert await write_entries(admin, [make_entry(one, 1), make_entry(two, 1, end=WON)]) == {one, two}


async def test_an_end_is_set_with_its_event(database: Database, admin: DriverConnection) -> None:
    won, lost, going = await add_sessions(database, 3)
    await write_entries(admin, [make_entry(lost.id, 1)])
    batch = [make_entry(won.id, 1, end=WON), make_entry(lost.id, 1, end=WON), make_entry(going.id, 1)]
    assert await write_entries(admin, batch) == {lost.id}
    async with database.reading() as db:
        assert await load_session(db, won.id) == won._replace(**WON._asdict())
        assert await load_session(db, lost.id) == lost
        assert await load_session(db, going.id) == going
    together = "SELECT s.xmin = e.xmin FROM sessions s JOIN events e ON e.session = s.id WHERE s.id = $1"
    assert await admin.fetchval(together, won.id) is True
    assert await admin.fetchval(together, going.id) is False


async def test_what_is_refused_leaves_nothing(database: Database, admin: DriverConnection) -> None:
    (session,) = await add_sessions(database, 1)
    with pytest.raises(asyncpg.ForeignKeyViolationError, match="events_session_fkey"):
        await write_entries(admin, [make_entry(session.id, 1, end=WON), make_entry(new_id(), 1)])
    async with database.reading() as db:
        assert await load_session(db, session.id) == session
        assert await load_events(db, session.id) == []
