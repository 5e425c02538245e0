"""`GET /ws`: the WebSocket endpoint, which reads what the connections send."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from server.config import Limits
from server.rpc.caller import Authenticate, Caller
from server.rpc.connection import CLOSE_SECONDS, RESTART, TRY_AGAIN, UNSUPPORTED, Connection
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
        caller: Caller | None = None
        refusal: tuple[int, str] | None = None
        if self._draining:
            refusal = (RESTART, "the server stops")
        elif len(self.connections) >= self._limits.connections:
            refusal = (TRY_AGAIN, "too many connections")
        elif token := bearer_token(scope):
            try:
                caller = await self._authenticate(token)
            except RpcError as error:
                refusal = (TRY_AGAIN, error.kind)
        await send({"type": "websocket.accept"})
        if refusal is not None:
            code, reason = refusal
            await send({"type": "websocket.close", "code": code, "reason": reason})
            return
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
            close_seconds=self._close_seconds,
        )
        self.connections.add(connection)
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


def _cannot_abort() -> None:
    """Leave a client that takes nothing more to the operating system, for servers without the extension."""
