import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from uuid import UUID

import asyncpg
import pytest

from server.ids import new_id
from server.store.database import Database
from server.store.driver import APPLICATION_NAME, DriverConnection
from server.store.entries import Entry
from server.store.errors import StoreUnavailable
from server.store.events import last_seq, load_events
from server.store.journal import Journal
from server.store.sessions import load_session
from tests.server.store.conftest import connect_directly
from tests.server.store.rows import WON, add_sessions, make_entry


class Listener:
    """Keeps what a journal announces."""

    def __init__(self) -> None:
        self.batches: list[list[Entry]] = []
        self.heard = asyncio.Event()

    def __call__(self, entries: Sequence[Entry]) -> None:
        self.batches.append(list(entries))
        self.heard.set()

    @property
    def entries(self) -> list[Entry]:
        return list(itertools.chain.from_iterable(self.batches))


async def ids(database: Database, count: int) -> list[UUID]:
    return [session.id for session in await add_sessions(database, count)]


async def moves(database: Database, session: UUID) -> list[str | None]:
    async with database.reading() as db:
        return [event.move for event in await load_events(db, session)]


@pytest.fixture
async def blocker(admin: DriverConnection) -> AsyncGenerator[DriverConnection]:
    """A connection that holds up every write to `events` until it is told to ROLLBACK."""
    await admin.execute("BEGIN")
    await admin.execute("LOCK TABLE events IN SHARE MODE")
    yield admin
    await admin.execute("ROLLBACK")


async def test_true_means_durable(database: Database, journal: Journal, admin: DriverConnection) -> None:
    (session,) = await ids(database, 1)
    for seq in range(1, 6):
        assert await journal.append(make_entry(session, seq)) is True
        assert await admin.fetchval("SELECT max(seq) FROM events WHERE session = $1", session) == seq
    assert (journal.commits, journal.rows, journal.waiting) == (5, 5, 0)


async def test_what_waits_goes_into_one_commit_and_is_answered_in_order(database: Database) -> None:
    listener = Listener()
    journal = Journal(database, listener, rows=7)
    await journal.start()
    entries = [make_entry(session, 1) for session in reversed(await ids(database, 20))]
    futures = [journal.append(entry) for entry in entries]
    answered: list[int] = []
    announced_before: list[int] = []
    for number, future in enumerate(futures):
        future.add_done_callback(lambda _, number=number: answered.append(number))
        future.add_done_callback(lambda _: announced_before.append(len(listener.entries)))
    assert await asyncio.gather(*futures) == [True] * 20
    assert answered == list(range(20))
    assert listener.entries == entries
    assert [len(batch) for batch in listener.batches] == [7, 7, 6]
    assert all(announced > number for number, announced in enumerate(announced_before))
    await journal.close()


async def test_a_session_has_one_entry_under_way(database: Database, journal: Journal) -> None:
    (session,) = await ids(database, 1)
    first = journal.append(make_entry(session, 1))
    with pytest.raises(RuntimeError, match="one entry under way"):
        journal.append(make_entry(session, 2))
    assert await first
    assert await journal.append(make_entry(session, 2))


async def test_of_two_journals_one_wins(database: Database, database_url: str) -> None:
    other_database = Database(database_url)
    listeners = Listener(), Listener()
    journals = Journal(database, listeners[0]), Journal(other_database, listeners[1])
    for journal in journals:
        await journal.start()
    sessions = await ids(database, 40)
    for seq in range(1, 11):
        # In opposite orders, which would be a deadlock if the statement did not sort.
        mine = [journals[0].append(make_entry(session, seq, move="mine")) for session in sessions]
        other = [journals[1].append(make_entry(session, seq, move="other")) for session in reversed(sessions)]
        results = await asyncio.gather(*mine, *other)
        won, also_won = results[:40], results[:39:-1]
        assert all(one != two for one, two in zip(won, also_won, strict=True))
        for session, one in zip(sessions, won, strict=True):
            assert (await moves(database, session))[-1] == ("mine" if one else "other")
    announced = [(entry.session, entry.seq) for listener in listeners for entry in listener.entries]
    assert sorted(announced) == sorted(itertools.product(sessions, range(1, 11)))
    for journal in journals:
        await journal.close()
    await other_database.close()


async def test_a_lost_end_changes_nothing(database: Database, journal: Journal) -> None:
    (session,) = await add_sessions(database, 1)
    assert await journal.append(make_entry(session.id, 1)) is True
    assert await journal.append(make_entry(session.id, 1, end=WON)) is False
    async with database.reading() as db:
        assert await load_session(db, session.id) == session
    assert await journal.append(make_entry(session.id, 2, end=WON)) is True
    async with database.reading() as db:
        assert await load_session(db, session.id) == session._replace(**WON._asdict())


async def test_only_the_entry_that_is_refused_fails(database: Database, journal: Journal) -> None:
    sessions = await ids(database, 9)
    good = [journal.append(make_entry(session, 1)) for session in sessions[:5]]
    unknown = journal.append(make_entry(new_id(), 1))
    good += [journal.append(make_entry(session, 1)) for session in sessions[5:]]
    assert await asyncio.gather(*good) == [True] * 9
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await unknown


async def test_a_listener_that_fails_keeps_nobody_from_an_answer(database: Database) -> None:
    def fail(entries: Sequence[Entry]) -> None:
        raise ValueError(len(entries))

    journal = Journal(database, fail)
    await journal.start()
    (session,) = await ids(database, 1)
    for seq in (1, 2):
        assert await journal.append(make_entry(session, seq)) is True
    await journal.close()


async def test_the_queue_has_a_bound(database: Database) -> None:
    journal = Journal(database, Listener(), waiting=2)
    await journal.start()
    one, two, three = await ids(database, 3)
    futures = [journal.append(make_entry(session, 1)) for session in (one, two)]
    with pytest.raises(StoreUnavailable):
        journal.append(make_entry(three, 1))
    assert await asyncio.gather(*futures) == [True, True]
    assert await journal.append(make_entry(three, 1)) is True
    await journal.close()


async def test_nobody_waits_for_ever(database_url: str, blocker: DriverConnection) -> None:
    database = Database(database_url, timeout=0.3)
    journal = Journal(database, Listener(), rows=1, timeout=0.3)
    await journal.start()
    sessions = await ids(database, 3)
    outcomes = await asyncio.gather(
        *(journal.append(make_entry(session, 1)) for session in sessions), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 3
    await blocker.execute("ROLLBACK")
    # What was given up may have been written all the same by now: the database says.
    for session in sessions:
        async with database.reading() as db:
            seq = await last_seq(db, session)
        assert await journal.append(make_entry(session, seq + 1)) is True
    await journal.close()
    await database.close()


async def test_closing_writes_what_waits(database: Database) -> None:
    journal = Journal(database, Listener(), rows=2)
    await journal.start()
    sessions = await ids(database, 9)
    futures = [journal.append(make_entry(session, 1)) for session in sessions]
    await journal.close()
    assert [future.result() for future in futures] == [True] * 9
    assert [await moves(database, session) for session in sessions] == [["draw"]] * 9
    with pytest.raises(StoreUnavailable):
        journal.append(make_entry(sessions[0], 2))


async def test_closing_does_not_wait_for_ever(database: Database, blocker: DriverConnection) -> None:
    journal = Journal(database, Listener(), rows=2)
    await journal.start()
    futures = [journal.append(make_entry(session, 1)) for session in await ids(database, 5)]
    await journal.close(within=0.1)
    outcomes = await asyncio.gather(*futures, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 5


async def test_starting_without_a_database() -> None:
    database = Database("postgresql://postgres@127.0.0.1:1/nothing")
    journal = Journal(database, Listener())
    with pytest.raises(StoreUnavailable):
        await journal.start()
    await journal.close()


END_OURS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1
"""


async def play_on(database: Database, journal: Journal, session: UUID, length: int) -> list[int]:
    """Append until the session has `length` events, as a server would; give what was true.

    An entry whose answer was lost may be written after the session was read again: the next one is lost then.
    """
    durable: list[int] = []
    seq = 0
    while seq < length:
        try:
            written = await journal.append(make_entry(session, seq + 1))
        except StoreUnavailable:
            written = False
        if written:
            seq += 1
            durable.append(seq)
        else:
            seq = await read_again(database, session)
    return durable


async def read_again(database: Database, session: UUID) -> int:
    while True:
        try:
            async with database.reading() as db:
                return await last_seq(db, session)
        except StoreUnavailable:
            continue


async def test_nothing_answered_is_missing_after_connections_were_killed(
    database: Database, admin: DriverConnection
) -> None:
    listener = Listener()
    journal = Journal(database, listener)
    await journal.start()
    sessions = await ids(database, 40)
    players = [asyncio.create_task(play_on(database, journal, session, 60)) for session in sessions]
    for _ in range(12):
        listener.heard.clear()
        await listener.heard.wait()
        await admin.fetchval(END_OURS, APPLICATION_NAME)
    answered = await asyncio.gather(*players)
    for session, durable in zip(sessions, answered, strict=True):
        async with database.reading() as db:
            stored = [event.seq for event in await load_events(db, session)]
        assert stored == list(range(1, len(stored) + 1))
        assert len(stored) >= 60
        assert set(durable) <= set(stored)
    announced = [(entry.session, entry.seq) for entry in listener.entries]
    assert len(announced) == len(set(announced)) == sum(map(len, answered))
    await journal.close()


async def test_a_database_that_goes_and_comes_back(database_url: str, admin: DriverConnection) -> None:
    database = Database(database_url)
    journal = Journal(database, Listener(), timeout=0.3)
    await journal.start()
    (session,) = await ids(database, 1)
    name = await admin.fetchval("SELECT current_database()")
    elsewhere = await connect_directly(database_url, database="postgres")
    await elsewhere.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    await admin.fetchval(END_OURS, APPLICATION_NAME)
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await journal.append(make_entry(session, 1))
    await elsewhere.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    await elsewhere.close()
    await play_on(database, journal, session, 3)
    assert await moves(database, session) == ["draw"] * 3
    await journal.close()
    await database.close()
