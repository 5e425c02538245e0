"""Which error is answered where several hold, and that nothing but the answer comes of it."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from secrets import token_urlsafe
from uuid import UUID

import pytest

from server.clock import SystemClock
from server.ids import new_id, parse_id
from server.store.database import Database
from server.store.tokens import Token, insert_token
from tests.arena import Address, Running, run
from tests.peer import Peer, outcome
from tests.playthroughs import WON

NOBODY = "0" * 26
MOST = 5_000


@pytest.fixture
async def ended(player: Peer) -> str:
    """A session that was resigned after a move."""
    session = (await player.deal("klondike"))["session"]
    await player.play(session, ["draw"])
    await player.call("session.resign", session=session)
    return session


async def test_the_order_of_errors_of_a_move(
    server: Address, player: Peer, rival: Peer, stranger: Peer, ended: str
) -> None:
    """Each call has all the faults of those after it, and one more."""
    move = {"session": ended, "move": "nonsense", "seq": 7}
    assert await stranger.kind("session.move", session=1, move=2) == "unauthenticated"
    assert await stranger.kind("session.move", **move) == "unauthenticated"
    assert await rival.kind("session.move", session=NOBODY, move=2, seq=-1) == "invalid_params"
    assert await rival.kind("session.move", **move | {"session": NOBODY}) == "not_found"
    assert await rival.kind("session.move", **move | {"session": "?"}) == "not_found"
    assert await rival.kind("session.move", **move) == "forbidden"
    again = await player.call("session.move", session=ended, move="draw", seq=0)
    assert again["seq"] == 1
    assert await player.kind("session.move", **move) == "session_over"
    alive = (await player.deal("klondike"))["session"]
    assert await player.kind("session.move", **move | {"session": alive}) == "stale_seq"
    assert await player.kind("session.move", session=alive, move="nonsense", seq=0) == "illegal_move"


async def test_the_order_of_errors_of_an_undo(player: Peer, rival: Peer, ended: str) -> None:
    assert await rival.kind("session.undo", session=NOBODY, seq="1") == "invalid_params"
    assert await rival.kind("session.undo", session=NOBODY, seq=7) == "not_found"
    assert await rival.kind("session.undo", session=ended, seq=7) == "forbidden"
    assert await player.kind("session.undo", session=ended, seq=7) == "session_over"
    alive = (await player.deal("klondike"))["session"]
    assert await player.kind("session.undo", session=alive, seq=7) == "stale_seq"
    assert await player.kind("session.undo", session=alive, seq=0) == "conflict"


async def test_the_order_of_errors_of_a_resignation(player: Peer, rival: Peer, stranger: Peer) -> None:
    session = (await player.deal(**WON.deal))["session"]
    await player.play(session, WON.line)
    assert await stranger.kind("session.resign", session=NOBODY) == "unauthenticated"
    assert await rival.kind("session.resign", session=NOBODY) == "not_found"
    assert await rival.kind("session.resign", session=session) == "forbidden"
    assert await player.kind("session.resign", session=session) == "session_over"


async def test_the_order_of_errors_of_a_deal(player: Peer, stranger: Peer) -> None:
    assert await stranger.kind("session.create", game="nonesuch", seed="?") == "unauthenticated"
    bad_seed = await player.refused("session.create", game="nonesuch", seed="?")
    assert bad_seed == {"kind": "invalid_params", "path": "/seed"}
    assert await player.kind("session.create", game="nonesuch") == "not_found"


async def test_reading_without_a_token_is_unauthenticated_where_it_would_be_forbidden(
    player: Peer, rival: Peer, stranger: Peer
) -> None:
    session = (await player.deal())["session"]
    for method in ("session.get", "session.record", "session.subscribe"):
        assert await stranger.kind(method, session=NOBODY) == "not_found"
        assert await stranger.kind(method, session=session) == "unauthenticated"
        assert await rival.kind(method, session=session) == "forbidden"
        assert await rival.kind(method, session=NOBODY) == "not_found"
        assert await rival.kind(method, session=3) == "invalid_params"


@pytest.fixture
async def own(database_url: str, redis_url: str) -> AsyncIterator[Running]:
    """A server whose database is in reach."""
    async with run(database_url, redis_url) as running:
        yield running


async def give_token(database_url: str, player: str, scopes: set[str]) -> str:
    """Put a token with some scopes into the database and return its text."""
    text = f"pa_{token_urlsafe(32)}"
    owner = parse_id(player)
    assert isinstance(owner, UUID)
    token = Token(new_id(), owner, "test", frozenset(scopes), SystemClock().now(), None)
    database = Database(database_url, connections=1)
    async with database.writing() as db:
        await insert_token(db, token, sha256(text.encode()).digest())
    await database.close()
    return text


async def test_a_token_without_the_scope_is_forbidden_after_not_found(
    own: Running, database_url: str
) -> None:
    async with own.guest() as player:
        session = (await player.deal())["session"]
        reading = await give_token(database_url, player.player["id"], {"read"})
        async with own.peer(reading) as reader:
            assert (await reader.call("session.get", session=session))["session"] == session
            assert (await reader.call("session.list"))["sessions"]
            for method, params in (
                ("session.move", {"move": "draw", "seq": 0}),
                ("session.undo", {"seq": 0}),
                ("session.resign", {}),
            ):
                assert await reader.kind(method, session=NOBODY, **params) == "not_found"
                assert await reader.kind(method, session=session, **params) == "forbidden"
            assert await reader.kind("session.create", game="klondike") == "forbidden"
            await reader.call("auth.logout")
            assert await reader.kind("session.list") == "unauthenticated"


async def test_whoever_may_play_may_also_read(own: Running, database_url: str) -> None:
    async with own.guest() as player:
        session = (await player.deal())["session"]
        playing = await give_token(database_url, player.player["id"], {"play"})
        async with own.peer(playing) as other:
            assert (await other.call("session.get", session=session))["session"] == session
            assert (await other.call("session.list"))["sessions"]


@pytest.fixture
async def swift(server: Address, player: Peer) -> AsyncIterator[Peer]:
    """Another connection of the player, whose answers are not held against the document one by one."""
    async with Peer(server.ws, player.token) as peer:
        yield peer


async def test_a_session_takes_so_many_moves_and_undos_and_no_more(swift: Peer, rival: Peer) -> None:
    """Sent window by window, with refused ones in between, which don't count."""
    player = swift
    session = (await player.deal("klondike"))["session"]
    for start in range(0, MOST, 100):
        futures = [
            await player.begin("session.undo", session=session, seq=seq)
            if seq % 2
            else await player.begin("session.move", session=session, move="draw", seq=seq)
            for seq in range(start, start + 100)
        ]
        futures.append(await player.begin("session.move", session=session, move="redeal", seq=start + 100))
        await asyncio.gather(*futures[:-1])
        assert await outcome(futures[-1]) == ("illegal_move" if start + 100 < MOST else "not_allowed")
    before = await player.call("session.get", session=session, seq=MOST)
    for method, params in (
        ("session.move", {"move": "draw", "seq": MOST}),
        ("session.move", {"move": "nonsense", "seq": 17}),
        ("session.undo", {"seq": MOST}),
    ):
        assert await player.refused(method, session=session, **params) == {"kind": "not_allowed"}
    assert await rival.kind("session.move", session=session, move="draw", seq=MOST) == "forbidden"
    assert (await player.call("session.move", session=session, move="draw", seq=0))["seq"] == 1
    assert (await player.call("session.undo", session=session, seq=MOST - 1))["seq"] == MOST
    assert await player.call("session.get", session=session, seq=MOST) == before
    answer = await player.call("session.resign", session=session)
    assert (answer["seq"], answer["status"]) == (MOST + 1, "resigned")
    assert await player.kind("session.undo", session=session, seq=MOST + 1) == "not_allowed"
    await missed_in_pages(rival, session)
    record = await player.call("session.record", session=session)
    assert len(record["events"]) == MOST + 1
    assert (await player.call("record.verify", record=record))["valid"]


async def missed_in_pages(peer: Peer, session: str) -> None:
    """Read all events of a long session, a thousand at a time."""
    since, sizes = 0, list[int]()
    while True:
        page = await peer.call("session.subscribe", session=session, since=since)
        assert [event["seq"] for event in page["events"]] == list(
            range(since + 1, since + 1 + len(page["events"]))
        )
        sizes.append(len(page["events"]))
        if not page["more"]:
            break
        since = page["events"][-1]["seq"]
    assert sizes == [1_000] * 5 + [1]
