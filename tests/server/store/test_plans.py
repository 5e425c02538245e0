"""What the statements of the hot path read in a database that has filled up, as PostgreSQL itself counts it.

The statements are those that the code sends, overheard as it sends them.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Final
from uuid import UUID

import pytest
from sqlalchemy import select

from server.store.database import Database
from server.store.driver import DriverConnection
from server.store.entries import write_entries
from server.store.events import last_seq, load_events
from server.store.idle import claim_idle
from server.store.players import find_player
from server.store.progress import gone_on
from server.store.sessions import insert_casual_session, insert_session, list_sessions, load_session
from server.store.tables import Sessions
from server.store.tokens import use_token
from tests.server.store.plans import Overheard, Statement, Work, explain, overheard
from tests.server.store.rows import NOW, WON, make_entry, make_session

PLAYERS: Final = 1_000
SESSIONS: Final = 100_000
BUSY: Final = UUID(int=1)
"""A player with 10,000 sessions."""
LONG: Final = UUID(int=5_001)
"""A session of 5,000 events."""
BATCH: Final = 50
PAGE: Final = 21
DAY: Final = timedelta(days=1)
KINDS: Final = 15
"""How many pairs of a status and a mode there are."""


def _id(number: str) -> str:
    """Write a UUID of so small a number in SQL."""
    return f"lpad(to_hex({number}), 32, '0')::uuid"


# Of the first 10,000 sessions, all of one player, the very oldest alone are of a rare game or mode, or won. A
# third of all go on. They were dealt a second apart.
FILL: Final = (
    f"""INSERT INTO players SELECT {_id("n")}, 'Ada', 'guest', $1 FROM generate_series(1, {PLAYERS}) n""",
    f"""INSERT INTO tokens SELECT {_id("n")}, {_id("n")}, sha256(n::text::bytea), 'guest', '{{play}}', $1
        FROM generate_series(1, {PLAYERS}) n""",
    f"""INSERT INTO sessions
        SELECT {_id("n")}, {_id(f"CASE WHEN n <= 10000 THEN 1 ELSE 2 + n % {PLAYERS - 1} END")},
        CASE WHEN n <= 5 THEN 'plot' ELSE 'klondike' END, 'klondike/1', 'draw1', '{{}}',
        CASE WHEN n BETWEEN 3 AND 8 THEN 'daily' ELSE 'casual' END, false, md5(n::text), true, md5(n::text),
        'r' || n, $1::timestamptz + make_interval(secs => n),
        CASE WHEN n BETWEEN 4 AND 10 THEN 'won' WHEN n % 3 = 0 THEN 'playing' ELSE 'lost' END, 0, 0, 0
        FROM generate_series(1, {SESSIONS}) n""",
    f"""INSERT INTO events SELECT {_id("s")}, n, 'move', 'draw', $1, 0, n
        FROM generate_series(1, {SESSIONS}, 9) s, generate_series(1, 2) n""",
    f"""INSERT INTO events SELECT {_id("5001")}, n, 'move', 'draw', $1, 0, n
        FROM generate_series(1, 5000) n""",
)
INDEXES: Final = """SELECT string_agg({}, ';') FROM pg_indexes LEFT JOIN pg_constraint ON conname = indexname
    WHERE tablename = 'sessions' AND conname IS NULL"""


@pytest.fixture
async def full(database: Database, admin: DriverConnection) -> Database:
    """A database with all those rows."""
    # An index is made much faster than it is kept up.
    indexes = await admin.fetchval(INDEXES.format("indexdef"))
    await admin.execute(str(await admin.fetchval(INDEXES.format("'DROP INDEX ' || indexname"))))
    for statement in FILL:
        await admin.execute(statement, NOW)
    await admin.execute(str(indexes))
    await admin.execute("VACUUM (ANALYZE) players, tokens, sessions, events")
    return database


def readings() -> Mapping[str, tuple[Work, int]]:
    """Each thing that is asked of the store, and how many rows it may look at for that.

    A list may look at a page of each kind of session that is wanted; and of each that goes on, at an event.
    """
    lists = partial(list_sessions, player=BUSY, limit=PAGE)
    mine = make_session(BUSY, request_id="r7")
    return {
        "a session": (lambda db: load_session(db, LONG), 1),
        "a player": (lambda db: find_player(db, BUSY), 1),
        "all events": (lambda db: load_events(db, LONG), 5_000),
        "what is missed": (lambda db: load_events(db, LONG, since=4_990), 10),
        "a page of events": (lambda db: load_events(db, LONG, since=100, limit=100), 100),
        "no events": (lambda db: load_events(db, LONG, since=5_000), 0),
        "the last number": (lambda db: last_seq(db, LONG), 1),
        "which have gone on": (lambda db: gone_on(db, [(UUID(int=n), 1) for n in range(1, 101)]), 12),
        "a token": (lambda db: use_token(db, sha256(b"7").digest(), NOW), 3),
        "a new session": (lambda db: insert_session(db, make_session(BUSY)), 0),
        "a new session of a request": (lambda db: insert_session(db, make_session(BUSY, request_id="r")), 0),
        "a request made again": (lambda db: insert_session(db, mine), 1),
        "one more than allowed": (lambda db: insert_casual_session(db, make_session(BUSY), 100), 100),
        "idle sessions": (lambda db: claim_idle(db, NOW + DAY, NOW + DAY, BATCH), 3 * BATCH),
        "no idle sessions": (lambda db: claim_idle(db, NOW, NOW, BATCH), 0),
        "a list": (lists, 2 * PAGE),
        "a list's later page": (partial(lists, before=UUID(int=5_000)), 2 * PAGE),
        "a list's last page": (partial(lists, before=UUID(int=3)), 2 * PAGE),
        "who won": (partial(lists, status="won"), 3 * PAGE),
        "who goes on": (partial(lists, status="playing"), 2 * PAGE),
        "dailies": (partial(lists, mode="daily"), 5 * PAGE),
        "dailies that were won": (partial(lists, mode="daily", status="won"), PAGE),
        "a rare game": (partial(lists, game="plot"), KINDS * PAGE),
        "a rare game that was won": (partial(lists, game="plot", status="won"), 3 * PAGE),
        "a game that is not there": (partial(lists, game="camelot"), 0),
        "casual ones of a game later": (
            partial(lists, game="klondike", mode="casual", before=UUID(int=20)),
            6 * PAGE,
        ),
    }


async def written(connection: DriverConnection, ends: int) -> list[Statement]:
    """Return what is sent to write some events, of which so many end their session."""
    entries = [make_entry(UUID(int=n), 3, end=WON if n <= ends else None) for n in range(1, 101)]
    listening = Overheard(connection)
    await connection.execute("BEGIN")
    await write_entries(listening, entries)
    await connection.execute("ROLLBACK")
    return listening.statements


async def test_nothing_reads_more_than_its_own(full: Database, admin: DriverConnection) -> None:
    """Neither with a plan for these very values nor with one that fits all."""
    [greedy] = await overheard(full, lambda db: db.execute(select(Sessions.id).where(Sessions.seed == "")))
    reads = await explain(admin, greedy, "force_custom_plan")
    assert (reads.whole, reads.rows) == ({"sessions"}, SESSIONS), "what reads too much is found out"
    sent = {name: (await overheard(full, work), rows) for name, (work, rows) in readings().items()}
    sent["events"] = (await written(admin, 0), 0)
    sent["events and ends"] = (await written(admin, 10), 10)
    for name, (statements, rows) in sent.items():
        assert statements, name
        for mode in ("force_custom_plan", "force_generic_plan"):
            reads = [await explain(admin, statement, mode) for statement in statements]
            assert all(not read.whole for read in reads), (name, mode, reads)
            assert sum(read.rows for read in reads) <= rows, (name, mode, reads)
            for statement, read in zip(statements, reads, strict=True):
                # Rows that an index leads past are counted nowhere, but it has to be gone through for them.
                few = read.pages <= 20 + 4 * (read.rows + read.looks)
                assert few or not statement.sql.startswith("SELECT"), (name, mode, read)
