"""uvicorn's WebSocket protocol, with two things that ASGI lacks."""

import asyncio
from typing import ClassVar, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

ABORT: Final = "patience.abort"
"""The ASGI extension that cuts a connection: a function without arguments or result."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """Frees a connection whose client takes nothing more, which a plain close never does.

    Closing waits until what is buffered has been sent, and a client that is alive but does not read can put
    that off for ever. Give this class to uvicorn as its `ws`.
    """

    linger_seconds: ClassVar[float] = 5.0
    """How long a client that answered no ping has for what is still buffered."""

    def handle_connect(self, event: Request) -> None:
        """Begin the handshake, and offer the application the `ABORT` extension."""
        super().handle_connect(event)
        scope = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][ABORT] = self.transport.abort

    def keepalive_timeout(self) -> None:
        """Close a connection whose client does not answer pings, and cut it if that takes too long."""
        super().keepalive_timeout()
        asyncio.get_running_loop().call_later(self.linger_seconds, self.transport.abort)
