"""Reading sessions: views of now and of then, lists, and the time that goes by."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.arena import Running, run
from tests.contract import Json
from tests.peer import Peer
from tests.playthroughs import LOST, WON

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


class HandClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time

    def set(self, ms: int) -> None:
        """Let it be so many milliseconds after the start."""
        self.time = START + timedelta(milliseconds=ms)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def timed(database_url: str, redis_url: str, clock: HandClock) -> AsyncIterator[Running]:
    async with run(database_url, redis_url, clock=clock) as running:
        yield running


@pytest.fixture
async def ada(timed: Running) -> AsyncIterator[Peer]:
    async with timed.guest() as peer:
        yield peer


async def test_a_view_of_then_is_as_it_was_time_included(ada: Peer, clock: HandClock) -> None:
    session = (await ada.deal("klondike"))["session"]
    views: list[Json] = [await ada.call("session.get", session=session)]
    for seq in range(5):
        clock.set(1_000 * (seq + 1))
        await ada.call("session.move", session=session, move="draw", seq=seq)
        views.append(await ada.call("session.get", session=session))
    assert [view["elapsed_ms"] for view in views] == [0, 1_000, 2_000, 3_000, 4_000, 5_000]
    clock.set(60_000)
    for seq, view in enumerate(views):
        assert await ada.call("session.get", session=session, seq=seq) == view
    assert (await ada.call("session.get", session=session))["elapsed_ms"] == 60_000


async def test_time_stands_still_at_the_end(ada: Peer, clock: HandClock) -> None:
    session = (await ada.deal(**LOST.deal))["session"]
    clock.set(5_000)
    seq = await ada.play(session, LOST.line)
    clock.set(9_000)
    assert (await ada.call("session.get", session=session))["elapsed_ms"] == 5_000
    [item] = (await ada.call("session.list"))["sessions"]
    assert item["elapsed_ms"] == 5_000
    assert item["started_at"] == "2026-11-30T09:00:00.000Z"
    assert item["ended_at"] == "2026-11-30T09:00:05.000Z"
    record = await ada.call("session.record", session=session)
    assert (record["elapsed_ms"], record["ended_at"]) == (5_000, "2026-11-30T09:00:05.000Z")
    await ada.call("session.undo", session=session, seq=seq)
    assert (await ada.call("session.get", session=session))["elapsed_ms"] == 9_000
    [item] = (await ada.call("session.list"))["sessions"]
    assert (item["elapsed_ms"], item["ended_at"], item["status"]) == (9_000, None, "playing")


async def test_times_never_decrease_though_the_clock_does(ada: Peer, clock: HandClock) -> None:
    session = (await ada.deal("klondike"))["session"]
    for ms in (500, 200, 0, -7_000, 600):
        clock.set(ms)
        seq = (await ada.call("session.get", session=session))["seq"]
        await ada.call("session.move", session=session, move="draw", seq=seq)
    events = (await ada.call("session.subscribe", session=session, since=0))["events"]
    assert [event["elapsed_ms"] for event in events] == [500, 500, 500, 500, 600]
    assert [event["at"][-4:] for event in events] == ["500Z"] * 4 + ["600Z"]
    clock.set(-9_000)
    assert (await ada.call("session.get", session=session))["elapsed_ms"] == 600
    await ada.call("session.resign", session=session)
    record = await ada.call("session.record", session=session)
    assert (await ada.call("record.verify", record=record))["valid"]


async def test_a_list_is_newest_first_in_pages(player: Peer) -> None:
    made = [(await player.deal("camelot"))["session"] for _ in range(25)]
    first = await player.call("session.list")
    assert len(first["sessions"]) == 20
    newest = (await player.deal("camelot"))["session"]
    second = await player.call("session.list", cursor=first["cursor"])
    assert second["cursor"] is None
    listed = [item["session"] for page in (first, second) for item in page["sessions"]]
    assert listed == made[::-1]
    assert (await player.call("session.list", limit=1))["sessions"][0]["session"] == newest
    assert (await player.call("session.list", limit=100))["cursor"] is None
    exact = await player.call("session.list", limit=26)
    assert (len(exact["sessions"]), exact["cursor"]) == (26, None)


async def test_a_list_tells_the_score_and_moves_of_now(player: Peer, rival: Peer) -> None:
    session = (await player.deal(**WON.deal))["session"]
    line = WON.line[:40]
    seq = await player.play(session, line)
    view = await player.call("session.get", session=session)
    [item] = (await player.call("session.list"))["sessions"]
    assert view["score"] > 0
    assert {key: item[key] for key in ("score", "moves", "status", "game", "variant", "mode")} == {
        key: view[key] for key in ("score", "moves", "status", "game", "variant", "mode")
    }
    await player.call("session.undo", session=session, seq=seq)
    await player.call("session.resign", session=session)
    [item] = (await player.call("session.list"))["sessions"]
    assert (item["moves"], item["status"]) == (len(line) - 1, "resigned")
    assert (await rival.call("session.list"))["sessions"] == []


async def test_a_list_is_filtered(player: Peer) -> None:
    kept = (await player.deal("klondike"))["session"]
    resigned = (await player.deal("plot"))["session"]
    await player.call("session.resign", session=resigned)

    async def listed(**params: object) -> list[str]:
        return [item["session"] for item in (await player.call("session.list", **params))["sessions"]]

    assert await listed() == [resigned, kept]
    assert await listed(status="playing") == [kept]
    assert await listed(status="resigned") == [resigned]
    assert await listed(game="plot") == [resigned]
    assert await listed(mode="casual", game="klondike", status="playing") == [kept]
    assert await listed(mode="daily") == []
    assert await listed(status=None, game=None, mode=None, cursor=None, limit=None) == [resigned, kept]


async def test_a_list_needs_a_token(stranger: Peer) -> None:
    assert await stranger.kind("session.list") == "unauthenticated"
