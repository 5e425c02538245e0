"""uvicorn's protocols, with bounds they lack, a way to cut a connection, and a short way for texts.

The short way saves what a message costs most: being put into a queue, waking a task, and pausing and resuming
the socket for each. It is taken only while nothing waits on the ordinary way, so that nothing is overtaken;
everything but whole text frames goes the ordinary way."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol, TypeAlias

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
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


class _Refused(Exception):
    """Stops the parser; what is left of the data is thrown away."""


class HttpProtocol(HttpToolsProtocol):
    """Bounds what waits on one connection, and passes over offers to upgrade to anything but WebSocket.

    Give this class to uvicorn as its `http`.
    """

    most_waiting: ClassVar[int] = 32
    """How many requests may wait for the one before them; more would let one client fill the memory."""
    head_seconds: ClassVar[float] = 10.0
    """How long a client may take to send the head of a request, the first one from connecting on."""
    head_bytes: ClassVar[int] = 65_536
    """How long a head may be."""

    _late: asyncio.TimerHandle | None = None
    _size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  As uvicorn does.
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._head_arrived()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a head."""
        super().on_message_begin()
        if self._late is None:
            self._await_head()

    def _await_head(self) -> None:
        self._size = 0
        self._late = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _head_arrived(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def data_received(self, data: bytes) -> None:
        """Take what came.

        The parser takes a request that offers an upgrade for one without a body, and the body for another
        request. RFC 9110 lets a server ignore the offer, so the request is parsed anew without it.
        """
        self._unset_keepalive_if_required()
        self._parse(data)
        if self._late is not None:
            self._size += len(data)
            if self._size > self.head_bytes:
                self.transport.abort()

    def _parse(self, data: bytes) -> None:
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
                    return
                data = self._head_without_upgrade() + data[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            except httptools.HttpParserError:
                if not self.transport.is_closing():
                    self.send_400_response("Invalid HTTP request received.")
                return
            else:
                return

    def on_headers_complete(self) -> None:
        """Begin a request or let it wait for those before it; a connection with too many is cut."""
        self._head_arrived()
        if self.parser.should_upgrade() and not self._should_upgrade():
            # A CONNECT is an upgrade without an offer that could be passed over.
            if all(name != b"upgrade" for name, _ in self.headers):
                raise _Refused
            return
        super().on_headers_complete()
        if len(self.pipeline) > self.most_waiting:
            # To close would wait until all is sent, and who asks this much without reading takes nothing.
            self.pipeline.clear()
            self.transport.abort()
            raise _Refused

    def on_message_complete(self) -> None:
        """End a request, unless it is still to be parsed anew."""
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [self.parser.get_method() + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])
