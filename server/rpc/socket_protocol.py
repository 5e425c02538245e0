"""uvicorn's WebSocket protocol with a way to cut a connection, and a short way for texts.

The short way saves what a message costs most: being put into a queue, waking a task, and pausing and resuming
the socket for each. It is taken only while nothing waits on the ordinary way, so that nothing is overtaken;
everything but whole text frames goes the ordinary way."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.http11 import Request
from websockets.protocol import State

ABORT: Final = "patience.abort"
"""The ASGI extension that cuts a connection: a function without arguments or result."""

SHORTCUT: Final = "patience.shortcut"
"""The ASGI extension for the short way: a `Shortcut`."""

Take: TypeAlias = Callable[[str], Mapping[str, Any] | None]
"""Takes a text as it arrives. What it returns, if anything, is what `receive` gives next, before all else."""

_BAD_HANDSHAKE: Final = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Shortcut(Protocol):
    """The short way in and out of one WebSocket."""

    take: Take | None
    """Is given texts instead of `receive`; set only while the application waits there. Must not raise."""

    def write(self, text: str) -> bool:
        """Send a text at once; False, with nothing sent, if it has to go the ordinary way."""
        ...


class SocketProtocol(WebSocketsSansIOProtocol):
    """Frees a connection whose client takes nothing more, which a plain close never does.

    Closing waits until what is buffered has been sent, and a client that is alive but does not read can put
    that off for ever. Give this class to uvicorn as its `ws`.
    """

    linger_seconds: ClassVar[float] = 5.0
    """How long a client that answered no ping has for what is still buffered."""

    take: Take | None = None

    def handle_connect(self, event: Request) -> None:
        """Begin the handshake, and offer the application the `ABORT` extension."""
        super().handle_connect(event)
        scope = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][ABORT] = self.transport.abort
            scope["extensions"][SHORTCUT] = self

    def data_received(self, data: bytes) -> None:
        """Take what came; a handshake that cannot be read is refused, where the parent leaves it open."""
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.handshake_initiated = self.handshake_complete = self.close_sent = True
            self.transport.write(_BAD_HANDSHAKE)
            self.transport.close()

    def shutdown(self) -> None:
        """Close the connection as the server stops; it never raises, so that all others are closed too."""
        try:
            super().shutdown()
        except (AssertionError, InvalidState):
            # The handshake failed or the client has sent its Close, so there is nothing left to be said.
            self.transport.abort()

    def send_receive_event_to_app(self) -> None:
        """Give a message to the application; a text that is not UTF-8 closes the connection."""
        if self.curr_msg_data_type != "text" or self.close_sent:
            super().send_receive_event_to_app()
            return
        try:
            text = b"".join(self.frames).decode()
        except UnicodeDecodeError:
            self.frames = []
            # The parent would write a traceback to the log, as often as a client likes.
            self.conn.fail(1007, "the text is not UTF-8")
            self.handle_parser_exception()
            return
        take = self.take
        if take is None or not self.queue.empty():
            super().send_receive_event_to_app()
            return
        self.frames = []
        event = take(text)
        if event is not None:
            self.queue.put_nowait(event)  # pyright: ignore[reportArgumentType]  ASGI allows types of one's own.
            if not self.read_paused:
                self.read_paused = True
                self.transport.pause_reading()

    def write(self, text: str) -> bool:
        """Send a text at once; False, with nothing sent, if it has to go the ordinary way."""
        open_ = self.conn.state is State.OPEN and not self.conn.extensions
        if not open_ or self.close_sent or self.disconnected or not self.writable.is_set():
            return False
        payload = text.encode()
        size = len(payload)
        if size < 126:
            head = bytes((0x81, size))
        elif size < 65_536:
            head = b"\x81\x7e" + size.to_bytes(2, "big")
        else:
            head = b"\x81\x7f" + size.to_bytes(8, "big")
        self.transport.write(head + payload)
        return True

    def keepalive_timeout(self) -> None:
        """Close a connection whose client does not answer pings, and cut it if that takes too long."""
        super().keepalive_timeout()
        asyncio.get_running_loop().call_later(self.linger_seconds, self.transport.abort)
