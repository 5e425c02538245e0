"""uvicorn's HTTP protocol, with bounds that it lacks."""

import asyncio
from typing import ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


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
