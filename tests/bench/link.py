"""A WebSocket that makes calls and costs little, so that the server is what is measured."""

import asyncio
import base64
import os
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Self, TypeAlias, cast

import msgspec

from tests.bench.place import Place
from tests.bench.tally import Tally
from tests.bench.wire import frame

SECONDS: Final = 30.0
"""How long a connection and an answer may take."""

ABNORMAL: Final = 1006
"""The code of a connection that ended without a close frame."""

Hear: TypeAlias = Callable[[str, Any, float], None]
"""Takes a notification: its method, its params, and when it came by the clock of `time.perf_counter`."""

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class Unreachable(Exception):
    """There is no WebSocket at that place; the text says what there is instead."""


class Lost(Exception):
    """The connection has ended."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the connection was closed with {code}")
        self.code = code


class Refused(Exception):
    """A call was answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error)
        self.data: Mapping[str, Any] = error.get("data") or {}
        self.kind: str = self.data.get("kind") or str(error.get("code"))
        self.message: str = error.get("message", "")


class _Message(msgspec.Struct):
    """Whatever a server sends."""

    id: int | None = None
    result: Any = None
    error: dict[str, Any] | None = None
    method: str = ""
    params: Any = None


def _reason(error: OSError) -> str:
    """Say in a few words why there is no connection; asyncio's own words are long."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


_decode: Final = msgspec.json.Decoder(_Message).decode
_encode: Final = msgspec.json.Encoder().encode


class Link(asyncio.Protocol):
    """One connection; any number of calls may be under way."""

    def __init__(self, place: Place, token: str | None, tally: Tally, hear: Hear | None) -> None:
        """Be about to connect; use `open`."""
        self._place, self._token, self._tally, self._hear = place, token, tally, hear
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[int] = loop.create_future()
        """Is done once the connection has ended, with the close code."""
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[int, tuple[str, float, asyncio.Future[Any]]] = {}
        self._batch: asyncio.Future[list[dict[str, Any]]] | None = None
        self._last = 0
        self._code = ABNORMAL
        self._buffer: bytes = b""
        self._parts: bytes = b""
        self._begun = False

    @classmethod
    async def open(
        cls,
        place: Place,
        token: str | None = None,
        tally: Tally | None = None,
        hear: Hear | None = None,
        source: str | None = None,
    ) -> Self:
        """Connect.

        Args:
            place: where to.
            token: whom to act for, if for anybody.
            tally: counts the calls.
            hear: is told of notifications.
            source: the address of this machine to connect from, if it matters.

        Raises:
            Unreachable: there is no WebSocket to be had.
        """
        loop = asyncio.get_running_loop()
        link = cls(place, token, tally or Tally(), hear)
        local = (source, 0) if source else None
        try:
            async with asyncio.timeout(SECONDS):
                await loop.create_connection(
                    lambda: link, place.host, place.port, ssl=place.tls, local_addr=local
                )
                await link._opened
        except TimeoutError:
            link.abort()
            raise Unreachable(f"no answer within {SECONDS:.0f} s") from None
        except ssl.SSLError as error:
            raise Unreachable(f"TLS failed: {error.reason or error}") from None
        except OSError as error:
            raise Unreachable(_reason(error)) from None
        return link

    async def call(self, method: str, params: Mapping[str, object], since: float | None = None) -> Any:
        """Make a call and return its result.

        Args:
            method: the method.
            params: its params.
            since: the moment from which the time counts that it takes; None for now.

        Raises:
            Refused: it was answered with an error.
            Lost: the connection ended before the answer.
        """
        if self.closed.done():
            raise Lost(self.closed.result())
        self._last += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._last] = method, time.perf_counter() if since is None else since, future
        self._tally.sent[method] += 1
        self.send(_encode({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}))
        try:
            async with asyncio.timeout(SECONDS):
                return await future
        except TimeoutError:
            self._tally.error(method, "timeout")
            self.abort()
            raise Lost(ABNORMAL) from None

    async def batch(self, text: bytes) -> list[dict[str, Any]]:
        """Send a batch, of which there may be one under way, and return the answers; it is not counted.

        Raises:
            Lost: the connection ended before the answers.
        """
        self._batch = asyncio.get_running_loop().create_future()
        self.send(text)
        try:
            async with asyncio.timeout(SECONDS):
                return await self._batch
        except TimeoutError:
            raise Lost(ABNORMAL) from None

    def send(self, text: bytes) -> None:
        """Send a text of one's own."""
        self._write(frame(text))

    def _write(self, data: bytes) -> None:
        """Send bytes; once the connection has ended they go nowhere."""
        if self._transport is not None:
            self._transport.write(data)

    def abort(self) -> None:
        """Cut the connection without a word, if there is one."""
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """Part with the server."""
        if not self.closed.done():
            self._write(b"\x88\x82\x00\x00\x00\x00\x03\xe8")
            await asyncio.wait((self.closed,), timeout=1.0)
            self.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for a WebSocket."""
        self._transport = cast("asyncio.Transport", transport)
        key = base64.b64encode(os.urandom(16)).decode()
        token = f"Authorization: Bearer {self._token}\r\n" if self._token else ""
        self._write(
            f"GET {self._place.path} HTTP/1.1\r\nHost: {self._place.authority}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"{token}\r\n".encode()
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Let everybody know who waits."""
        if not self._opened.done():
            self._opened.set_exception(Unreachable("the connection was closed before it was a WebSocket"))
        if not self.closed.done():
            self.closed.set_result(self._code)
        for method, _, future in self._waiting.values():
            if not future.done():
                self._tally.error(method, "lost")
                future.set_exception(Lost(self._code))
        self._waiting.clear()
        if self._batch is not None:
            self._batch.set_exception(Lost(self._code))

    def data_received(self, data: bytes) -> None:
        """Take frames apart."""
        now = time.perf_counter()
        data = self._buffer + data
        if not self._begun:
            head, found, rest = data.partition(b"\r\n\r\n")
            if not found:
                self._buffer = data
                return
            self._begun = True
            if not self._begin(head):
                return
            data = rest
        at = 0
        while len(data) - at >= 2:
            size, start = data[at + 1], at + 2
            if size == 126:
                size, start = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
            elif size == 127:
                size, start = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
            if len(data) < start + size:
                break
            first, at = data[at], start + size
            self._take(first & 15, data[start:at], final=first >= 0x80, now=now)
        self._buffer = data[at:]

    def _begin(self, head: bytes) -> bool:
        """Look at the answer to the handshake, and tell whether this is a WebSocket now."""
        status = head.split(b"\r\n", 1)[0].decode("latin-1")
        if self._opened.done():
            return False
        if status.split(" ")[1:2] == ["101"]:
            self._opened.set_result(None)
            return True
        self._opened.set_exception(Unreachable(f"it answered {status[:60]!r} instead of a WebSocket"))
        self.abort()
        return False

    def _take(self, opcode: int, payload: bytes, *, final: bool, now: float) -> None:
        if opcode in (0, _TEXT):
            if self._parts or not final:
                payload = self._parts = self._parts + payload
            if final:
                self._parts = b""
                self._read(payload, now)
        elif opcode == _PING:
            self._write(bytes((0x80 | _PONG,)) + frame(payload)[1:])
        elif opcode == _CLOSE:
            self._code = int.from_bytes(payload[:2], "big") if payload else 1005
            self._write(b"\x88\x80\x00\x00\x00\x00")
            if self._transport is not None:
                self._transport.close()

    def _read(self, text: bytes, now: float) -> None:
        """Take an answer or a notification."""
        try:
            if text[:1] == b"[" and self._batch is not None:
                self._batch.set_result(msgspec.json.decode(text))
                self._batch = None
                return
            message = _decode(text)
        except msgspec.DecodeError:
            self._tally.error("", "garbled")
            self.abort()
            return
        if message.method:
            if self._hear is not None:
                self._hear(message.method, message.params, now)
            return
        waiting = self._waiting.pop(message.id or 0, None)
        if waiting is None:
            return
        method, since, future = waiting
        if message.error is None:
            self._tally.result(method, now - since)
            if not future.done():
                future.set_result(message.result)
        else:
            refused = Refused(message.error)
            self._tally.error(method, refused.kind)
            if not future.done():
                future.set_exception(refused)
