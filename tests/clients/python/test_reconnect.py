"""Connections that break at awkward moments: nothing is lost, nothing is done twice."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable

import pytest

from clients.python import Client, ConnectionLost, Event, Session, Unauthenticated, connect
from tests.clients.relay import Cut, Message, Relay, Tamper, passes
from tests.clients.serving import Server
from tests.waiting import until_true

MOMENT = 20.0


@pytest.fixture
async def player(relay: Relay) -> AsyncIterator[Client]:
    """Give a guest whose messages take the bad network."""
    async with connect(relay.url) as client:
        await client.guest("Ada")
        yield client


def once(happens: Callable[[Message], bool], what: Tamper) -> Tamper:
    """Do `what` to the first message that `happens`, and nothing to others."""
    due = [True]

    def tamper(message: Message) -> Message | None:
        if due and happens(message):
            due.clear()
            return what(message)
        return message

    return tamper


def cut(code: int | None = None) -> Tamper:
    def tamper(_message: Message) -> None:
        raise Cut(code)

    return tamper


def calls(method: str) -> Callable[[Message], bool]:
    return lambda message: message.get("method") == method


def answers_seq(seq: int) -> Callable[[Message], bool]:
    """Recognize the answer to a change."""

    def happens(message: Message) -> bool:
        result = message.get("result", {})
        return "status" in result and result["seq"] == seq

    return happens


def is_sound(session: Session) -> bool:
    return (session.gaps, session.repairs) == (0, 0)


async def seqs(client: Client, session: str) -> list[int]:
    """Return the numbers of all events that the server has of a session."""
    return [event["seq"] for event in (await client.call("session.record", session=session))["events"]]


async def test_an_answer_is_lost_after_the_commit(relay: Relay, player: Client) -> None:
    session = await player.create("klondike")
    watch = session.watch()
    relay.down = once(answers_seq(1), cut())
    answer = await session.move("draw")
    assert (answer.seq, session.view.moves, player.reconnects) == (1, 1, 1)
    assert await seqs(player, session.id) == [1]
    # The change was heard of as an event, before its answer came a second time.
    event = await anext(watch)
    assert (event.seq, event.kind, event.move) == (1, "move", "draw")
    await session.move("draw")
    assert (await anext(watch)).seq == 2
    assert is_sound(session)


async def test_a_call_is_lost_before_it_arrives(relay: Relay, player: Client) -> None:
    session = await player.create("klondike")
    relay.up = once(calls("session.move"), cut())
    answer = await session.move("draw")
    assert (answer.seq, player.reconnects) == (1, 1)
    assert await seqs(player, session.id) == [1]
    assert is_sound(session)


@pytest.mark.parametrize("change", ["undo", "resign"])
async def test_other_changes_whose_answers_are_lost(relay: Relay, player: Client, change: str) -> None:
    session = await player.create("klondike")
    await session.move("draw")
    relay.down = once(answers_seq(2), cut())
    answer = await (session.undo() if change == "undo" else session.resign())
    assert (answer.seq, session.seq, player.reconnects) == (2, 2, 1)
    assert await seqs(player, session.id) == [1, 2]
    assert is_sound(session)


async def test_a_session_is_created_once(relay: Relay, player: Client) -> None:
    relay.down = once(lambda message: "legal" in message.get("result", {}), cut())
    session = await player.create("klondike")
    assert player.reconnects == 1
    page = await player.sessions()
    assert [item.session for item in page.sessions] == [session.id]
    await session.move("draw")
    assert is_sound(session)


async def test_what_cannot_be_repeated_is_told(relay: Relay, player: Client) -> None:
    relay.down = once(lambda message: "token" in message.get("result", {}), cut())
    with pytest.raises(ConnectionLost):
        await player.guest("Grace")
    assert player.player is not None
    assert player.player.name == "Ada"
    await player.create("klondike")
    assert player.reconnects == 1


@pytest.mark.parametrize("code", [1001, 1011, 1012, 1013])
async def test_close_codes_after_which_it_comes_back(relay: Relay, player: Client, code: int) -> None:
    session = await player.create("klondike")
    relay.down = once(answers_seq(1), cut(code))
    assert (await session.move("draw")).seq == 1
    assert player.reconnects == 1
    assert await seqs(player, session.id) == [1]


async def test_a_message_that_was_too_big_is_not_sent_again(relay: Relay, player: Client) -> None:
    session = await player.create("klondike")
    relay.up = once(calls("session.move"), cut(1009))
    with pytest.raises(ConnectionLost):
        await session.move("draw")
    assert (await session.move("draw")).seq == 1


async def test_a_whole_game_over_a_network_that_breaks_all_the_time(relay: Relay, player: Client) -> None:
    session = await player.create("casket")
    heard: list[Event] = []
    session.on_event(heard.append)
    chance = random.Random(3)

    def sometimes(message: Message) -> Message:
        if chance.random() < 0.03:
            raise Cut
        return message

    relay.up = relay.down = sometimes
    while session.legal and session.seq < 120:
        await session.move(chance.choice(session.legal))
    relay.up = relay.down = passes
    assert player.reconnects > 3
    assert is_sound(session)
    view = await player.view(session.id)
    assert (session.view.piles, session.seq, session.status) == (view.piles, view.seq, view.status)
    await session.refresh()
    assert [event.seq for event in heard] == list(range(1, session.seq + 1))
    assert await seqs(player, session.id) == list(range(1, session.seq + 1))


async def test_more_than_a_page_was_missed(relay: Relay, player: Client, arena: str) -> None:
    session = await player.create("klondike")
    watch = session.watch()
    relay.open = False
    relay.break_all()
    async with connect(arena, player.token) as elsewhere:
        both = (("session.move", "draw"), ("session.undo", None))
        changes = [(method, move, 2 * i + n) for i in range(550) for n, (method, move) in enumerate(both)]
        await asyncio.gather(
            *(elsewhere.call(method, session=session.id, move=move, seq=seq) for method, move, seq in changes)
        )
        relay.open = True
        async with asyncio.timeout(MOMENT):
            missed = [(await anext(watch)).seq for _ in range(1_100)]
        assert missed == list(range(1, 1_101))
        await elsewhere.call("session.move", session=session.id, move="draw", seq=1_100)
        async with asyncio.timeout(MOMENT):
            assert (await anext(watch)).seq == 1_101
    assert is_sound(session)


async def test_sessions_are_taken_up_again_all_at_once(relay: Relay, player: Client) -> None:
    """One whose answer does not come keeps no other waiting."""
    sessions = [await player.create("klondike") for _ in range(3)]
    asked: set[str] = set()

    def note(message: Message) -> Message:
        if message["method"] == "session.subscribe":
            asked.add(message["params"]["session"])
        return message

    relay.up = note
    relay.down = once(lambda message: "events" in message.get("result", {}), lambda _: None)
    relay.break_all()
    await until_true(lambda: asked == {session.id for session in sessions})
    relay.down = passes
    relay.break_all()
    for session in sessions:
        assert (await session.move("draw")).seq == 1
        assert is_sound(session)


async def test_a_first_connection_to_a_server_that_stops(relay: Relay, player: Client) -> None:
    relay.down = once(lambda _: True, cut(1012))
    async with connect(relay.url, player.token) as client:
        assert client.player == player.player
    assert relay.connections == 3


async def test_a_server_that_stops_hands_over_to_another(database_url: str, redis_url: str) -> None:
    with Server(database_url, redis_url) as first, Server(database_url, redis_url) as second:
        async with Relay(first.url) as relay, connect(relay.url) as client:
            await client.guest()
            session = await client.create("klondike")
            told = asyncio.Event()
            relay.down = once(calls("server.closing"), lambda message: told.set() or message)
            await session.move("draw")
            relay.target = second.url
            first.terminate()
            async with asyncio.timeout(MOMENT):
                await told.wait()
            for seq in range(2, 6):
                assert (await session.move("draw")).seq == seq
            assert client.reconnects == 1
            assert is_sound(session)


async def test_a_server_that_is_killed_is_replaced_by_another(database_url: str, redis_url: str) -> None:
    with Server(database_url, redis_url) as second, Server(database_url, redis_url) as first:
        async with Relay(first.url) as relay, connect(relay.url) as client:
            await client.guest()
            session = await client.create("stalactites")
            await session.move("step=2")
            relay.target = second.url
            await asyncio.to_thread(first.kill)
            while session.legal:
                await session.move(session.legal[0])
            assert client.reconnects == 1
            assert is_sound(session)
            assert (await client.view(session.id)).piles == session.piles


async def test_it_gives_up_in_the_end(relay: Relay) -> None:
    async with connect(relay.url, retry_for=0.3) as client:
        await client.guest()
        session = await client.create("klondike")
        watch = session.watch()
        relay.open = False
        relay.break_all()
        with pytest.raises(ConnectionLost):
            await session.move("draw")
        with pytest.raises(ConnectionLost):
            await client.info()
        async with asyncio.timeout(MOMENT):
            with pytest.raises(ConnectionLost):
                await anext(watch)


async def test_a_server_that_is_full_is_asked_less_and_less(relay: Relay) -> None:
    def refuse(_message: Message) -> None:
        raise Cut(1013)

    async with connect(relay.url, retry_for=7.0) as client:
        await client.guest()
        relay.up = refuse
        with pytest.raises(ConnectionLost):
            await client.info()
    # The waits are one second, two and four at the least, so a third one is too long.
    assert relay.connections <= 3


async def test_a_token_that_was_revoked_meanwhile(relay: Relay, player: Client, arena: str) -> None:
    session = await player.create("klondike")
    relay.open = False
    relay.break_all()
    async with connect(arena, player.token) as elsewhere:
        await elsewhere.logout()
    relay.open = True
    with pytest.raises(Unauthenticated):
        await session.move("draw")
    with pytest.raises(Unauthenticated):
        await player.info()


async def test_nothing_listens(relay: Relay) -> None:
    relay.open = False
    with pytest.raises(ConnectionLost):
        async with connect(relay.url):
            pytest.fail("nothing is there")


async def test_closing_ends_everything(arena: str) -> None:
    async with connect(arena) as client:
        await client.guest()
        session = await client.create("klondike")
        watch = session.watch()
    assert [event async for event in watch] == []
    with pytest.raises(ConnectionLost):
        await session.move("draw")


async def test_breaks_are_told(relay: Relay, player: Client) -> None:
    told: asyncio.Queue[bool] = asyncio.Queue(maxsize=4)
    player.on_connection(told.put_nowait)
    async with asyncio.timeout(MOMENT):
        for _ in range(2):
            relay.break_all()
            assert [await told.get(), await told.get()] == [False, True]
    await player.info()
    assert told.empty()
