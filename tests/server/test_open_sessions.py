"""How many casual sessions a player has going on at the same time."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from server.config import Limits
from server.store.database import Database
from server.store.sessions import find_request, insert_casual_session
from tests.arena import Running, run
from tests.peer import outcome
from tests.playthroughs import LOST, WON
from tests.server.store.rows import add_player, make_session

MOST = 3


@pytest.fixture
async def own(database_url: str, redis_url: str) -> AsyncIterator[Running]:
    """A server on which a player has three sessions going on."""
    async with run(database_url, redis_url, Limits(open_sessions=MOST), hurried=True) as running:
        yield running


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


async def test_one_has_to_end_before_another_begins(own: Running) -> None:
    async with own.guest() as player, own.guest() as rival:
        first, *_, last = [await player.deal("klondike", request_id=str(number)) for number in range(MOST)]
        assert await player.kind("session.create", game="klondike", request_id="9") == "not_allowed"
        assert await player.kind("session.create", game="casket") == "not_allowed"
        # A call that was carried out before has its answer.
        assert await player.deal("klondike", request_id="0") == first
        assert (await rival.deal("klondike"))["status"] == "playing"
        await player.call("session.resign", session=last["session"])
        lost = (await player.deal(**LOST.deal))["session"]
        assert await player.kind("session.create", game="klondike") == "not_allowed"
        await player.play(lost, LOST.line)
        won = (await player.deal(**WON.deal))["session"]
        assert await player.kind("session.create", game="klondike") == "not_allowed"
        await player.play(won, WON.line)
        await player.deal("klondike")
        assert await player.kind("session.create", game="klondike") == "not_allowed"


async def test_many_at_once_exceed_it_by_less_than_there_are_connections_to_the_database(
    own: Running, database_url: str, redis_url: str
) -> None:
    async with (
        run(database_url, redis_url, Limits(open_sessions=MOST), hurried=True) as second,
        own.guest() as here,
        second.peer(here.token) as there,
    ):
        calls = [
            await peer.begin("session.create", game="klondike") for _ in range(40) for peer in (here, there)
        ]
        outcomes = await asyncio.gather(*map(outcome, calls))
        assert set(outcomes) == {"done", "not_allowed"}
        going_on = (await here.call("session.list", status="playing", limit=100))["sessions"]
        assert MOST <= len(going_on) == outcomes.count("done") < MOST + 2 * 8
        assert await there.kind("session.create", game="klondike") == "not_allowed"


async def test_other_modes_do_not_count(database: Database) -> None:
    player = await add_player(database)
    async with database.writing() as db:
        for mode in ("daily", "race", "casual"):
            session = make_session(player.id)._replace(mode=mode)
            assert await insert_casual_session(db, session, 2) == (session, True)
        session = make_session(player.id, request_id="r")
        assert await insert_casual_session(db, session, 2) == (session, True)
        assert await insert_casual_session(db, make_session(player.id), 2) is None
        assert await insert_casual_session(db, make_session(player.id, request_id="r"), 2) == (session, False)
        assert await insert_casual_session(db, make_session(player.id, request_id="s"), 2) is None
        assert await find_request(db, player.id, "r") == session
        assert await find_request(db, player.id, "s") is None
        assert await find_request(db, player.id, None) is None
