"""Peers that are dead, late or slow: they are found and freed, and harm nobody who lives."""

# What bounds the memory for one connection is nobody's business but its own, and this module's.
# pyright: reportPrivateUsage=false

import contextlib
import json
from contextlib import AsyncExitStack

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from server.config import Limits
from tests.arena import Address, run
from tests.chaos import Trouble, Weather, chaos, server_place
from tests.contract import Json
from tests.peer import Peer
from tests.server.test_watching import levels
from tests.waiting import until, until_true

PING = 0.5
FOR_EVER = Weather(late=1_000)
"""What is dead stays as it is."""


async def come_down(server: Address, connections: int, subscriptions: int) -> None:
    """Wait until a server has so many connections and subscriptions left."""
    aim = {"patience_connections": connections, "patience_subscriptions": subscriptions}

    async def reached() -> bool:
        return await levels(server) == aim

    await until(reached)


@pytest.mark.parametrize("trouble", ["stall", "deafen", "mute"])
async def test_a_half_open_connection_is_found_and_freed(
    database_url: str, redis_url: str, trouble: Trouble
) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(run(database_url, redis_url, ping=PING))
        network = await stack.enter_async_context(chaos([server_place(server.ws)], "peers", FOR_EVER))
        network.heal()
        player = await stack.enter_async_context(server.guest())
        session = (await player.deal("camelot", public=True))["session"]
        for _ in range(3):
            gone = Peer(network.ws)
            await gone.__aenter__()
            stack.callback(gone.socket.transport.abort)
            await gone.call("session.subscribe", session=session)
        network.befall(trouble)
        await come_down(server, 1, 0)
        assert not player.closed


async def test_a_half_open_connection_that_much_is_said_to_is_freed(
    database_url: str, redis_url: str
) -> None:
    """Its buffers are full, so that it cannot even be told that it is closed."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(run(database_url, redis_url, ping=PING))
        network = await stack.enter_async_context(chaos([server_place(server.ws)], "peers", FOR_EVER))
        network.heal()
        player = await stack.enter_async_context(server.guest())
        gone = Peer(network.ws)
        await gone.__aenter__()
        stack.callback(gone.socket.transport.abort)
        await gone.call("server.info")
        network.befall("deafen")
        for _ in range(100):
            await gone.begin("rpc.discover")
        await come_down(server, 1, 0)
        assert not player.closed


async def test_an_old_connection_that_dies_late_ends_nothing_of_the_new_one(
    database_url: str, redis_url: str
) -> None:
    """The client has lost it long ago; it lives on with its subscriptions until it is pinged."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(run(database_url, redis_url, ping=PING))
        second = await stack.enter_async_context(run(database_url, redis_url))
        network = await stack.enter_async_context(chaos([server_place(first.ws)], "peers", FOR_EVER))
        network.heal()
        elsewhere = await stack.enter_async_context(second.guest())
        session = (await elsewhere.deal("klondike"))["session"]
        old = Peer(network.ws, elsewhere.token)
        await old.__aenter__()
        await old.call("session.subscribe", session=session)
        network.befall("orphan")
        await old.until_closed()
        new = [await stack.enter_async_context(server.peer(elsewhere.token)) for server in (first, second)]
        for peer in new:
            await peer.call("session.subscribe", session=session, since=0)
        assert (await new[0].call("session.move", session=session, move="draw", seq=0))["seq"] == 1
        assert (await new[1].event())["seq"] == 1
        await come_down(first, 1, 1)
        await elsewhere.play(session, ["draw", "draw"], 1)
        for peer in new:
            assert [event["seq"] for event in await peer.events(2)] == [2, 3]
            assert await peer.quiet()


@pytest.mark.parametrize("apart", [False, True])
async def test_late_calls_of_an_old_connection_are_answered_by_the_rules(
    database_url: str, redis_url: str, apart: bool
) -> None:
    """The client has given it up and said everything again, to the same process or another one."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(run(database_url, redis_url))
        second = await stack.enter_async_context(run(database_url, redis_url)) if apart else first
        new = await stack.enter_async_context(second.guest())
        old = await stack.enter_async_context(first.peer(new.token))
        session = (await new.deal("klondike", request_id="one"))["session"]
        for peer in (old, new):
            await peer.call("session.subscribe", session=session)
        answers: list[Json] = [
            await new.call("session.move", session=session, move="draw", seq=0),
            await new.call("session.move", session=session, move="draw", seq=1),
            await new.call("session.undo", session=session, seq=2),
        ]
        assert [event["seq"] for event in await old.events(3)] == [1, 2, 3]
        # What was carried out is answered as it was, and what has come too late is refused.
        assert await old.call("session.move", session=session, move="draw", seq=0) == answers[0]
        assert await old.call("session.undo", session=session, seq=2) == answers[2]
        assert (await old.call("session.create", game="klondike", request_id="one"))["session"] == session
        late: tuple[tuple[str, Json], ...] = (
            ("session.move", {"move": "redeal", "seq": 1}),
            ("session.undo", {"seq": 1}),
            ("session.move", {"move": "draw", "seq": 2}),
        )
        for method, params in late:
            assert await old.refused(method, session=session, **params) == {"kind": "stale_seq", "seq": 3}
        # Its subscription began anew and ends, and the new one's does neither.
        assert len((await old.call("session.subscribe", session=session, since=1))["events"]) == 2
        await old.call("session.unsubscribe", session=session)
        await old.call("session.move", session=session, move="draw", seq=3)
        assert (await new.event())["seq"] == 4
        assert await new.quiet()
        assert await old.quiet()
        assert len((await new.call("session.record", session=session))["events"]) == 4


async def test_a_reader_that_does_not_keep_up_is_closed_and_misses_nothing(
    database_url: str, redis_url: str
) -> None:
    limits = Limits(outbox_messages=200)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(run(database_url, redis_url, limits))
        player = await stack.enter_async_context(server.guest())
        keen = await stack.enter_async_context(server.peer())
        session = (await player.deal("klondike", options={"passes": 0}, public=True))["session"]
        await keen.call("session.subscribe", session=session)
        others = set(server.arena._socket.connections)
        # The library stops reading when one message waits for us.
        slow = await stack.enter_async_context(
            connect(server.ws, compression=None, max_queue=1, max_size=None)
        )
        await slow.send(_call("session.subscribe", session=session))
        assert json.loads(await slow.recv())["result"]["view"]["seq"] == 0
        [connection] = server.arena._socket.connections - others
        for _ in range(1_000):
            await slow.send(_call("rpc.discover"))
        await until_true(lambda: connection.busy)
        seq = 0
        while connection.accepting:
            seq = await _back_and_forth(player, session, seq)
            assert connection._size <= limits.outbox_bytes
            assert len(connection._outbox) <= limits.outbox_messages
        assert (connection._size, len(connection._outbox)) == (0, 0)
        told: list[Json] = []
        with contextlib.suppress(ConnectionClosed):
            while True:
                message = json.loads(await slow.recv())
                if message.get("method") == "session.event":
                    told.append(message["params"])
        assert slow.close_code == 1013
        seq = await _back_and_forth(player, session, seq)
        async with server.peer() as back:
            missed = (await back.call("session.subscribe", session=session, since=len(told)))["events"]
            seq = await _back_and_forth(player, session, seq)
            told += missed + await back.events(2)
        assert told == await keen.events(seq)


async def _back_and_forth(player: Peer, session: str, seq: int) -> int:
    """Make a move and take it back; return the `seq` after that."""
    await player.call("session.move", session=session, move="draw", seq=seq)
    return (await player.call("session.undo", session=session, seq=seq + 1))["seq"]


def _call(method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
