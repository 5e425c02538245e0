"""Connections that are left in every state in which one can be left, and in every way.

A stray is a bare socket. It says what brings it into its state, reads no more than it must for that, and then
ends with a FIN, ends with a reset, or stays as it is without ever reading again.
"""

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Self, TypeAlias

from websockets.frames import Frame, Opcode

_SECONDS: Final = 30.0
_RESET: Final = struct.pack("ii", 1, 0)
_SMALL: Final = 4_096
_ESTABLISHED: Final = 1
"""The state of a TCP connection of which no end has been heard."""

_HANDSHAKE: Final = (
    b"GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Ending(Enum):
    """How a stray is left."""

    FIN = "fin"
    RESET = "reset"
    STAYS = "stays"


@dataclass(frozen=True, slots=True)
class Ground:
    """What strays need of a server."""

    port: int
    token: str
    """Of a guest."""
    session: str
    """Of theirs, and public."""
    record: str
    """A record as JSON, which takes a while to be judged."""


class Stray:
    """One socket."""

    def __init__(self) -> None:
        self.name = ""
        """The state and how it was left."""
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
        self.socket.setblocking(False)
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def connected(cls, ground: Ground) -> Self:
        """Return one that is connected."""
        stray = cls()
        await stray._loop.sock_connect(stray.socket, ("127.0.0.1", ground.port))
        return stray

    async def say(self, data: bytes) -> None:
        """Send bytes."""
        await self._loop.sock_sendall(self.socket, data)

    async def hear(self, what: bytes) -> None:
        """Read until something has come."""
        heard = b""
        while what not in heard:
            data = await self._loop.sock_recv(self.socket, 65_536)
            assert data, heard
            heard += data

    async def shake_hands(self) -> None:
        """Become a WebSocket."""
        await self.say(_HANDSHAKE)
        await self.hear(b"\r\n\r\n")

    async def call(self, method: str, /, **params: object) -> None:
        """Send a call."""
        await self.say(frame(call(method, **params)))

    async def ask(self, method: str, /, **params: object) -> None:
        """Make a call that is answered."""
        await self.call(method, **params)
        await self.hear(b'"result":')

    @property
    def held(self) -> bool:
        """Whether it stays, and has not heard of an end."""
        if self.socket.fileno() < 0:
            return False
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED

    def leave(self, ending: Ending) -> None:
        """End, or stay."""
        if ending is Ending.RESET:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if ending is not Ending.STAYS:
            self.socket.close()


def call(method: str, /, **params: object) -> str:
    """Return a call as JSON."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def frame(text: str) -> bytes:
    """Return a text as a frame."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=True)


def post(body: str, length: int | None = None) -> bytes:
    """Return an HTTP request."""
    length = len(body) if length is None else length
    head = (
        f"POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
    return (head + body).encode()


State: TypeAlias = Callable[[Stray, Ground], Awaitable[None]]


async def _nothing(_stray: Stray, _ground: Ground) -> None:
    """Only the TCP connection."""


async def _half_a_handshake(stray: Stray, _ground: Ground) -> None:
    await stray.say(_HANDSHAKE[:40])


async def _handshake(stray: Stray, _ground: Ground) -> None:
    await stray.shake_hands()


async def _handshake_unread(stray: Stray, _ground: Ground) -> None:
    await stray.say(_HANDSHAKE)


async def _authenticated(stray: Stray, ground: Ground) -> None:
    await stray.shake_hands()
    await stray.ask("auth.use", token=ground.token)


async def _subscribed(stray: Stray, ground: Ground) -> None:
    await _authenticated(stray, ground)
    await stray.ask("session.subscribe", session=ground.session)


async def _half_a_frame(stray: Stray, ground: Ground) -> None:
    await _subscribed(stray, ground)
    await stray.say(frame(call("server.info", padding="." * 500))[:300])


async def _half_a_message(stray: Stray, ground: Ground) -> None:
    await _subscribed(stray, ground)
    await stray.say(Frame(Opcode.TEXT, b'{"jsonrpc":', fin=False).serialize(mask=True))


async def _under_way(stray: Stray, ground: Ground) -> None:
    await _subscribed(stray, ground)
    await stray.call("session.create", game="klondike", request_id="stray")
    await stray.say(frame(f'{{"jsonrpc":"2.0","id":1,"method":"record.verify","params":[{ground.record}]}}'))


async def _unread(stray: Stray, ground: Ground) -> None:
    """More answers than all buffers take and wait for being sent, so that nothing more is read either."""
    await _subscribed(stray, ground)
    await stray.say(frame(call("rpc.discover")) * 150)


async def _closing(stray: Stray, ground: Ground) -> None:
    """A close of the client's, whose answer is not read."""
    await _subscribed(stray, ground)
    await stray.say(Frame(Opcode.CLOSE, b"\x03\xe8").serialize(mask=True))


async def _closing_unread(stray: Stray, ground: Ground) -> None:
    """The same behind answers that are not read, and are few enough for the close to be."""
    await _subscribed(stray, ground)
    await stray.say(frame(call("rpc.discover")) * 30)
    await stray.say(Frame(Opcode.CLOSE, b"\x03\xe8").serialize(mask=True))


async def _closed(stray: Stray, ground: Ground) -> None:
    """A close of the server's, which is not read."""
    await _subscribed(stray, ground)
    await stray.say(Frame(Opcode.BINARY, b"no text").serialize(mask=True))


async def _http_idle(stray: Stray, _ground: Ground) -> None:
    await stray.say(post(call("server.info")))
    await stray.hear(b'"result":')


async def _http_half_a_body(stray: Stray, _ground: Ground) -> None:
    await stray.say(post('{"jsonrpc":', 1_000))


async def _http_under_way(stray: Stray, ground: Ground) -> None:
    await stray.say(post(f'{{"jsonrpc":"2.0","id":1,"method":"record.verify","params":[{ground.record}]}}'))


async def _http_unread(stray: Stray, _ground: Ground) -> None:
    """More answers than all buffers take."""
    await stray.say(post(f"[{','.join([call('rpc.discover')] * 32)}]") * 2)


STATES: Final[tuple[State, ...]] = (
    _nothing,
    _half_a_handshake,
    _handshake,
    _handshake_unread,
    _authenticated,
    _subscribed,
    _half_a_frame,
    _half_a_message,
    _under_way,
    _unread,
    _closing,
    _closing_unread,
    _closed,
    _http_idle,
    _http_half_a_body,
    _http_under_way,
    _http_unread,
)


async def stray(state: State, ending: Ending, ground: Ground) -> Stray:
    """Leave one connection in a state."""
    one = await Stray.connected(ground)
    async with asyncio.timeout(_SECONDS):
        await state(one, ground)
    one.name = f"{state.__name__.strip('_')}, {ending.value}"
    one.leave(ending)
    return one
