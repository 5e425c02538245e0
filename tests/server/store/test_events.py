import msgspec

from server.ids import new_id
from server.store.database import Database
from server.store.entries import Entry
from server.store.events import Event, last_seq, load_events
from server.store.journal import Journal
from tests.server.store.rows import NOW, add_sessions, make_entry


async def test_events_are_read_in_order_and_in_pages(database: Database, journal: Journal) -> None:
    session, other = await add_sessions(database, 2)
    written = [make_entry(session.id, seq, move=f"t{seq}-f1") for seq in range(1, 12)]
    written.append(Entry(session.id, 12, "resign", None, NOW, score=4, moves=11))
    for entry in [*written, make_entry(other.id, 1)]:
        assert await journal.append(entry)
    expected = [Event(*msgspec.structs.astuple(entry)[1:7]) for entry in written]
    async with database.reading() as db:
        assert await load_events(db, session.id) == expected
        assert await load_events(db, session.id, since=3, limit=4) == expected[3:7]
        assert await load_events(db, session.id, since=12) == []
        assert await last_seq(db, session.id) == 12
        assert await last_seq(db, other.id) == 1
        assert await last_seq(db, new_id()) == 0
