"""uvicorn's HTTP protocol, with bounds that it lacks."""

import asyncio
from collections import OrderedDict
from typing import Any, ClassVar, Final, cast
from weakref import WeakKeyDictionary

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from server.rpc.rounds import rounds_of
from server.rpc.unsent import unsent


class _Refused(Exception):
    """Stops the parser; what is left of the data is thrown away."""


class _Crowd:
    """Connections of one loop that are held up by their clients, the one for the longest time first."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: OrderedDict[HttpProtocol, float] = OrderedDict()

    def add(self, protocol: "HttpProtocol", most: int) -> None:
        """Add a connection; if there are more than so many, the first one is cut, unless it is young."""
        now = protocol.loop.time()
        self._since[protocol] = now
        if len(self._since) > most:
            first, since = next(iter(self._since.items()))
            if now - since >= first.hurried_seconds and not first.awaits_turn:
                first.cut()

    def discard(self, protocol: "HttpProtocol") -> None:
        """Take a connection out, if it is there."""
        self._since.pop(protocol, None)


class _Crowds:
    """Those without a head, and those that do not read."""

    __slots__ = ("__weakref__", "headless", "unread")

    def __init__(self) -> None:
        self.headless = _Crowd()
        self.unread = _Crowd()


_crowds: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Crowds]] = WeakKeyDictionary()


class HttpProtocol(HttpToolsProtocol):
    """Takes requests and handshakes turn by turn, and bounds what a client can hold on to.

    That is what waits on one connection, and how long a request may take to come and its answer to be read.
    Offers to upgrade to anything but WebSocket are passed over. Give this class to uvicorn as its `http`.
    """

    most_waiting: ClassVar[int] = 32
    """How many requests may wait for the one before them; more would let one client fill the memory."""
    head_seconds: ClassVar[float] = 10.0
    """How long a client may take to send the head of a request, the first one from connecting on."""
    head_bytes: ClassVar[int] = 65_536
    """How long a head may be."""
    most_headless: ClassVar[int] = 512
    """How many new connections may be without a head; beyond that the oldest have `hurried_seconds` only."""
    most_unread: ClassVar[int] = 128
    """How many connections may have answers waiting that are not read; the same goes for them."""
    hurried_seconds: ClassVar[float] = 1.0
    body_seconds: ClassVar[float] = 20.0
    """How long a client may take to send a body, whether or not anybody wants it."""
    read_seconds: ClassVar[float] = 10.0
    """How long a client may take nothing of what is sent to it before it is cut off."""
    read_bytes: ClassVar[int] = 65_536
    """How much of it at least it must take in that time."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Begin as uvicorn does."""
        super().__init__(config, server_state, app_state, _loop)
        self._rounds = rounds_of(self.loop)
        self._crowds = _crowds.get(self.loop) or _crowds.setdefault(self.loop, _Crowds())
        self._come = b""
        self._late: asyncio.TimerHandle | None = None
        """Cuts it off if what it sends does not come to an end: a head, or else a body."""
        self._size = -1
        """How long the head is that comes; -1 if none does."""
        self._unread = 0
        """How much it had not taken when that was looked at last."""
        self._look_again: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  As uvicorn does.
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._await_head()
        self._look_again = self.loop.call_later(self.read_seconds, self._look)
        self._crowds.headless.add(self, self.most_headless)

    def pause_writing(self) -> None:
        """Wait until the client reads."""
        super().pause_writing()
        self._crowds.unread.add(self, self.most_unread)

    def resume_writing(self) -> None:
        """Go on, since it has read."""
        self._unread = 0
        self._crowds.unread.discard(self)
        super().resume_writing()

    @property
    def awaits_turn(self) -> bool:
        """Whether something has come that was not looked at."""
        return bool(self._come)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._come = b""
        self._let_go()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the WebSocket's protocol."""
        self._let_go()
        super().handle_websocket_upgrade()

    def _let_go(self) -> None:
        """Look no more after the connection."""
        self._arrived()
        self._crowds.headless.discard(self)
        self._crowds.unread.discard(self)
        if self._look_again is not None:
            self._look_again.cancel()
            self._look_again = None

    def _look(self) -> None:
        """Cut off a client that has taken next to nothing since the last look.

        As long as the application waits for it to read, and after the end, nothing is added to what it has
        not taken, so that can be compared. Otherwise what waits is little.
        """
        self._look_again = self.loop.call_later(self.read_seconds, self._look)
        waits = self.flow.write_paused or self.transport.is_closing()
        unread = unsent(self.transport) if waits else 0
        if unread and self._unread and unread > self._unread - self.read_bytes:
            self.cut()
        self._unread = unread

    def cut(self) -> None:
        """End the connection without a word, as one that is lost."""
        self._come = b""
        self.pipeline.clear()
        if self.cycle and not self.cycle.response_complete:
            # Or what is still answered would be written to what is no more.
            self.cycle.disconnected = True
        self.transport.abort()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a head."""
        super().on_message_begin()
        if self._size < 0:
            self._await_head()

    def _await_head(self) -> None:
        self._arrived()
        self._size = 0
        self._late = self.loop.call_later(self.head_seconds, self.cut)

    def _await_body(self) -> None:
        self._late = self.loop.call_later(self.body_seconds, self._miss_body)

    def _miss_body(self) -> None:
        if self.flow.read_paused:
            # It is not the client's fault.
            self._await_body()
        else:
            self.cut()

    def _arrived(self) -> None:
        self._size = -1
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def data_received(self, data: bytes) -> None:
        """Keep what came until it is the connection's turn, and read no more until then."""
        self._unset_keepalive_if_required()
        if self._come:
            self._come += data
            return
        self._come = data
        self.transport.pause_reading()
        self._rounds.stand_in_line(self)

    def take_turn(self) -> bool:
        """Take what came."""
        data, self._come = self._come, b""
        if not data or self.transport.is_closing():
            return False
        if not self.flow.read_paused:
            self.transport.resume_reading()
        self._parse(data)
        if self._size >= 0:
            self._size += len(data)
            if self._size > self.head_bytes:
                self.cut()
        elif self._idle:
            # It was nothing that begins a request, and must not put its end off.
            self._await_head()
        return False

    @property
    def _idle(self) -> bool:
        """Whether nothing is under way that has an end."""
        answered = not self.cycle or self.cycle.response_complete
        return answered and self._late is None and self.transport.get_protocol() is self

    def _parse(self, data: bytes) -> None:
        """Give the parser what came.

        It takes a request that offers an upgrade for one without a body, and the body for another request.
        RFC 9110 lets a server ignore the offer, so such a request is parsed anew without it.
        """
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                rest = data[upgrade.args[0] :]
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
                    if rest:
                        cast("asyncio.Protocol", self.transport.get_protocol()).data_received(rest)
                    return
                data = self._head_without_upgrade() + rest
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
        self._arrived()
        if self.parser.should_upgrade() and not self._should_upgrade():
            # A CONNECT is an upgrade without an offer that could be passed over.
            if all(name != b"upgrade" for name, _ in self.headers):
                raise _Refused
            return
        self._crowds.headless.discard(self)
        self._await_body()
        super().on_headers_complete()
        if len(self.pipeline) > self.most_waiting:
            # To close would wait until all is sent, and who asks this much without reading takes nothing.
            self.cut()
            raise _Refused

    def on_message_complete(self) -> None:
        """End a request, unless it is still to be parsed anew."""
        if not self.parser.should_upgrade():
            self._arrived()
            super().on_message_complete()

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [self.parser.get_method() + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])
