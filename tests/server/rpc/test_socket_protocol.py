"""Our protocol beside uvicorn's own: whatever a client sends, and in whatever pieces, both say the same."""

import asyncio
import contextlib
import itertools
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import uvicorn
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Close, Frame, Opcode

from server.rpc.socket_protocol import SHORTCUT, Shortcut, SocketProtocol

_SECONDS: Final = 30
_MOST: Final = 70_000
"""Bytes of a message above which it is refused."""

_HANDSHAKE: Final = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_BYE: Final = Frame(Opcode.CLOSE, Close(1000, "").serialize()).serialize(mask=True)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Say everything back, texts by the short way where there is one."""
    await receive()
    await send({"type": "websocket.accept"})
    shortcut: Shortcut | None = scope["extensions"].get(SHORTCUT)

    def take(text: str) -> Mapping[str, Any] | None:
        assert shortcut is not None
        return None if shortcut.write(text) else {"type": "websocket.receive", "text": text}

    while True:
        if shortcut is not None:
            shortcut.take = take
        event = await receive()
        if shortcut is not None:
            shortcut.take = None
        if event["type"] == "websocket.disconnect":
            return
        await send({**event, "type": "websocket.send"})


@asynccontextmanager
async def served(protocol: type[WebSocketsSansIOProtocol]) -> AsyncGenerator[int]:
    """Serve the echo and give its port."""
    config = uvicorn.Config(
        echo,
        ws=protocol,
        ws_max_size=_MOST,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        log_level="critical",
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


@dataclass
class Said:
    """What a server has said: answers, pongs and the code of its close."""

    echoes: list[tuple[Opcode, bytes]] = field(default_factory=list[tuple[Opcode, bytes]])
    pongs: list[bytes] = field(default_factory=list[bytes])
    code: bytes | None = None

    def take(self, data: bytes) -> bytes:
        """Take whole frames and return what is left over."""
        while len(data) >= 2:
            opcode, size, at = Opcode(data[0] & 15), data[1], 2
            if size >= 126:
                at += 2 if size == 126 else 8
                size = int.from_bytes(data[2:at], "big")
            if len(data) < at + size:
                break
            payload, data = data[at : at + size], data[at + size :]
            if opcode is Opcode.CLOSE:
                self.code = payload[:2]
            elif opcode is Opcode.PONG:
                self.pongs.append(payload)
            else:
                self.echoes.append((opcode, payload))
        return data


async def say(port: int, pieces: list[bytes], echoes: int | None) -> Said:
    """Send bytes piece by piece after a handshake, and say goodbye; return all that comes back.

    Goodbye is said after so many echoes, or at once.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said, rest = Said(), b""
    try:
        async with asyncio.timeout(_SECONDS):
            writer.write(_HANDSHAKE)
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0)
            while echoes is not None and len(said.echoes) < echoes:
                rest = said.take(rest + await reader.read(65_536))
            writer.write(_BYE)
            with contextlib.suppress(ConnectionError):
                while data := await reader.read(65_536):
                    rest = said.take(rest + data)
    finally:
        writer.transport.abort()
    return said


class Sent(bytes):
    """Bytes that are told apart by their beginning alone, where a test shows them."""

    def __repr__(self) -> str:
        return f"{bytes(self[:40])!r} ({len(self)} bytes)"


def framed(opcode: Opcode, payload: bytes, *, fin: bool = True, mask: bool = True) -> bytes:
    """Return a client's frame."""
    return Sent(Frame(opcode, payload, fin).serialize(mask=mask))


_texts = st.text(max_size=200).map(str.encode) | st.sampled_from([b"", b"x" * 126, b"y" * 66_000])
_frames = st.one_of(
    _texts.map(lambda text: framed(Opcode.TEXT, text)),
    _texts.map(lambda text: framed(Opcode.TEXT, text)),
    st.binary(max_size=60).map(lambda data: framed(Opcode.BINARY, data)),
    st.binary(max_size=60).map(lambda data: framed(Opcode.PING, data)),
    st.binary(max_size=60).map(lambda data: framed(Opcode.PONG, data)),
    st.lists(st.text(max_size=20), min_size=2, max_size=4).map(
        lambda parts: b"".join(  # Small enough to be shown.
            framed(Opcode.CONT if i else Opcode.TEXT, part.encode(), fin=i == len(parts) - 1)
            + (framed(Opcode.PING, b"between") if i == 0 else b"")
            for i, part in enumerate(parts)
        )
    ),
)
_faults = st.sampled_from(
    [
        framed(Opcode.TEXT, b"bare", mask=False),
        framed(Opcode.TEXT, b"z" * (_MOST + 1)),
        framed(Opcode.CONT, b"of nothing"),
        framed(Opcode.TEXT, b"begun", fin=False) + framed(Opcode.TEXT, b"another"),
        b"\x09\x80aaaa",
        b"\x83\x80aaaa",
        b"\xc1\x80aaaa",
        _BYE,
        _BYE + framed(Opcode.TEXT, b"too late"),
    ]
)


_cuts = st.lists(st.integers(0, 400), max_size=8)


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(min(place, len(stream)) for place in cuts), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(places)]


def both(pieces: list[bytes], echoes: int | None) -> tuple[Said, Said]:
    """Say the same to a server with our protocol and to one with uvicorn's."""

    async def talk() -> tuple[Said, Said]:
        async with served(SocketProtocol) as ours, served(WebSocketsSansIOProtocol) as theirs:
            return await say(ours, pieces, echoes), await say(theirs, pieces, echoes)

    return asyncio.run(talk())


@given(frames=st.lists(_frames, max_size=8), cuts=_cuts)
@example([framed(Opcode.TEXT, b"\r\n\r\n")], [1, 5, 6, 7])
@settings(max_examples=30, deadline=None)
def test_what_is_right_is_answered_alike(frames: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(frames)
    data = sum(frame[0] & 15 in {Opcode.TEXT, Opcode.BINARY} for frame in frames)
    ours, theirs = both(cut(stream, cuts), data)
    assert ours == theirs
    assert len(ours.echoes) == data


@given(frames=st.lists(_frames, max_size=4), fault=_faults, more=st.lists(_frames, max_size=2), cuts=_cuts)
@settings(max_examples=40, deadline=None)
def test_what_is_wrong_ends_alike(
    frames: list[bytes], fault: bytes, more: list[bytes], cuts: list[int]
) -> None:
    ours, theirs = both(cut(b"".join([*frames, fault, *more]), cuts), None)
    assert ours.code is not None
    if theirs.code is not None:
        # uvicorn's ends the connection while more is on its way, which may lose what it has said.
        assert ours.code == theirs.code
        assert ours.pongs == theirs.pongs
    # The end overtakes what waits in a queue, and here less does.
    fewer, most = sorted((ours.echoes, theirs.echoes), key=len)
    assert most[: len(fewer)] == fewer
    assert len(most) <= len(frames)
