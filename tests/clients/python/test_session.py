"""A session in step with the server, whoever changes it and whatever the network loses."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from clients.python import CallTimeout, Client, StaleSeq, Unavailable, connect
from tests.clients.relay import Message, Relay, passes
from tests.clients.serving import Server

MOMENT = 20.0


@pytest.fixture
async def elsewhere(client: Client, arena: str) -> AsyncIterator[Client]:
    """Give another connection of the same player."""
    async with connect(arena, client.token) as other:
        yield other


async def test_two_connections_play_one_session(client: Client, elsewhere: Client) -> None:
    here = await client.create("stalactites")
    there = await elsewhere.open(here.id)
    heard_here, heard_there = here.watch(), there.watch()
    seq = 0
    while here.legal:
        mover, other_events = (here, heard_there) if seq % 2 else (there, heard_here)
        own_events = heard_here if seq % 2 else heard_there
        move = mover.legal[0]
        await mover.move(move)
        seq += 1
        async with asyncio.timeout(MOMENT):
            own, other = await anext(own_events), await anext(other_events)
        assert (
            (own.seq, own.move, own.check) == (other.seq, other.move, other.check) == (seq, move, own.check)
        )
        assert other.at is not None
        assert own.at is None
        assert (here.seq, there.seq) == (seq, seq)
    assert here.view.piles == there.view.piles
    assert (here.gaps, here.repairs, there.gaps, there.repairs) == (0, 0, 0, 0)


async def test_a_stale_move_is_refused_and_the_view_catches_up(relay: Relay, client: Client) -> None:
    async with connect(relay.url, client.token) as slow:
        here = await client.create("klondike")
        there = await slow.open(here.id)
        relay.down = lambda message: None if message.get("method") == "session.event" else message
        await here.move("draw")
        await here.move("draw")
        watch = there.watch()
        # The same move would count as the first one sent again.
        with pytest.raises(StaleSeq) as stale:
            await there.move("redeal")
        assert stale.value.seq == 2
        assert (there.seq, there.piles) == (2, here.piles)
        assert [(await anext(watch)).seq for _ in range(2)] == [1, 2]
        assert (await there.move("draw")).seq == 3
        assert (there.gaps, there.repairs) == (0, 0)


async def test_events_that_are_missing_are_asked_for(relay: Relay, client: Client) -> None:
    async with connect(relay.url, client.token) as lossy:
        here = await client.create("klondike")
        there = await lossy.open(here.id)
        watch = there.watch()
        lost = {2, 3}
        relay.down = lambda message: None if message.get("params", {}).get("seq") in lost else message
        for _ in range(5):
            await here.move("draw")
        async with asyncio.timeout(MOMENT):
            assert [(await anext(watch)).seq for _ in range(5)] == [1, 2, 3, 4, 5]
        assert there.piles == here.piles
        assert there.gaps >= 1
        assert there.repairs == 0


@pytest.mark.parametrize("harm", ["check", "patch", "unfit"])
async def test_a_view_that_is_wrong_is_read_anew(relay: Relay, client: Client, harm: str) -> None:
    async with connect(relay.url, client.token) as lied_to:
        here = await client.create("klondike")
        there = await lied_to.open(here.id)
        watch = there.watch()

        def falsify(message: Message) -> Message:
            event = message.get("params", {})
            if event.get("seq") == 2:
                if harm == "check":
                    event["check"] = "00000000"
                elif harm == "patch":
                    event["patch"].append({"op": "replace", "path": "/piles/stock/down", "value": 1})
                else:
                    event["patch"].append({"op": "remove", "path": "/piles/nothing"})
            return message

        relay.down = falsify
        for _ in range(4):
            await here.move("draw")
        async with asyncio.timeout(MOMENT):
            assert [(await anext(watch)).seq for _ in range(4)] == [1, 2, 3, 4]
        assert (await there.move("draw")).seq == 5
        relay.down = passes
        async with asyncio.timeout(MOMENT):
            while here.seq < 5:
                await here.refresh()
        assert there.view.piles == here.view.piles
        assert there.view.legal == here.view.legal
        assert there.repairs == 1


async def test_unavailable_is_tried_again(relay: Relay, client: Client) -> None:
    async with connect(relay.url, client.token) as player:
        session = await player.create("klondike")
        seen = 0

        def busy(message: Message) -> Message:
            """Say twice that a change may or may not have been made, though it was."""
            nonlocal seen
            if "patch" in message.get("result", {}) and seen < 2:
                seen += 1
                error = {"code": 1010, "message": "A store is down.", "data": {"kind": "unavailable"}}
                return {"jsonrpc": "2.0", "id": message["id"], "error": error}
            return message

        relay.down = busy
        assert (await session.move("draw")).seq == 1
        assert (seen, session.seq, session.gaps) == (2, 1, 0)


async def test_unavailable_for_good_is_raised(relay: Relay, client: Client) -> None:
    async with connect(relay.url, client.token, timeout=3.0) as player:
        session = await player.create("klondike")
        error = {"code": 1010, "message": "A store is down.", "data": {"kind": "unavailable"}}
        relay.down = lambda message: {"jsonrpc": "2.0", "id": message["id"], "error": error}
        with pytest.raises(Unavailable):
            await session.move("draw")
        relay.down = passes
        # It was made after all; the server says so, and then it is seen.
        with pytest.raises(StaleSeq):
            await session.move("redeal")
        assert session.seq == 1


async def test_no_answer_at_all(relay: Relay, client: Client) -> None:
    async with connect(relay.url, client.token, timeout=0.5) as player:
        session = await player.create("klondike")
        relay.down = lambda _message: None
        with pytest.raises(CallTimeout):
            await session.move("draw")
        relay.down = passes
        assert (await session.move("draw")).seq == 1
        assert session.view.moves == 1


async def test_a_session_that_could_not_be_subscribed_to_is_when_it_is_opened(
    relay: Relay, client: Client
) -> None:
    async with connect(relay.url, client.token, timeout=2.0) as player:
        relay.up = lambda message: None if message["method"] == "session.subscribe" else message
        with pytest.raises(CallTimeout):
            await player.create("klondike")
        relay.up = passes
        [item] = (await player.sessions()).sessions
        session = await player.open(item.session)
        watch = session.watch()
        await (await client.open(session.id)).move("draw")
        async with asyncio.timeout(MOMENT):
            assert (await anext(watch)).seq == 1


async def test_a_call_that_nobody_waits_for_still_counts(client: Client) -> None:
    session = await client.create("klondike")
    watch = session.watch()
    move = asyncio.create_task(session.move("draw"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    move.cancel()
    await client.info()
    answer = await session.move("draw")
    async with asyncio.timeout(MOMENT):
        assert [(await anext(watch)).seq for _ in range(answer.seq)] == list(range(1, answer.seq + 1))
    assert (session.gaps, session.repairs) == (0, 0)


async def test_somebody_else_watches_in_public(client: Client, arena: str) -> None:
    session = await client.create("klondike", public=True)
    await session.move("draw")
    async with connect(arena) as watcher:
        seen = await watcher.open(session.id)
        assert (seen.seq, seen.piles) == (1, session.piles)
        watch = seen.watch()
        await session.move("draw")
        await session.resign()
        async with asyncio.timeout(MOMENT):
            assert [(event.seq, event.kind) async for event in watch] == [(2, "move"), (3, "resign")]
        assert seen.view.seed is not None
        assert seen.watch() is not watch


async def test_a_late_subscriber_gets_all_since(client: Client, arena: str) -> None:
    session = await client.create("camelot", public=True)
    while session.legal:
        await session.move(session.legal[0])
    async with connect(arena) as late:
        page = await late.call("session.subscribe", session=session.id, since=0)
        assert [event["seq"] for event in page["events"]] == list(range(1, session.seq + 1))
        assert page["events"][-1]["check"] == session.view.check


async def test_listeners_and_the_end_of_listening(client: Client, elsewhere: Client) -> None:
    session = await client.create("klondike")
    there = await elsewhere.open(session.id)
    heard: list[int] = []
    raw: list[int] = []
    stop = there.on_event(lambda event: heard.append(event.seq))
    elsewhere.on("session.event", lambda params: raw.append(params["seq"]))
    watch = there.watch()
    await session.move("draw")
    async with asyncio.timeout(MOMENT):
        await anext(watch)
    await there.refresh()
    stop()
    stop()
    await there.close()
    await there.close()
    await session.move("draw")
    await elsewhere.info()
    assert (heard, raw) == ([1], [1])
    assert [event async for event in watch] == []
    again = await elsewhere.open(session.id)
    assert again is not there
    assert again.seq == 2


async def test_player_and_watcher_on_two_servers(database_url: str, redis_url: str) -> None:
    with Server(database_url, redis_url) as first, Server(database_url, redis_url) as second:
        async with connect(first.url) as one, connect(second.url) as two:
            await one.guest()
            assert one.token is not None
            await two.use(one.token)
            here = await one.create("stalactites")
            there = await two.open(here.id)
            events = there.watch()
            seq = 0
            while here.legal:
                await here.move(here.legal[0])
                seq += 1
                async with asyncio.timeout(MOMENT):
                    assert (await anext(events)).seq == seq
            assert there.piles == here.piles
            assert (there.repairs, here.repairs, here.gaps) == (0, 0, 0)
