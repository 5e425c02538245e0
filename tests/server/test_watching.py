"""Subscriptions: who is told of what, in which order, and what was missed."""

import asyncio
import json
from collections.abc import Callable

import httpx
from starlette.types import Message
from websockets.asyncio.client import connect

from server.config import Limits
from server.rpc.connection import Connection
from server.watching import Watching
from tests.arena import Address, run
from tests.contract import Json
from tests.peer import Peer, outcome
from tests.playthroughs import LOST, WON
from tests.server.api.test_playthroughs import patched, timeless


def raw_events(peer: Peer) -> list[str]:
    """Every event that was sent, as the bytes of its params."""
    return [
        frame.split('"params":', 1)[1][:-1]
        for frame in peer.frames
        if frame.startswith('{"jsonrpc":"2.0","method":"session.event"')
    ]


async def test_an_event_is_the_change_as_the_player_was_answered(player: Peer, rival: Peer) -> None:
    view = await player.deal("klondike", seed="1", public=True)
    session = view["session"]
    assert timeless((await rival.call("session.subscribe", session=session))["view"]) == timeless(view)
    answer = await player.call("session.move", session=session, move="t6-t1", seq=0)
    event = await rival.event()
    assert event["kind"] == "move"
    assert event["move"] == "t6-t1"
    assert {key: event[key] for key in ("seq", "patch", "check")} == {
        key: answer[key] for key in ("seq", "patch", "check")
    }
    undone = await player.call("session.undo", session=session, seq=1)
    event = await rival.event()
    assert (event["kind"], event["move"], event["seq"]) == ("undo", "t6-t1", 2)
    assert event["patch"] == undone["patch"]
    await player.call("session.resign", session=session)
    event = await rival.event()
    assert (event["kind"], event["move"], event["seq"]) == ("resign", None, 3)
    assert {"op": "replace", "path": "/seed", "value": "1"} in event["patch"]


async def test_patches_of_events_lead_to_the_view(player: Peer, rival: Peer) -> None:
    session = (await player.deal(**LOST.deal, public=True))["session"]
    view = (await rival.call("session.subscribe", session=session))["view"]
    seq = await player.play(session, LOST.line)
    await player.call("session.undo", session=session, seq=seq)
    for event in await rival.events(seq + 1):
        view = patched(view, event["patch"])
        assert (view["seq"], view["check"]) == (event["seq"], event["check"])
    assert timeless(view) == timeless(await player.call("session.get", session=session))


async def test_the_calling_connection_gets_the_answer_and_no_event(server: Address, player: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    async with server.peer(player.token) as second:
        for peer in (player, second):
            await peer.call("session.subscribe", session=session)
        await player.call("session.move", session=session, move="draw", seq=0)
        assert (await second.event())["seq"] == 1
        await second.call("session.move", session=session, move="draw", seq=1)
        assert (await player.event())["seq"] == 2
        assert await player.quiet()
        assert await second.quiet()


async def test_a_resent_or_refused_call_is_no_event(server: Address, player: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    async with server.peer(player.token) as second:
        await second.call("session.subscribe", session=session)
        await player.play(session, ["draw", "draw"])
        await player.call("session.move", session=session, move="draw", seq=0)
        await player.call("session.move", session=session, move="draw", seq=1)
        await player.kind("session.move", session=session, move="redeal", seq=2)
        assert [event["seq"] for event in await second.events(2)] == [1, 2]
        assert await second.quiet()


async def test_whoever_comes_late_is_given_what_was_missed(server: Address, player: Peer) -> None:
    session = (await player.deal(**WON.deal, public=True))["session"]
    async with server.peer() as first, server.peer() as late:
        await first.call("session.subscribe", session=session)
        await player.play(session, WON.line[:20])
        missed = await late.call("session.subscribe", session=session, since=7)
        assert missed["more"] is False
        await player.play(session, WON.line[20:], 20)
        seen = await first.events(len(WON.line))
        assert missed["events"] == seen[7:20]
        assert await late.events(len(WON.line) - 20) == seen[20:]


async def test_an_event_read_again_is_the_one_sent_byte_for_byte(player: Peer, rival: Peer) -> None:
    session = (await player.deal(**LOST.deal, public=True))["session"]
    await rival.call("session.subscribe", session=session)
    seq = await player.play(session, LOST.line)
    await player.call("session.undo", session=session, seq=seq)
    await player.call("session.resign", session=session)
    await rival.events(seq + 2)
    await player.call("session.subscribe", session=session, since=0)
    again = player.frames[-1]
    assert again.endswith('"result":{"events":[' + ",".join(raw_events(rival)) + '],"more":false}}')


async def test_a_subscription_that_is_up_to_date_misses_nothing(player: Peer, rival: Peer) -> None:
    session = (await player.deal("klondike", public=True))["session"]
    await player.play(session, ["draw"])
    assert await rival.call("session.subscribe", session=session, since=1) == {"events": [], "more": False}
    await player.play(session, ["draw"], 1)
    assert (await rival.event())["seq"] == 2


async def test_subscribing_again_begins_anew_and_doubles_nothing(player: Peer, rival: Peer) -> None:
    session = (await player.deal("klondike", public=True))["session"]
    await rival.call("session.subscribe", session=session)
    await rival.call("session.subscribe", session=session)
    await player.play(session, ["draw"])
    again = await rival.call("session.subscribe", session=session, since=0)
    assert [event["seq"] for event in again["events"]] == [1]
    await player.play(session, ["draw"], 1)
    assert [event["seq"] for event in await rival.events(2)] == [1, 2]
    assert await rival.quiet()


async def test_no_event_comes_after_unsubscribing(player: Peer, rival: Peer) -> None:
    session = (await player.deal("klondike", public=True))["session"]
    await rival.call("session.subscribe", session=session)
    assert await rival.call("session.unsubscribe", session=session) == {}
    assert await rival.call("session.unsubscribe", session=session) == {}
    await player.play(session, ["draw"])
    assert await rival.quiet()


async def test_answers_and_events_of_a_session_come_in_order_under_bursts(
    server: Address, player: Peer
) -> None:
    session = (await player.deal("klondike", options={"passes": 0, "draw": 3}, public=True))["session"]
    async with server.peer(player.token) as second, server.peer() as watcher:
        for peer in (player, second, watcher):
            await peer.call("session.subscribe", session=session)
        for start in range(0, 60, 20):
            futures = [
                await peer.begin(method, session=session, seq=seq, **params)
                for seq in range(start, start + 20)
                for peer, method, params in (
                    (player, "session.move", {"move": "draw"}),
                    (second, "session.undo", {}),
                )
            ]
            for future in futures:
                assert await outcome(future) in {"done", "stale_seq", "conflict", "illegal_move"}
        last = (await player.call("session.get", session=session))["seq"]
        for peer in (player, second, watcher):
            while await latest(peer) < last:
                await peer.event()
            seqs = order(peer)
            assert [seq for seq, _ in seqs] == sorted(seq for seq, _ in seqs)
            assert {seq for seq, _ in seqs} == set(range(1, last + 1))
        assert [seq for seq, _ in order(watcher)] == list(range(1, last + 1))
        # Each change was answered to one of the two and told to the other.
        told = [seq for peer in (player, second) for seq, kind in order(peer) if kind == "event"]
        assert sorted(told) == list(range(1, last + 1))


async def latest(peer: Peer) -> int:
    await peer.call("server.info")
    return max((seq for seq, _ in order(peer)), default=0)


def order(peer: Peer) -> list[tuple[int, str]]:
    """The numbers of the answers to changes and of the events, in the order in which they came."""
    found: list[tuple[int, str]] = []
    for frame in peer.frames:
        message = json.loads(frame)
        if message.get("method") == "session.event":
            found.append((message["params"]["seq"], "event"))
        elif "patch" in message.get("result", {}):
            found.append((message["result"]["seq"], "answer"))
    return found


async def test_the_answer_to_a_subscription_comes_before_its_first_event(
    server: Address, player: Peer
) -> None:
    session = (await player.deal("klondike", options={"passes": 0}, public=True))["session"]

    async def play_on(done: asyncio.Event) -> None:
        seq = 0
        while not done.is_set():
            legal = (await player.call("session.get", session=session))["legal"]
            seq = await player.play(session, [legal[0]], seq)

    done = asyncio.Event()
    playing = asyncio.create_task(play_on(done))
    for _ in range(20):
        async with server.peer() as watcher:
            view = (await watcher.call("session.subscribe", session=session))["view"]
            events = await watcher.events(3)
            assert [event["seq"] for event in events] == [view["seq"] + n for n in (1, 2, 3)]
            assert '"view"' in watcher.frames[0]
    done.set()
    await playing


async def test_a_connection_that_comes_back_loses_nothing_when_its_old_one_dies(
    server: Address, player: Peer
) -> None:
    session = (await player.deal("klondike"))["session"]
    old = await connect(server.ws, additional_headers={"authorization": f"Bearer {player.token}"})
    subscribe = {"jsonrpc": "2.0", "id": 1, "method": "session.subscribe", "params": {"session": session}}
    await old.send(json.dumps(subscribe))
    await old.recv()
    async with server.peer(player.token) as new:
        await new.call("session.subscribe", session=session, since=0)
        await player.play(session, ["draw"])
        old.transport.abort()
        await old.wait_closed()
        await player.play(session, ["draw"], 1)
        assert [event["seq"] for event in await new.events(2)] == [1, 2]


async def test_a_connection_subscribes_to_so_many_sessions(database_url: str, redis_url: str) -> None:
    async with run(database_url, redis_url, Limits(subscriptions=2)) as server, server.guest() as player:
        sessions = [(await player.deal("camelot"))["session"] for _ in range(3)]
        for session in sessions[:2]:
            await player.call("session.subscribe", session=session)
        assert await player.refused("session.subscribe", session=sessions[2]) == {"kind": "not_allowed"}
        await player.call("session.subscribe", session=sessions[0], since=0)
        await player.call("session.unsubscribe", session=sessions[0])
        await player.call("session.subscribe", session=sessions[2])


async def test_a_connection_that_has_ended_is_subscribed_to_nothing() -> None:
    """The session had to be read first, and the client has left meanwhile."""

    async def send(message: Message) -> None:
        """Take what is sent."""

    watching = Watching(most=2)
    ended = Connection(send, Limits(), address="", caller=None, abort=lambda: None)
    await ended.finish()
    watching.add("session", ended, 0)
    assert watching.sessions() == []
    assert len(watching) == 0


async def test_a_connection_that_acts_for_one_after_the_other_leaves_nothing_behind() -> None:
    async def send(message: Message) -> None:
        """Take what is sent."""

    ended: list[Callable[[], None]] = []

    class Counted(Connection):
        def on_close(self, callback: Callable[[], None]) -> None:
            ended.append(callback)
            super().on_close(callback)

    watching = Watching(most=2)
    connection = Counted(send, Limits(), address="", caller=None, abort=lambda: None)
    for _ in range(3):
        watching.add("session", connection, 0)
        watching.drop(connection)
        assert (len(watching), watching.sessions()) == (0, [])
    assert len(ended) == 1
    watching.add("session", connection, 0)
    await connection.finish()
    assert (len(watching), watching.sessions()) == (0, [])


async def test_connections_that_leave_take_their_subscriptions_along(
    database_url: str, redis_url: str
) -> None:
    async with run(database_url, redis_url) as server, server.guest() as player:
        session = (await player.deal("camelot", public=True))["session"]
        subscribe: Json = {"jsonrpc": "2.0", "id": 1, "method": "session.subscribe", "params": [session]}
        for i in range(40):
            socket = await connect(server.ws, compression=None)
            await socket.send(json.dumps(subscribe))
            if i % 2:
                await socket.recv()
            socket.transport.abort()
            await socket.wait_closed()
        async with asyncio.timeout(30):
            while await levels(server) != {"patience_connections": 1, "patience_subscriptions": 0}:
                await player.call("session.get", session=session)


async def levels(server: Address) -> dict[str, float]:
    """Read how many connections and subscriptions there are."""
    async with httpx.AsyncClient(timeout=30) as http:
        lines = (await http.get(f"{server.http}/metrics")).text.splitlines()
    numbers = dict(line.split(" ") for line in lines if not line.startswith("#"))
    return {name: float(numbers[name]) for name in ("patience_connections", "patience_subscriptions")}


async def test_a_subscription_that_is_ended_at_once_does_not_begin_afterwards(
    player: Peer, rival: Peer
) -> None:
    session = (await player.deal("klondike", public=True))["session"]
    subscribed = await rival.begin("session.subscribe", session=session)
    unsubscribed = await rival.begin("session.unsubscribe", session=session)
    assert (await subscribed)["view"]["seq"] == 0
    assert await unsubscribed == {}
    await player.call("session.move", session=session, move="draw", seq=0)
    # An event would have been sent before this answer.
    await rival.call("session.get", session=session)
    assert not [frame for frame in rival.frames if "session.event" in frame]
