"""A WebSocket client that costs so little that the server is what is measured.

It speaks just enough of the protocol for a closed loop: one text frame out, one text frame in.
"""

import asyncio
import base64
import os
import time
from array import array
from collections.abc import Callable
from typing import Protocol, cast

_KEY = b"\x5a\xc3\x1e\x77"


class Partner(Protocol):
    """What one connection says: the next message, given the last answer (empty at first)."""

    headers: str
    """Lines to be added to the handshake."""

    def next(self, answer: bytes) -> bytes:
        """Return the next message to send."""
        ...


def frame(payload: bytes) -> bytes:
    """Return a masked text frame."""
    size = len(payload)
    if size < 126:
        head = bytes((0x81, 0x80 | size))
    elif size < 65536:
        head = bytes((0x81, 0xFE)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x81, 0xFF)) + size.to_bytes(8, "big")
    mask = (_KEY * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "little") ^ int.from_bytes(mask, "little")
    return head + _KEY + masked.to_bytes(size, "little")


class Loop(asyncio.Protocol):
    """One connection in a closed loop: it sends the next message as soon as the last one is answered."""

    def __init__(self, host: str, path: str, partner: Partner, latencies: "array[float]") -> None:
        """Talk for ``partner``; answers' latencies in seconds are added to ``latencies``."""
        self._host, self._path, self._partner, self._latencies = host, path, partner, latencies
        self._buffer = b""
        self._open = False
        self._sent = 0.0
        self.measuring = False
        self.stopped = False
        self.failed: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for a WebSocket."""
        self._transport = cast("asyncio.Transport", transport)
        key = base64.b64encode(os.urandom(16)).decode()
        self._transport.write(
            f"GET {self._path} HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"{self._partner.headers}\r\n".encode()
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Note a connection that ended before its time."""
        if not self.stopped:
            self.failed = f"connection lost: {exc}"

    def data_received(self, data: bytes) -> None:
        """Take frames apart and answer each."""
        data = self._buffer + data
        if not self._open:
            head, found, data = data.partition(b"\r\n\r\n")
            if not found:
                self._buffer = head
                return
            if b" 101 " not in head[:20]:
                self.failed = head[:80].decode("latin-1")
                return
            self._open = True
            self._say(b"")
        at = 0
        while len(data) - at >= 2:
            size, start = data[at + 1], at + 2
            if size == 126:
                size, start = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
            elif size == 127:
                size, start = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
            if len(data) < start + size:
                break
            opcode, at = data[at] & 15, start + size
            if opcode == 1:
                if self.measuring:
                    self._latencies.append(time.perf_counter() - self._sent)
                self._say(data[start:at])
            elif opcode == 9:
                self._transport.write(b"\x8a\x80" + _KEY)
        self._buffer = data[at:]

    def _say(self, answer: bytes) -> None:
        if self.stopped:
            return
        message = self._partner.next(answer)
        self._sent = time.perf_counter()
        self._transport.write(frame(message))

    def stop(self) -> None:
        """Say no more and hang up."""
        self.stopped = True
        self._transport.abort()


async def run(
    host: str,
    port: int,
    path: str,
    partners: "list[Partner]",
    warm: float,
    seconds: float,
    mark: Callable[[], None],
) -> tuple["array[float]", float, list[str]]:
    """Let all partners talk at once and return latencies, the seconds measured, and what went wrong.

    ``mark`` is called at the beginning and at the end of what is measured.
    """
    latencies: array[float] = array("d")
    loop = asyncio.get_running_loop()
    loops: list[Loop] = []

    def make(partner: Partner) -> Callable[[], Loop]:
        return lambda: Loop(f"{host}:{port}", path, partner, latencies)

    for begin in range(0, len(partners), 50):
        made = [loop.create_connection(make(partner), host, port) for partner in partners[begin : begin + 50]]
        loops += [protocol for _, protocol in await asyncio.gather(*made)]
    await asyncio.sleep(warm)
    for one in loops:
        one.measuring = True
    mark()
    started = time.perf_counter()
    await asyncio.sleep(seconds)
    took = time.perf_counter() - started
    mark()
    for one in loops:
        one.stop()
    return latencies, took, [one.failed for one in loops if one.failed]
