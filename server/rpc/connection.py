"""One WebSocket as the server sees it: what waits to be sent, who it acts for, how it ends.

Nothing here reads: the endpoint in `socket.py` does, and whoever answers or notifies only puts texts into the
outbox, which a task of its own sends. A client that does not read thus holds up nobody.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Final

import structlog
from starlette.types import Send

from server.config import Limits
from server.rpc.caller import Caller
from server.rpc.messages import notification

UNSUPPORTED: Final = 1003
RESTART: Final = 1012
TRY_AGAIN: Final = 1013

CLOSE_SECONDS: Final = 5.0
"""How long a client may take to read the close frame before its connection is cut."""

_CLOSING: Final = notification("server.closing", {})

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class Connection:
    """One open WebSocket.

    Everything but `run`, `finish` and the waits is synchronous, never blocks, and may be called after the end,
    when it does nothing.
    """

    __slots__ = (
        "_abort",
        "_callbacks",
        "_closing",
        "_ended",
        "_held",
        "_limits",
        "_moved",
        "_outbox",
        "_send",
        "_size",
        "_tasks",
        "_wake",
        "_writer",
        "address",
        "caller",
        "pending",
    )

    def __init__(
        self, send: Send, limits: Limits, *, address: str, caller: Caller | None, abort: Callable[[], None]
    ) -> None:
        """Take an accepted WebSocket: `send` is ASGI's, `abort` cuts it without a word.

        Must be made in the event loop; starts the task that sends.
        """
        self.address = address
        """The client's address as text, "" if unknown."""
        self.caller = caller
        """Whom the connection acts for."""
        self.pending = 0
        """Calls that have begun and are not answered."""
        self._send = send
        self._limits = limits
        self._abort = abort
        self._outbox: deque[str] = deque()
        self._size = 0
        self._held: list[str] | None = None
        self._closing: tuple[int, str] | None = None
        self._ended = False
        self._wake: asyncio.Future[None] | None = None
        self._moved: asyncio.Event | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._writer = asyncio.create_task(self._write())

    @property
    def closing(self) -> bool:
        """Whether no more is to be read."""
        return self._closing is not None

    @property
    def busy(self) -> bool:
        """Whether so much is unanswered or unsent that reading should wait for `room`."""
        return self.pending + len(self._outbox) >= self._limits.pending_calls

    def notify(self, encoded: str | bytes) -> None:
        """Send an encoded notification after everything that was put before it.

        While a batch is under way it is kept until the batch is answered.
        """
        text = encoded if isinstance(encoded, str) else encoded.decode()
        if self._held is None:
            self.send(text)
        elif not self.closing:
            self._held.append(text)
            self._count(text)

    def reply(self, text: str | None) -> None:
        """End one pending call, with an answer or, for a notification, without."""
        self.pending -= 1
        if self._moved is not None:
            self._progress()
        if text is not None:
            self.send(text)

    def send(self, text: str) -> None:
        """Put a text into the outbox. If too much waits there already, close with 1013 instead."""
        if self._closing is not None:
            return
        self._outbox.append(text)
        self._count(text)
        if self._wake is not None:
            self._wake.set_result(None)
            self._wake = None

    def hold(self) -> None:
        """Keep notifications back from here on."""
        self._held = []

    def release(self) -> None:
        """Send the notifications that were kept back."""
        held, self._held = self._held or (), None
        if not self.closing:
            self._outbox.extend(held)
            self._rouse()

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run `work` as a task that is cancelled when the connection ends."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when the connection has ended or, if it has already, now."""
        if self._ended:
            callback()
        else:
            self._callbacks.append(callback)

    def close(self, code: int, reason: str = "") -> None:
        """Close with `code` after what waits; the first call decides. Nothing is read or taken from here on."""
        if self._closing is None:
            self._closing = (code, reason)
            self._rouse()
            self._progress()

    async def drain(self, seconds: float) -> None:
        """Part with the client because the server stops; at the latest after `seconds`, plus those of the close.

        Calls under way are answered first, then `server.closing` is sent, then the close with 1012.
        """
        try:
            async with asyncio.timeout(seconds):
                while self.pending and not self.closing:
                    await self._change()
        except TimeoutError:
            _log.warning("calls unanswered at the stop", pending=self.pending)
        self.send(_CLOSING)
        self.close(RESTART, "the server stops")
        await asyncio.wait((self._writer,), timeout=CLOSE_SECONDS)

    async def room(self) -> None:
        """Wait until the connection is no longer busy or is closing. That ends since every call has a time limit."""
        while self.busy and not self.closing:
            await self._change()

    async def finish(self) -> None:
        """Give a close that was asked for its time, then end everything that belongs to the connection."""
        if self.closing:
            await asyncio.wait((self._writer,), timeout=CLOSE_SECONDS)
        self.close(RESTART)
        self._ended = True
        tasks = (self._writer, *self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for callback in self._callbacks:
            try:
                callback()
            except Exception:
                _log.exception("a callback at the end of a connection failed")
        self._callbacks.clear()

    async def _write(self) -> None:
        """Send the outbox as it fills, then the close."""
        outbox = self._outbox
        loop = asyncio.get_running_loop()
        try:
            while True:
                while outbox:
                    text = outbox.popleft()
                    self._size -= len(text)
                    await self._send({"type": "websocket.send", "text": text})
                if self._moved is not None:
                    self._progress()
                if self._closing is not None:
                    code, reason = self._closing
                    await self._send({"type": "websocket.close", "code": code, "reason": reason})
                    return
                self._wake = loop.create_future()
                await self._wake
        except (OSError, RuntimeError):
            # The client has gone (OSError), or the server beneath has sent a close frame by itself (RuntimeError).
            # Either way the reader is told, and nothing can be sent any more.
            self.close(RESTART)

    def _count(self, text: str) -> None:
        """Count a text that waits, in characters; close if the limits are passed."""
        self._size += len(text)
        limits = self._limits
        if self._size > limits.outbox_bytes or len(self._outbox) > limits.outbox_messages:
            self._overflow()

    def _overflow(self) -> None:
        """Give up on a client that does not read: forget what waits, and cut it off if it takes no close frame."""
        self._outbox.clear()
        self._held = None
        self._size = 0
        self.close(TRY_AGAIN, "too much waits to be read")
        asyncio.get_running_loop().call_later(CLOSE_SECONDS, self._cut)

    def _cut(self) -> None:
        if not self._ended:
            self._abort()

    def _rouse(self) -> None:
        if self._wake is not None:
            self._wake.set_result(None)
            self._wake = None

    def _progress(self) -> None:
        if self._moved is not None:
            self._moved.set()
            self._moved = None

    async def _change(self) -> None:
        """Wait until a call is answered, the outbox is empty, or the connection closes."""
        self._moved = self._moved or asyncio.Event()
        await self._moved.wait()
