"""A watcher's queue: order, its end, its bound."""

import asyncio

import pytest

from clients.python import ConnectionLost, Event, Lagged
from clients.python.watch import EVENTS, Watch


def event(seq: int) -> Event:
    return Event("s", seq, "move", "draw", "00000000", ())


async def test_gives_events_in_order_then_ends() -> None:
    watch = Watch()
    reading = asyncio.create_task(_seqs(watch))
    for seq in range(1, 4):
        watch.put(event(seq))
    watch.end()
    watch.put(event(4))
    assert await reading == [1, 2, 3]
    assert await _seqs(watch) == []


async def test_raises_why_it_ended_after_what_came_before() -> None:
    watch = Watch()
    watch.put(event(1))
    watch.end(ConnectionLost("gone"))
    watch.end()
    assert (await anext(watch)).seq == 1
    with pytest.raises(ConnectionLost):
        await anext(watch)


async def test_gives_up_on_a_reader_who_does_not_read() -> None:
    watch = Watch()
    for seq in range(1, EVENTS + 10):
        watch.put(event(seq))
    for seq in range(1, EVENTS + 1):
        assert (await anext(watch)).seq == seq
    with pytest.raises(Lagged):
        await anext(watch)


async def _seqs(watch: Watch) -> list[int]:
    return [event.seq async for event in watch]
