"""A bad network: it stands between a client and a server, and breaks, loses or changes what passes."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, Self, TypeAlias

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as dial
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake

_SECONDS: Final = 10.0

Message: TypeAlias = dict[str, Any]
Tamper: TypeAlias = Callable[[Message], Message | None]
"""Returns the message to pass on in the place of another, or None for none at all; or raises `Cut`."""


class Cut(Exception):
    """Break the connection before the message passes: without a word, or with a close code."""

    def __init__(self, code: int | None = None) -> None:
        """Say how."""
        super().__init__(code)
        self.code = code


def passes(message: Message) -> Message:
    """Change nothing."""
    return message


class Relay:
    """Passes messages on between clients and the server at `target`."""

    def __init__(self, target: str) -> None:
        """Change nothing at first; `target` may be another one for later connections."""
        self.target = target
        self.up: Tamper = passes
        """What happens to messages to the server."""
        self.down: Tamper = passes
        """What happens to messages to the client."""
        self.connections = 0
        """How many the clients have made."""
        self.open = True
        """Whether new connections are taken."""

    async def __aenter__(self) -> Self:
        """Listen."""
        self._server = await serve(self._relay, "127.0.0.1", 0, compression=None, max_size=None)
        self.url = f"ws://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}/ws"
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close everything."""
        self._server.close()
        await self._server.wait_closed()

    def break_all(self) -> None:
        """Break all connections without a word."""
        for client in self._server.connections:
            client.transport.abort()

    async def _relay(self, client: ServerConnection) -> None:
        self.connections += 1
        if not self.open:
            client.transport.abort()
            return
        try:
            server = await dial(self.target, compression=None, max_size=None)
        except (OSError, InvalidHandshake):
            client.transport.abort()
            return
        async with server:
            ways = (
                asyncio.create_task(self._pass(client, server, up=True)),
                asyncio.create_task(self._pass(server, client, up=False)),
            )
            done, going = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in going:
                way.cancel()
            await asyncio.wait(ways)
            code = next(iter(done)).result()
            if code is None:
                client.transport.abort()
            else:
                async with asyncio.timeout(_SECONDS):
                    await client.close(code)

    async def _pass(
        self,
        source: ClientConnection | ServerConnection,
        sink: ClientConnection | ServerConnection,
        *,
        up: bool,
    ) -> int | None:
        """Pass messages on in one direction until the end; return its close code, None if there is none."""
        try:
            while True:
                message: Message | None = json.loads(await source.recv())
                assert message is not None
                message = (self.up if up else self.down)(message)
                if message is not None:
                    await sink.send(json.dumps(message))
        except Cut as cut:
            return cut.code
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None
