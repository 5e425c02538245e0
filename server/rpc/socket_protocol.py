"""uvicorn's WebSocket protocol with a way to cut a connection, and a short way for texts.

The short way saves what a message costs most: a parser written for every kind of frame, being put into a
queue, waking a task, and pausing and resuming the socket for each. It is taken only while nothing waits on
the ordinary way, so that nothing is overtaken; everything but whole text frames goes the ordinary way.

Texts that arrive in one round of the event loop are taken one after another at its end, those of all
connections together: reading a socket is a system call, and code that runs between two of them runs slowly.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.exceptions import InvalidState
from websockets.http11 import Request
from websockets.protocol import State
from websockets.speedups import apply_mask

ABORT: Final = "patience.abort"
"""The ASGI extension that cuts a connection: a function without arguments or result."""

SHORTCUT: Final = "patience.shortcut"
"""The ASGI extension for the short way: a `Shortcut`."""

Take: TypeAlias = Callable[[str], Mapping[str, Any] | None]
"""Takes a text as it arrives. What it returns, if anything, is what `receive` gives next, before all else."""

_WHOLE_TEXT: Final = 0x81
"""The first byte of a text that is one frame."""
_MASKED: Final = 0x80
_END_OF_HEAD: Final = b"\r\n\r\n"
_LEAST: Final = 6
"""How long the head of a client's frame is at least, its mask included."""

_BAD_HANDSHAKE: Final = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Shortcut(Protocol):
    """The short way in and out of one WebSocket."""

    take: Take | None
    """Is given texts instead of `receive`; set only while the application waits there. Must not raise."""

    def write(self, text: str) -> bool:
        """Send a text at once; False, with nothing sent, if it has to go the ordinary way."""
        ...


class _Round:
    """The connections of one event loop whose texts are to be taken at the end of this round of it."""

    __slots__ = ("_protocols",)

    def __init__(self) -> None:
        self._protocols: list[SocketProtocol] = []

    def add(self, protocol: "SocketProtocol") -> None:
        if not self._protocols:
            protocol.loop.call_soon(self._end)
        self._protocols.append(protocol)

    def _end(self) -> None:
        protocols, self._protocols = self._protocols, []
        for protocol in protocols:
            protocol.take_texts()


_rounds: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Round]] = WeakKeyDictionary()


class SocketProtocol(WebSocketsSansIOProtocol):
    """Frees a connection whose client takes nothing more, which a plain close never does.

    Closing waits until what is buffered has been sent, and a client that is alive but does not read can put
    that off for ever. Give this class to uvicorn as its `ws`.
    """

    linger_seconds: ClassVar[float] = 5.0
    """How long a client that answered no ping has for what is still buffered."""

    take: Take | None = None

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Begin as uvicorn does."""
        super().__init__(config, server_state, app_state, _loop)
        self._round = _rounds.setdefault(self.loop, _Round())
        self._texts: list[bytes] = []
        """Texts to be taken at the end of this round."""
        self._framing: bool | None = None
        """Whether frames are taken apart here; None until the handshake has shown where they begin."""
        self._begun = b""
        """The beginning of a head."""
        self._owed = 0
        """How many bytes are still to come of a frame that the parser has begun."""

    def handle_connect(self, event: Request) -> None:
        """Begin the handshake, and offer the application the `ABORT` extension."""
        super().handle_connect(event)
        scope = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][ABORT] = self.transport.abort
            scope["extensions"][SHORTCUT] = self

    def data_received(self, data: bytes) -> None:
        """Take what came; a handshake that cannot be read is refused, where the parent leaves it open."""
        if self._framing is None and self.handshake_complete:
            self._framing = self.conn.state is State.OPEN and not self.conn.extensions
        if self._framing:
            self._take_apart(data)
            return
        begun = self.handshake_initiated
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.handshake_initiated = self.handshake_complete = self.close_sent = True
            self.transport.write(_BAD_HANDSHAKE)
            self.transport.close()
        elif begun or (self.handshake_initiated and data.find(_END_OF_HEAD) != len(data) - len(_END_OF_HEAD)):
            # Frames came before the handshake was answered, so the parser alone knows where the next begins.
            self._framing = False

    def _take_apart(self, data: bytes) -> None:
        """Take whole texts out of what came, and give all other frames to the parser, never parts of two."""
        if self._begun:
            data = self._begun + data
            self._begun = b""
        at, end = 0, len(data)
        if self._owed:
            at = min(self._owed, end)
            self._owed -= at
            self._parse(data[:at])
        conn = self.conn
        while end - at >= _LEAST:
            size, start = data[at + 1] & 127, at + _LEAST
            if size >= 126:
                start += 2 if size == 126 else 8
                if end < start:
                    break
                size = int.from_bytes(data[at + 2 : start - 4], "big")
            stop = start + size
            whole = data[at] == _WHOLE_TEXT and data[at + 1] & _MASKED and stop <= end
            plain = whole and conn.current_size is None and conn.state is State.OPEN
            if plain and size <= self.config.ws_max_size:
                self._texts.append(apply_mask(data[start:stop], data[start - 4 : start]))
            else:
                self._parse(data[at:stop])
                self._owed = max(0, stop - end)
            at = min(stop, end)
        self._begun = data[at:]
        if self._texts:
            self._round.add(self)

    def _parse(self, data: bytes) -> None:
        """Let the parser have a frame, or a part of one, after the texts that came before it."""
        self.take_texts()
        super().data_received(data)

    def take_texts(self) -> None:
        """Give the application the texts that have come."""
        texts, self._texts = self._texts, []
        for text in texts:
            if self.close_sent:
                return
            self._take_text(text)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the application what has come before the end, then the end."""
        self.take_texts()
        super().connection_lost(exc)

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
        frames, self.frames = self.frames, []
        self._take_text(b"".join(frames))

    def _take_text(self, data: bytes) -> None:
        """Give a text to the application, by the short way if that is open."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            # The parent would write a traceback to the log, as often as a client likes.
            self.conn.fail(1007, "the text is not UTF-8")
            self.handle_parser_exception()
            return
        take = self.take
        event: Any
        if take is None or not self.queue.empty():
            event = {"type": "websocket.receive", "text": text}
        else:
            event = take(text)
            if event is None:
                return
        self.queue.put_nowait(event)
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
