"""What a server that is started anew still knows, which is everything that it has answered."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import pytest

from server.config import Limits
from tests.arena import Address, run
from tests.peer import Peer
from tests.playthroughs import LOST, WON
from tests.server.test_watching import raw_events

Start: TypeAlias = Callable[[], AbstractAsyncContextManager[Address]]


@pytest.fixture
def start(database_url: str, redis_url: str) -> Start:
    """Start a server on the same stores; only one runs at a time."""

    @asynccontextmanager
    async def started() -> AsyncGenerator[Address]:
        async with run(database_url, redis_url) as server:
            yield server

    return started


async def test_calls_sent_again_after_a_restart_give_the_same_answers(start: Start) -> None:
    async with start() as server, server.guest() as player:
        view = await player.deal(**LOST.deal, request_id="one")
        session = view["session"]
        moves = [
            await player.call("session.move", session=session, move=move, seq=seq)
            for seq, move in enumerate(LOST.line)
        ]
        end = len(moves)
        undone = await player.call("session.undo", session=session, seq=end)
        resigned = await player.call("session.resign", session=session)
    async with start() as server, server.peer(player.token) as again:
        assert await again.call("session.resign", session=session) == resigned
        assert await again.call("session.undo", session=session, seq=end) == undone
        for seq in reversed(range(end)):
            assert (
                await again.call("session.move", session=session, move=LOST.line[seq], seq=seq) == moves[seq]
            )
        assert await again.deal(**LOST.deal, request_id="one") == view
        assert (await again.call("session.get", session=session))["seq"] == end + 2
        assert len((await again.call("session.list"))["sessions"]) == 1


async def test_events_of_before_a_restart_are_given_again_byte_for_byte(start: Start) -> None:
    async with start() as server, server.guest() as player, server.peer() as watcher:
        session = (await player.deal(**WON.deal, public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        await player.play(session, WON.line[:30])
        await watcher.events(30)
        sent = raw_events(watcher)
    async with start() as server, server.peer(player.token) as player, server.peer() as watcher:
        missed = await watcher.call("session.subscribe", session=session, since=12)
        assert [event["seq"] for event in missed["events"]] == list(range(13, 31))
        assert watcher.frames[-1].endswith('"events":[' + ",".join(sent[12:]) + '],"more":false}}')
        await player.play(session, WON.line[30:], 30)
        events = await watcher.events(len(WON.line) - 30)
        assert events[-1]["seq"] == len(WON.line)
        record = await watcher.call("session.record", session=session)
        assert (await watcher.call("record.verify", record=record))["valid"]


async def test_views_and_lists_are_those_of_before(start: Start) -> None:
    async with start() as server, server.guest() as player:
        playing = (await player.deal("casket"))["session"]
        await player.play(playing, ["draw"] if "draw" in (await legal(player, playing)) else [])
        lost = (await player.deal(**LOST.deal))["session"]
        await player.play(lost, LOST.line)
        before = [await player.call("session.get", session=session) for session in (playing, lost)]
        listed = await player.call("session.list")
    async with start() as server, server.peer(player.token) as again:
        after = [await again.call("session.get", session=session) for session in (playing, lost)]
        assert after[1] == before[1]
        assert after[0] | {"elapsed_ms": 0} == before[0] | {"elapsed_ms": 0}
        assert after[0]["elapsed_ms"] >= before[0]["elapsed_ms"]
        items = (await again.call("session.list"))["sessions"]
        assert [item | {"elapsed_ms": 0} for item in items] == [
            item | {"elapsed_ms": 0} for item in listed["sessions"]
        ]


async def legal(peer: Peer, session: str) -> list[str]:
    return (await peer.call("session.get", session=session))["legal"]


async def test_a_token_that_was_revoked_stays_so(start: Start) -> None:
    async with start() as server, server.guest() as player:
        await player.call("auth.logout")
    async with start() as server, server.peer(player.token) as again:
        assert await again.kind("session.list") == "unauthenticated"


async def test_a_small_cache_gives_the_same_answers(database_url: str, redis_url: str) -> None:
    """Every session is forgotten and read again between any two of its moves."""
    async with run(database_url, redis_url, Limits(cached_sessions=1)) as server, server.guest() as player:
        sessions = [(await player.deal(**WON.deal))["session"] for _ in range(3)]
        async with server.peer(player.token) as watcher:
            for session in sessions:
                await watcher.call("session.subscribe", session=session)
            answers = [
                [
                    await player.call("session.move", session=session, move=move, seq=seq)
                    for session in sessions
                ]
                for seq, move in enumerate(WON.line)
            ]
            for same in answers:
                assert same[0] == same[1] == same[2]
            assert answers[-1][0]["status"] == "won"
            events = await watcher.events(3 * len(WON.line))
            for session in sessions:
                seqs = [event["seq"] for event in events if event["session"] == session]
                assert seqs == list(range(1, len(WON.line) + 1))
