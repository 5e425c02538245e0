"""Lines from a pipe, read while the loop runs."""

import asyncio
import os

from clients.terminal.lines import Lines


async def test_lines_and_the_end() -> None:
    reading, writing = os.pipe()
    lines = Lines(reading)
    waiting = asyncio.create_task(lines.next())
    os.write(writing, "draw\n\nt1-t2\npiqué".encode())
    assert await waiting == "draw"
    assert await lines.next() == ""
    assert await lines.next() == "t1-t2"
    os.close(writing)
    assert await lines.next() == "piqué"
    assert await lines.next() is None
    assert await lines.next() is None
    os.close(reading)


async def test_an_endless_line_is_cut() -> None:
    reading, writing = os.pipe()
    lines = Lines(reading)
    flood = asyncio.create_task(asyncio.to_thread(os.write, writing, b"x" * 100_000))
    first = await lines.next()
    assert first is not None
    assert 65_536 <= len(first) < 100_000
    await flood
    os.close(writing)
    rest = await lines.next()
    assert rest is not None
    assert len(first) + len(rest) == 100_000
    os.close(reading)
