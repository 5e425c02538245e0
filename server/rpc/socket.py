"""`GET /ws`: the WebSocket endpoint, which reads what the connections send."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from server.config import Limits
from server.limits import Meter
from server.rpc.caller import Authenticate, Caller
from server.rpc.connection import (
    CLOSE_SECONDS,
    RESTART,
    SERVER_CLOSING,
    TRY_AGAIN,
    UNSUPPORTED,
    Connection,
)
from server.rpc.dispatch import Dispatcher
from server.rpc.errors import RpcError
from server.rpc.headers import bearer_token, client_address
from server.rpc.socket_protocol import ABORT, SHORTCUT, Shortcut

_REST: Final = "patience.rest"
"""The event that follows a frame taken on the short way whose call has to be waited for."""


class SocketEndpoint:
    """The ASGI application of one WebSocket route."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        authenticate: Authenticate,
        limits: Limits,
        *,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        """Read for `dispatcher`. With a token that `authenticate` doesn't know a client acts for nobody."""
        self.connections: set[Connection] = set()
        """Those that are open."""
        self._dispatcher = dispatcher
        self._authenticate = authenticate
        self._limits = limits
        self._close_seconds = close_seconds
        self._draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection to its end."""
        await receive()
        refusal = self._refuse(scope)
        if refusal is not None:
            await _turn_away(send, *refusal)
            return
        meter = self._dispatcher.meters.connection(client_address(scope))
        try:
            await self._serve(scope, receive, send, meter)
        finally:
            meter.close()

    def _refuse(self, scope: Scope) -> tuple[int, str] | None:
        """Return why a connection is not taken, as code and reason; None if it is."""
        if self._draining:
            return RESTART, "the server stops"
        if len(self.connections) >= self._limits.connections:
            return TRY_AGAIN, "too many connections"
        reason = self._dispatcher.meters.refuse(client_address(scope))
        return None if reason is None else (TRY_AGAIN, reason)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, meter: Meter) -> None:
        """Serve a connection that is taken, unless its token cannot be looked up."""
        caller: Caller | None = None
        if token := bearer_token(scope):
            try:
                caller = await self._authenticate(token)
            except RpcError as error:
                await _turn_away(send, TRY_AGAIN, error.kind)
                return
        if caller is not None:
            meter.act_for(caller.key)
        await send({"type": "websocket.accept"})
        extensions = scope.get("extensions", {})
        abort: Callable[[], None] = extensions.get(ABORT, _cannot_abort)
        shortcut: Shortcut | None = extensions.get(SHORTCUT)
        connection = Connection(
            send,
            self._limits,
            address=client_address(scope),
            caller=caller,
            abort=abort,
            write=shortcut.write if shortcut else None,
            meter=meter,
            close_seconds=self._close_seconds,
        )
        self.connections.add(connection)
        if self._draining:
            # The others were parted with while it was looked up for whom this one acts.
            connection.spawn(connection.drain(0))
        try:
            await self._read(connection, receive, shortcut)
        finally:
            self.connections.discard(connection)
            await connection.finish()

    async def drain(self, seconds: float) -> None:
        """Part with all clients at once, as `Connection.drain` does with one, and take no new ones."""
        self._draining = True
        await asyncio.gather(*(connection.drain(seconds) for connection in self.connections))

    async def _read(self, connection: Connection, receive: Receive, shortcut: Shortcut | None) -> None:
        """Take frames until the connection is lost or closed."""
        dispatch: Final = self._dispatcher.receive

        def take(text: str) -> Mapping[str, Any] | None:
            """Take a frame on the short way; what has to be waited for is waited for below."""
            if not connection.accepting:
                return None
            rest = dispatch(text, connection)
            return {"type": _REST, "rest": rest} if rest is not None or connection.busy else None

        while True:
            if shortcut is not None:
                shortcut.take = take
            event = await receive()
            if shortcut is not None:
                shortcut.take = None
            rest: Awaitable[None] | None = None
            if event["type"] == _REST:
                rest = event["rest"]
            elif event["type"] != "websocket.receive":
                return
            elif not connection.accepting:
                continue
            elif (text := event.get("text")) is None:
                connection.close(UNSUPPORTED, "frames must be text")
                continue
            else:
                rest = dispatch(text, connection)
            if rest is not None:
                await rest
            if connection.busy:
                await connection.room()


async def _turn_away(send: Send, code: int, reason: str) -> None:
    """Accept a connection and close it, so that the client learns why."""
    await send({"type": "websocket.accept"})
    if code == RESTART:
        await send({"type": "websocket.send", "text": SERVER_CLOSING})
    await send({"type": "websocket.close", "code": code, "reason": reason})


def _cannot_abort() -> None:
    """Leave a client that takes nothing more to the operating system, for servers without the extension."""
