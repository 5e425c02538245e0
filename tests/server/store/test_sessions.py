import asyncio
import traceback

import pytest
from sqlalchemy.exc import IntegrityError

from server.ids import new_id
from server.store.database import Database
from server.store.entries import SessionEnd
from server.store.journal import Journal
from server.store.sessions import Session, insert_session, list_sessions, load_session
from tests.server.store.rows import NOW, WON, add_player, make_entry, make_session


async def insert(database: Database, session: Session) -> tuple[Session, bool]:
    async with database.writing() as db:
        return await insert_session(db, session)


async def load(database: Database, session: Session) -> Session | None:
    async with database.reading() as db:
        return await load_session(db, session.id)


async def test_a_session_is_loaded_as_it_was_inserted(database: Database) -> None:
    session = make_session((await add_player(database)).id)
    assert await insert(database, session) == (session, True)
    assert await load(database, session) == session
    async with database.reading() as db:
        assert await load_session(db, new_id()) is None


async def test_a_session_may_be_over_with_its_deal(database: Database) -> None:
    session = make_session((await add_player(database)).id)
    session = session._replace(status="lost", score=3, ended_at=NOW, elapsed_ms=0)
    await insert(database, session)
    assert await load(database, session) == session


async def test_a_request_sent_again_gives_the_first_session(database: Database) -> None:
    player, other = await add_player(database), await add_player(database)
    first = make_session(player.id, request_id="r1")
    assert await insert(database, first) == (first, True)
    assert await insert(database, make_session(player.id, request_id="r1")) == (first, False)
    elsewhere = make_session(other.id, request_id="r1")
    assert await insert(database, elsewhere) == (elsewhere, True)
    for _ in range(2):
        nameless = make_session(player.id)
        assert await insert(database, nameless) == (nameless, True)


async def test_requests_at_the_same_time_make_one_session(database: Database) -> None:
    player = await add_player(database)
    made = await asyncio.gather(
        *(insert(database, make_session(player.id, request_id="r1")) for _ in range(8))
    )
    assert len({session.id for session, _ in made}) == 1
    assert sum(new for _, new in made) == 1


def test_the_seed_is_not_in_the_repr() -> None:
    session = make_session(new_id())
    assert session.seed not in repr(session)
    assert session.seed not in f"{session}"


async def test_a_list_shows_what_is_true_now(database: Database, journal: Journal) -> None:
    player = await add_player(database)
    fresh, going, won, again = (make_session(player.id) for _ in range(4))
    for session in (fresh, going, won, again, make_session((await add_player(database)).id)):
        await insert(database, session)
    lost = SessionEnd("lost", score=1, moves=1, undos=0, ended_at=NOW, elapsed_ms=5)
    undone = SessionEnd("playing", score=0, moves=0, undos=1, ended_at=None, elapsed_ms=None)
    for entry in (
        make_entry(going.id, 1),
        make_entry(going.id, 2),
        make_entry(won.id, 1, end=WON),
        make_entry(again.id, 1, end=lost),
        make_entry(again.id, 2, end=undone),
        make_entry(again.id, 3),
    ):
        assert await journal.append(entry)
    async with database.reading() as db:
        listed = await list_sessions(db, player.id, limit=10)
    assert [(line.id, line.status, line.score, line.moves) for line in listed] == [
        (again.id, "playing", 3, 3),
        (won.id, "won", 52, 7),
        (going.id, "playing", 2, 2),
        (fresh.id, "playing", 0, 0),
    ]
    assert [(line.ended_at, line.elapsed_ms) for line in listed[:2]] == [(None, None), (NOW, 48_211)]


async def test_a_list_is_filtered_and_comes_in_pages(database: Database, journal: Journal) -> None:
    player = await add_player(database)
    sessions = [make_session(player.id, game=game) for game in ("klondike", "casket") * 3]
    sessions[0] = sessions[0]._replace(mode="daily")
    for session in sessions:
        await insert(database, session)
    assert await journal.append(make_entry(sessions[2].id, 1, end=WON))
    newest = [session.id for session in reversed(sessions)]
    async with database.reading() as db:
        klondikes = await list_sessions(db, player.id, game="klondike", limit=10)
        assert [line.id for line in klondikes] == newest[1::2]
        dailies = await list_sessions(db, player.id, mode="daily", limit=10)
        assert [line.id for line in dailies] == [sessions[0].id]
        won = await list_sessions(db, player.id, status="won", game="klondike", limit=10)
        assert [line.id for line in won] == [sessions[2].id]
        page = await list_sessions(db, player.id, limit=4)
        assert [line.id for line in page] == newest[:4]
    await insert(database, make_session(player.id))
    async with database.reading() as db:
        rest = await list_sessions(db, player.id, before=page[-1].id, limit=4)
    assert [line.id for line in rest] == newest[4:]


async def test_a_refused_session_shows_no_seed(database: Database) -> None:
    session = make_session((await add_player(database)).id)._replace(mode="other")
    with pytest.raises(IntegrityError, match="sessions_mode_check") as caught:
        await insert(database, session)
    assert session.seed not in "".join(traceback.format_exception(caught.value))
