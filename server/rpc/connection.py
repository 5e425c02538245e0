"""One WebSocket as the server sees it: what waits to be sent, who it acts for, how it ends.

Nothing here reads: the endpoint in `socket.py` does, and whoever answers or notifies only puts texts into the
outbox, which a task of its own sends. A client that does not read thus holds up nobody.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Final

import structlog
from starlette.types import Send

from server.config import Limits
from server.limits import Meter, Meters
from server.rpc.caller import Caller
from server.rpc.messages import notification

UNSUPPORTED: Final = 1003
RESTART: Final = 1012
TRY_AGAIN: Final = 1013

CLOSE_SECONDS: Final = 5.0
"""How long a client may take to read the close frame before its connection is cut."""

SERVER_CLOSING: Final = notification("server.closing", {})

log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class Connection:
    """One open WebSocket.

    What is not a coroutine never blocks, and may be called after the end, when it does nothing.
    """

    __slots__ = (
        "_abort",
        "_callbacks",
        "_close",
        "_close_seconds",
        "_ended",
        "_limits",
        "_moved",
        "_outbox",
        "_queue",
        "_send",
        "_size",
        "_tasks",
        "_wake",
        "_write_now",
        "_writer",
        "accepting",
        "address",
        "caller",
        "meter",
        "pending",
    )

    def __init__(
        self,
        send: Send,
        limits: Limits,
        *,
        address: str,
        caller: Caller | None,
        abort: Callable[[], None],
        write: Callable[[str], bool] | None = None,
        meter: Meter | None = None,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        """Take an accepted WebSocket: `send` is ASGI's, `abort` cuts it without a word.

        `write`, if there is one, sends a text at once or tells that it can't. Without a `meter` its messages
        count by themselves, whoever sends them.

        Must be made in the event loop, where it starts the task that sends; in the end await `finish`.
        """
        self.address = address
        """The client's address as text, "" if unknown."""
        self.caller = caller
        """Whom the connection acts for."""
        self.accepting = True
        """Whether calls are still taken; once False, what is read is dropped."""
        self.pending = 0
        """Calls that have begun and are not answered."""
        self.meter = meter or Meters(limits).connection("")
        """Counts the messages that come."""
        self._send = send
        self._limits = limits
        self._abort = abort
        self._write_now = write
        self._close_seconds = close_seconds
        self._outbox: deque[str] = deque()
        self._queue: deque[str] = self._outbox
        self._size = 0
        self._close: tuple[int, str] | None = None
        self._ended = False
        self._wake: asyncio.Future[None] | None = None
        self._moved: asyncio.Event | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._writer = asyncio.create_task(self._write())

    @property
    def busy(self) -> bool:
        """Whether so much is unanswered or unsent that reading should wait for `room`."""
        return self.pending + len(self._outbox) >= self._limits.pending_calls

    def notify(self, encoded: str | bytes) -> None:
        """Send an encoded notification after everything that was put before it."""
        self.send(encoded if isinstance(encoded, str) else encoded.decode())

    def reply(self, text: str | None) -> None:
        """End one pending call, with an answer or, for a notification, without."""
        self.pending -= 1
        if text is not None:
            self.send(text)
        if self._moved is not None:
            self._progress()

    def send(self, text: str) -> None:
        """Send a text, by way of the outbox if it must wait; close with 1013 if too much waits already.

        The bound in bytes is applied to characters, which are the same in all but a few names.
        """
        if self._close is not None:
            return
        queue = self._queue
        # While the writer sleeps the outbox is empty, and nothing can be overtaken.
        idle = self._wake is not None and queue is self._outbox
        if idle and self._write_now is not None and self._write_now(text):
            return
        queue.append(text)
        self._size += len(text)
        if self._size > self._limits.outbox_bytes or len(queue) > self._limits.outbox_messages:
            self._overflow()
        elif self._wake is not None:
            self._wake.set_result(None)
            self._wake = None

    def begin_batch(self) -> None:
        """Begin a batch, which counts as one pending call; what is sent meanwhile is to follow its answer."""
        self.pending += 1
        self._queue = deque()

    def end_batch(self, text: str | None) -> None:
        """Send a batch's answer, if it has one, and after it what was to follow."""
        followers, self._queue = self._queue, self._outbox
        self.reply(text)
        if followers and self._close is None:
            self._outbox.extend(followers)
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
        """Close with `code` after what waits; the first call decides. Nothing more is taken from here on."""
        if self._close is None:
            self._close = (code, reason)
            self.accepting = False
            self._rouse()
            self._progress()
            if not self._ended:
                asyncio.get_running_loop().call_later(self._close_seconds, self._cut)

    async def drain(self, seconds: float) -> None:
        """Part with the client because the server stops.

        Calls under way are answered first, which may take `seconds`; then `server.closing` and the close with
        1012 are sent, for which the client has `close_seconds`.
        """
        self.accepting = False
        try:
            async with asyncio.timeout(seconds):
                while self.pending and self._close is None:
                    await self._change()
        except TimeoutError:
            log.warning("calls stay unanswered", pending=self.pending)
        self.send(SERVER_CLOSING)
        self.close(RESTART, "the server stops")
        await asyncio.wait((self._writer,), timeout=self._close_seconds)

    async def room(self) -> None:
        """Wait until it is no longer busy, or closes. Calls have time limits; slow readers are cut off."""
        while self.busy and self._close is None:
            await self._change()

    async def rest(self, seconds: float) -> None:
        """Wait for so long, or until it closes. To be awaited before more is read."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._close is None:
                    await self._change()

    async def finish(self) -> None:
        """End everything that belongs to the connection. To be awaited once nothing can be read any more."""
        self._ended = True
        self.close(RESTART)
        tasks = (self._writer, *self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=self._close_seconds)
        for callback in self._callbacks:
            try:
                callback()
            except Exception:
                log.exception("a callback at the end of a connection failed")
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
                if self._close is not None:
                    code, reason = self._close
                    await self._send({"type": "websocket.close", "code": code, "reason": reason})
                    return
                self._wake = loop.create_future()
                await self._wake
        except (OSError, RuntimeError):
            # The client has gone (OSError), or the server beneath has sent a close frame by itself
            # (RuntimeError). The reader is told by it in either case.
            self.close(RESTART)

    def _overflow(self) -> None:
        """Give up on a client that does not read, and forget what waits for it."""
        self._outbox.clear()
        self._queue.clear()
        self._size = 0
        self.close(TRY_AGAIN, "too much waits to be read")

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
