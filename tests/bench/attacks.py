"""What hostile clients do, each kind as a few lines of data: `python -m tests.bench.hostile` runs them.

    python -m tests.bench.attacks KIND < MEANS

It runs until it is told to stop, at the lowest priority there is, and comes back whenever it is thrown out.
"""

import asyncio
import base64
import contextlib
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import uvloop

from tests.bench.wire import frame

_PAUSE: Final = 0.02
"""Seconds until a connection that was thrown out comes back."""
_BAD_TOKEN: Final = "pa_" + 43 * "x"
_KEY: Final = base64.b64encode(16 * b"k").decode()


@dataclass(frozen=True)
class Means:
    """What a hostile client has got: a guest's token, and sessions as long as they can be."""

    port: int
    address: str
    """Where it comes from, one of this machine's own."""
    token: str
    going: list[str]
    """Sessions of 5,000 events that go on."""
    record: dict[str, Any]
    """The record of one that has ended, with as many."""
    length: int
    """How many events each of them has."""


Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Work: TypeAlias = Callable[[Means], Awaitable[None]]


def call(method: str, **params: object) -> str:
    """Return the text of a call."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def batch(*calls: str) -> str:
    """Return 32 of some calls as one message."""
    return f"[{','.join((calls * 32)[:32])}]"


def handshake(token: str | None) -> bytes:
    """Return the request for a WebSocket."""
    acting = f"Authorization: Bearer {token}\r\n" if token else ""
    return (
        f"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {_KEY}\r\nSec-WebSocket-Version: 13\r\n{acting}\r\n"
    ).encode()


def post(body: str, token: str | None = None) -> bytes:
    """Return a call over HTTP."""
    acting = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"POST /rpc HTTP/1.1\r\nHost: x\r\n{acting}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def control(opcode: int, payload: bytes, *, fin: bool = True) -> bytes:
    """Return a masked frame of any kind, its mask all zeros."""
    return bytes((0x80 * fin | opcode, 0x80 | len(payload))) + bytes(4) + payload


async def connect(means: Means) -> Streams:
    """Connect."""
    return await asyncio.open_connection("127.0.0.1", means.port, local_addr=(means.address, 0))


async def upgrade(means: Means, token: str | None) -> Streams:
    """Open a WebSocket."""
    reader, writer = await connect(means)
    writer.write(handshake(token))
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def again(work: Callable[[], Awaitable[None]]) -> None:
    """Do something again and again, whatever becomes of it."""
    while True:
        with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            await work()
        await asyncio.sleep(_PAUSE)


async def many(number: int, work: Callable[[], Awaitable[None]]) -> None:
    """Do that so many times at once."""
    await asyncio.gather(*(again(work) for _ in range(number)))


async def swallow(reader: asyncio.StreamReader) -> None:
    """Read until the end."""
    while await reader.read(1 << 18):
        pass


async def shout(streams: Streams, words: bytes, *, reads: bool) -> None:
    """Send the same words as fast as they are taken, and read the answers or let them be."""
    reader, writer = streams
    reading = asyncio.create_task(swallow(reader)) if reads else None
    if not reads:
        # The stream would read ahead by itself.
        cast("asyncio.Transport", writer.transport).pause_reading()
    try:
        while reading is None or not reading.done():
            writer.write(words)
            await writer.drain()
    finally:
        if reading is not None:
            reading.cancel()
        writer.transport.abort()


def flood(
    words: Callable[[Means], bytes], *, connections: int = 8, acting: bool = True, reads: bool = True
) -> Work:
    """Shout at WebSockets."""

    async def work(means: Means) -> None:
        said = words(means)

        async def one() -> None:
            await shout(await upgrade(means, means.token if acting else None), said, reads=reads)

        await many(connections, one)

    return work


def http(words: Callable[[Means], bytes], *, connections: int = 8, reads: bool = True) -> Work:
    """Shout at plain connections."""

    async def work(means: Means) -> None:
        said = words(means)

        async def one() -> None:
            await shout(await connect(means), said, reads=reads)

        await many(connections, one)

    return work


def texts(*said: str) -> bytes:
    """Return texts as frames, as many as make some size together."""
    block = b"".join(frame(text.encode()) for text in said)
    return block * max(1, 32_768 // len(block))


async def loris(means: Means) -> None:
    """Ask for 500 WebSockets, a byte at a time."""

    async def one() -> None:
        _, writer = await connect(means)
        for byte in handshake(None):
            writer.write(bytes((byte,)))
            await writer.drain()
            await asyncio.sleep(0.2)

    await many(500, one)


async def deaf_watchers(means: Means) -> None:
    """Watch a busy session of one's own from 200 connections that never read."""
    reader, writer = await upgrade(means, means.token)

    async def ask(method: str, **params: object) -> Any:
        writer.write(frame(call(method, **params).encode()))
        head = await reader.readexactly(2)
        size = head[1]
        if size >= 126:
            size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
        return json.loads(await reader.readexactly(size)).get("result")

    made = None
    while made is None:
        made = await ask("session.create", game="klondike", public=True, options={"passes": 0})
        await asyncio.sleep(_PAUSE)
    session = made["session"]

    async def watch() -> None:
        reader, writer = await upgrade(means, None)
        writer.write(frame(call("session.subscribe", session=session).encode()))
        await reader.read(1)
        cast("asyncio.Transport", writer.transport).pause_reading()
        await asyncio.sleep(60)

    async def play() -> None:
        seq = 0
        while True:
            legal = made["legal"] if seq == 0 else ["draw", "redeal"]
            for move in legal:
                changed = await ask("session.move", session=session, move=move, seq=seq)
                if changed:
                    seq = changed["seq"]
                    break

    await asyncio.gather(many(200, watch), play())


async def crowd(means: Means) -> None:
    """Open 2,000 connections, and keep them."""

    async def one() -> None:
        reader, _ = await upgrade(means, None)
        await swallow(reader)

    await many(2_000, one)


def comers(request: Callable[[Means], bytes], connections: int = 32) -> Work:
    """Come, ask, and go as soon as there is a word for an answer."""

    async def work(means: Means) -> None:
        said = request(means)

        async def one() -> None:
            while True:
                reader, writer = await connect(means)
                writer.write(said)
                await reader.read(1)
                writer.transport.abort()

        await many(connections, one)

    return work


def _illegal(means: Means) -> bytes:
    return texts(*(call("session.move", session=one, move="t1-t1", seq=means.length) for one in means.going))


def _gets(means: Means) -> list[str]:
    return [call("session.get", session=one, seq=means.length - 1) for one in means.going]


def _subscribes(means: Means) -> list[str]:
    since = max(0, means.length - 1_000)
    return [call("session.subscribe", session=one, since=since) for one in means.going]


def _records(means: Means) -> list[str]:
    return [call("session.record", session=one) for one in means.going]


_CREATE: Final = call("session.create", game="klondike")
_INFO: Final = call("server.info")
_DISCOVER: Final = call("rpc.discover")
_BRACKETS: Final = 65_536 * "["
_STRINGS: Final = "[" + 8_000 * '"\\"",' + "1]"
_OBJECTS: Final = "[" + 5_000 * "{}," + "1]"
_PAGE: Final = b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\n\r\n"

KINDS: Final[dict[str, Work]] = {
    "valid calls": flood(lambda means: texts(_INFO, call("session.get", session=means.going[0]))),
    "valid calls, 200 connections": flood(lambda _: texts(_INFO), connections=200),
    "illegal moves": flood(_illegal),
    "invalid JSON": flood(lambda _: texts('{"jsonrpc":"2.0","id":1,"method":'), acting=False),
    "notifications": flood(lambda _: texts('{"jsonrpc":"2.0","method":"server.info"}'), acting=False),
    "slow-loris handshakes": loris,
    "never reading, watching": deaf_watchers,
    "never reading, asking": flood(lambda _: texts(_DISCOVER), connections=100, reads=False, acting=False),
    "frames of brackets": flood(lambda _: texts(_BRACKETS), acting=False),
    "frames of strings": flood(lambda _: texts(_STRINGS), acting=False),
    "frames of objects": flood(lambda _: texts(_OBJECTS), acting=False),
    "frames of 1 MiB": flood(lambda _: texts((1 << 20) * " "), acting=False),
    "batches of session.create": flood(lambda _: texts(batch(_CREATE))),
    "batches of auth.guest": flood(lambda _: texts(batch(call("auth.guest"))), acting=False),
    "batches of session.list": flood(lambda _: texts(batch(call("session.list", limit=100)))),
    "batches of rpc.discover": flood(lambda _: texts(batch(_DISCOVER)), acting=False),
    "batches of games.describe": flood(
        lambda _: texts(batch(call("games.describe", game="klondike"))), acting=False
    ),
    "batches of session.get at seq": flood(lambda means: texts(batch(*_gets(means)))),
    "batches of session.subscribe since": flood(lambda means: texts(batch(*_subscribes(means)))),
    "batches of session.record": flood(lambda means: texts(batch(*_records(means)))),
    "calls of session.get at seq": flood(lambda means: texts(*_gets(means))),
    "calls of session.record": flood(lambda means: texts(*_records(means))),
    "calls of record.verify": flood(lambda means: texts(call("record.verify", record=means.record))),
    "calls of record.replay": flood(lambda means: texts(call("record.replay", record=means.record))),
    "endless fragments": flood(
        lambda _: control(1, b"x", fin=False) + 8_000 * control(0, b"", fin=False), reads=False
    ),
    "endless pings": flood(lambda _: 500 * control(9, 125 * b"p"), connections=100, reads=False),
    "HTTP calls, pipelined": http(lambda _: 32 * post(_INFO)),
    "HTTP never reading": http(lambda _: _PAGE, connections=200, reads=False),
    "HTTP bodies of 1 MiB": http(lambda _: post((1 << 20) * " ")),
    "HTTP bodies over 1 MiB": http(lambda _: post((15 << 20) * " ")),
    "2,000 connections": crowd,
    "coming and going": comers(lambda _: handshake(None)),
    "bad tokens, handshakes": comers(lambda _: handshake(_BAD_TOKEN)),
    "bad tokens, HTTP": http(lambda _: 32 * post(_INFO, _BAD_TOKEN)),
    "bad tokens, auth.use": flood(lambda _: texts(call("auth.use", token=_BAD_TOKEN)), acting=False),
}


def main() -> None:
    """Be one of them until told to stop."""
    means = Means(**json.load(sys.stdin))
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    async def attack() -> None:
        await KINDS[sys.argv[1]](means)

    with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(attack())


if __name__ == "__main__":
    main()
