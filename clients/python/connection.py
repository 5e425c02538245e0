"""One lasting connection: it carries calls and notifications, and comes back by itself when it breaks.

A single task owns the WebSocket and is the only one to read it. Whatever must see messages in the order in
which they came happens within that task, in a call's `read` and in `on_notification`; the coroutine that made
the call wakes up some time later.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

import msgspec
from websockets.exceptions import ConnectionClosed, InvalidURI
from websockets.uri import parse_uri

from clients.python.calls import SENDINGS, Call, Calls
from clients.python.delays import delays
from clients.python.envelope import read as read_message
from clients.python.envelope import request
from clients.python.errors import (
    CallTimeout,
    ClientError,
    ConnectionLost,
    InternalError,
    RateLimited,
    Unavailable,
)
from clients.python.wire import CLOSE_SECONDS, Wire, dial

T = TypeVar("T")

_MESSAGE_TOO_BIG: Final = 1009
_RESTART: Final = 1012
_TRY_AGAIN_LATER: Final = 1013

_CALLS: Final = 64
"""Calls under way; more wait to be sent."""
_FULL_SECONDS: Final = 2.0
"""The first wait after the server had too many connections, or found this side too slow."""

_PASSING: Final = (ConnectionLost, CallTimeout, Unavailable, RateLimited, InternalError)
"""Errors that another attempt may not meet again."""

_log: Final = logging.getLogger("patience.client")


class Connection:
    """Calls and notifications over one WebSocket at a time. Open it once, close it once."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float,
        retry_for: float,
        heartbeat: float,
        on_notification: Callable[[str, msgspec.Raw], None],
        on_connected: Callable[[], Awaitable[None]],
        on_end: Callable[[ClientError | None], None],
        on_state: Callable[[bool], None],
    ) -> None:
        """Prepare a connection; nothing happens before `open`.

        Args:
            url: a `ws://` or `wss://` address.
            timeout: seconds for one call, all waiting and repeating included.
            retry_for: seconds after which a broken connection that cannot be made again is given up.
            heartbeat: seconds of silence after which the server is asked for a sign of life; after two to
                three times as many the connection counts as broken.
            on_notification: called in the reading task with method and params; must not block.
            on_connected: awaited for each new WebSocket before ordinary calls go out; calls with `urgent`.
            on_end: called once, with why there can be no connection any more, or None after `close`.
            on_state: called in the reading task, with False when a restored WebSocket is lost and another one
                is tried, with True when one is restored; must not block.

        Raises:
            ValueError: `url` is no WebSocket address.
        """
        try:
            parse_uri(url)
        except InvalidURI as error:
            raise ValueError(str(error)) from None
        self._url = url
        self._timeout = timeout
        self._retry_for = retry_for
        self._heartbeat = heartbeat
        self._on_notification = on_notification
        self._on_connected = on_connected
        self._on_end = on_end
        self._on_state = on_state
        self._socket: Wire | None = None
        self._ready = asyncio.Event()
        self._end: ClientError | None = None
        self._useless: ClientError | None = None
        self._task: asyncio.Task[None] | None = None
        self._calls = Calls()
        self._places = asyncio.Semaphore(_CALLS)
        self._last_id = 0
        self.connected = 0
        """How often a connection was made and restored: 1 as long as it never broke."""

    async def open(self) -> None:
        """Connect.

        Raises:
            ConnectionLost: the server cannot be reached.
            ClientError: what `on_connected` raised.
            CallTimeout: it took too long.
        """
        socket = await dial(self._url)
        self._task = asyncio.create_task(self._run(socket))
        self._task.add_done_callback(self._ran)
        try:
            async with asyncio.timeout(self._timeout):
                await self._usable()
        except TimeoutError:
            await self.close()
            raise CallTimeout(f"not connected within {self._timeout:g} s") from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End; calls under way raise `ConnectionLost`. Closing again does nothing."""
        self._finish(ConnectionLost("the client is closed"), None)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=2 * CLOSE_SECONDS)

    async def call(
        self,
        method: str,
        params: Mapping[str, object],
        read: Callable[[msgspec.Raw], T],
        *,
        resend: bool,
        urgent: bool = False,
    ) -> T:
        """Call a method and return what `read` makes of its result.

        A call that the server cannot serve just then is sent again if the timeout leaves room for it: a few
        times while a store is away (`unavailable`), and as often as it takes where the server tells when to
        (`rate_limited`).

        Args:
            method: its name.
            params: by name; those that are None are left out.
            read: called in the reading task.
            resend: whether the call may be sent again when the connection broke before its answer came.
            urgent: go out at once, also while the connection is being restored.

        Raises:
            ApiError: the server refused it.
            ConnectionLost: there is no connection, or it broke and the call could not be sent again.
            CallTimeout: there was no answer in time.
            MessageTooLong: the server would refuse the message for its size.
            BadAnswer: the result is none that `read` takes.
        """
        now = asyncio.get_running_loop().time
        deadline = now() + self._timeout
        waits = delays()
        sendings = 0
        try:
            async with asyncio.timeout_at(deadline):
                while True:
                    sendings += 1
                    try:
                        return await self._send(method, params, read, resend=resend, urgent=urgent)
                    except (Unavailable, RateLimited) as error:
                        wait = next(waits)
                        if isinstance(error, RateLimited):
                            wait += error.retry_after_ms / 1000
                            sendings -= 1
                        if sendings == SENDINGS or now() + wait >= deadline:
                            raise
                    await asyncio.sleep(wait)
        except TimeoutError:
            raise CallTimeout(f"no answer to {method} within {self._timeout:g} s") from None

    async def _send(
        self,
        method: str,
        params: Mapping[str, object],
        read: Callable[[msgspec.Raw], T],
        *,
        resend: bool,
        urgent: bool,
    ) -> T:
        """Send a call and wait for its answer, over as many connections as it takes."""
        if urgent:
            return await self._answer(method, params, read, resend=resend)
        async with self._places:
            await self._usable()
            return await self._answer(method, params, read, resend=resend)

    async def _answer(
        self, method: str, params: Mapping[str, object], read: Callable[[msgspec.Raw], T], *, resend: bool
    ) -> T:
        socket = self._socket
        if socket is None:
            raise self._end or ConnectionLost("the connection is broken")
        self._last_id += 1
        ident = self._last_id
        call = Call(request(ident, method, params), read, resend=resend)
        self._calls.add(ident, call)
        try:
            await _put(socket, call.text)
            return await call.answer
        except asyncio.CancelledError:
            call.answer.cancel()
            self._calls.abandon(ident)
            raise

    async def _usable(self) -> None:
        """Wait until ordinary calls may be sent; raise why they never will."""
        while not self._ready.is_set():
            await self._ready.wait()
        if self._end is not None:
            raise self._end

    async def _run(self, socket: Wire | None) -> None:
        """Serve one WebSocket after another; raise why there can be none any more."""
        loop = asyncio.get_running_loop()
        waits = delays()
        lost_at = loop.time()
        full = False
        while True:
            if socket is not None:
                before = self.connected
                stopping = await self._serve(socket)
                restored = self.connected > before
                if restored:
                    lost_at = loop.time()
                elif not self.connected and not stopping:
                    raise ConnectionLost(f"{self._url} breaks off at once: code {socket.close_code}")
                was_full, full = full, socket.close_code == _TRY_AGAIN_LATER
                if restored or (full and not was_full):
                    waits = delays(_FULL_SECONDS) if full else delays()
            wait = next(waits)
            if loop.time() + wait > lost_at + self._retry_for:
                raise ConnectionLost(f"no connection to the server for {self._retry_for:g} s")
            await asyncio.sleep(wait)
            try:
                socket = await dial(self._url)
            except ConnectionLost as error:
                _log.debug("cannot connect again yet: %s", error)
                socket = None

    def _ran(self, task: asyncio.Task[None]) -> None:
        """Tell everybody who waits that there is no connection any more."""
        error = None if task.cancelled() else task.exception()
        if not (error is None or isinstance(error, ClientError)):
            _log.error("the connection failed", exc_info=error)
            error = ConnectionLost(f"the connection failed: {error!r}")
        self._finish(error or ConnectionLost("the client is closed"), error)

    async def _serve(self, socket: Wire) -> bool:
        """Restore and read a WebSocket until it is broken; raise what makes another one useless.

        Returns:
            Whether it has ended because the server stops, so that the next attempt may find its successor.
        """
        self._socket = socket
        self._useless = None
        restoring = asyncio.create_task(self._restore(socket))
        watching = asyncio.create_task(socket.watch_over(self._heartbeat))
        try:
            while True:
                message = read_message(await socket.recv(decode=False))
                if message.method == "server.closing":
                    # All that this server will answer is answered: what is left goes to its successor.
                    return True
                if message.method is not None:
                    self._on_notification(message.method, message.params)
                elif not self._calls.take(message) and (refusal := message.refusal()):
                    _log.warning("the server refused a message as a whole: %s", refusal)
        except ConnectionClosed as error:
            _log.debug("the connection broke: %s", error)
        finally:
            if self._end is None and self._ready.is_set():
                self._ready.clear()
                self._on_state(False)
            self._socket = None
            keep = socket.close_code != _MESSAGE_TOO_BIG
            self._calls.broken(ConnectionLost("the connection broke"), keep=keep)
            restoring.cancel()
            watching.cancel()
            await asyncio.wait((restoring, watching), timeout=CLOSE_SECONDS)
            await socket.close()
        if self._useless is not None:
            raise self._useless
        return socket.close_code == _RESTART

    async def _restore(self, socket: Wire) -> None:
        """Make a new WebSocket what the last one was: its player, its subscriptions, its calls under way."""
        try:
            await self._on_connected()
        except ClientError as error:
            _log.debug("cannot restore the connection: %s", error)
            if not (self.connected and isinstance(error, _PASSING)):
                self._useless = error
            await socket.close()
            return
        for text in self._calls.again():
            await _put(socket, text)
        if self._socket is socket:
            self.connected += 1
            self._ready.set()
            self._on_state(True)

    def _finish(self, error: ClientError, reason: ClientError | None) -> None:
        """Let no call wait any longer; the first to call this decides."""
        if self._end is not None:
            return
        self._end = error
        self._socket = None
        self._calls.broken(error, keep=False)
        self._ready.set()
        self._on_end(reason)


async def _put(socket: Wire, text: str) -> None:
    """Send, if that is still possible: that a WebSocket is closed is for its reader to deal with."""
    try:
        await socket.send(text)
    except ConnectionClosed:
        _log.debug("a message met a closed connection")
