"""Numbers for Prometheus: what they count, and that there are finitely many."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.config import Limits
from tests.arena import Running, run
from tests.peer import Peer


@pytest.fixture
async def own(database_url: str, redis_url: str) -> AsyncIterator[Running]:
    """A server that nobody else counts on."""
    async with run(database_url, redis_url) as running:
        yield running


async def numbers(server: Running) -> dict[str, float]:
    """Read all numbers, named with their labels' values."""
    async with httpx.AsyncClient(timeout=30) as http:
        response = await http.get(f"{server.http}/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        " ".join(
            [sample.name, *(sample.labels[label] for label in ("method", "kind") if label in sample.labels)]
        ): (sample.value)
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


async def test_calls_errors_and_commits_are_counted(own: Running) -> None:
    async with own.guest() as player:
        session = (await player.deal("klondike"))["session"]
        await player.play(session, ["draw", "draw"])
        for _ in range(3):
            await player.kind("session.move", session=session, move="redeal", seq=2)
        await player.kind("session.get", session="?")
        counted = await numbers(own)
    assert counted["patience_calls_total session.move"] == 5
    assert counted["patience_calls_total session.create"] == 1
    assert counted["patience_calls_total session.resign"] == 0
    assert counted["patience_errors_total session.move illegal_move"] == 3
    assert counted["patience_errors_total session.get not_found"] == 1
    assert counted["patience_journal_events_total"] == 2
    assert counted["patience_journal_commits_total"] == 2
    assert counted["patience_journal_waiting"] == 0


async def test_levels_go_up_and_down(own: Running) -> None:
    async with own.guest() as player:
        sessions = [(await player.deal("klondike"))["session"] for _ in range(3)]
        for session in sessions:
            await player.call("session.subscribe", session=session)
        level = await numbers(own)
        assert level["patience_connections"] == 1
        assert level["patience_live_sessions"] == 3
        assert level["patience_subscriptions"] == 3
        await player.call("session.unsubscribe", session=sessions[0])
        assert (await numbers(own))["patience_subscriptions"] == 2
    async with own.peer() as other:
        while (level := await numbers(own))["patience_connections"] > 1:
            await other.call("server.info")
    assert level["patience_subscriptions"] == 0


async def test_what_clients_make_up_adds_no_number(own: Running) -> None:
    async with own.peer() as peer:
        await everything(peer, "x")
        before = await numbers(own)
        for i in range(20):
            await everything(peer, f"nonesuch-{i}")
        after = await numbers(own)
    assert after.keys() == before.keys()
    assert after["patience_errors_total  method_not_found"] == 21


async def everything(peer: Peer, word: str) -> None:
    """Send a word wherever one can be sent."""
    await peer.socket.send(f'{{"jsonrpc":"2.0","id":"{word}","method":"{word}"}}')
    await peer.socket.send(f'{{"jsonrpc":"2.0","id":"{word}","method":"games.describe","params":["{word}"]}}')
    await peer.kind("session.get", session=word)
    await peer.kind("auth.use", token=word)


async def test_sessions_that_are_made_and_left_leave_nothing_behind(
    database_url: str, redis_url: str
) -> None:
    """What is left is bounded, and no matter of how many there were."""
    async with (
        run(database_url, redis_url, Limits(cached_sessions=20)) as own,
        own.guest() as player,
        Peer(own.ws, player.token) as quick,
    ):
        tasks: list[int] = []
        for _ in range(5):
            made = [await quick.begin("session.create", game="camelot") for _ in range(50)]
            sessions = [(await future)["session"] for future in made]
            left = [
                await quick.begin(method, session=session, **params)
                for session in sessions
                for method, params in (
                    ("session.subscribe", {}),
                    ("session.move", {"move": "draw", "seq": 0}),
                    ("session.unsubscribe", {}),
                )
            ]
            await asyncio.gather(*left)
            for session in sessions:
                await quick.call("session.unsubscribe", session=session)
            tasks.append(len(asyncio.all_tasks()))
            level = await numbers(own)
            assert level["patience_live_sessions"] <= 20
            assert level["patience_subscriptions"] == 0
        async with asyncio.timeout(30):
            while len(asyncio.all_tasks()) > tasks[0]:
                await quick.call("server.info")
