"""uvicorn's WebSocket protocol with a way to cut a connection, and a short way for texts.

The short way saves what a message costs most: a parser written for every kind of frame, being put into a
queue, waking a task, and pausing and resuming the socket for each. It is taken only while nothing waits on
the ordinary way, so that nothing is overtaken; everything but whole text frames goes the ordinary way.

Nothing is taken when it arrives, but when it is the connection's turn: see `rounds.py`.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from uvicorn._types import ASGIReceiveEvent
from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.exceptions import InvalidState
from websockets.frames import Close, CloseCode, Frame
from websockets.http11 import Request
from websockets.protocol import State
from websockets.speedups import apply_mask

from server.rpc.rounds import rounds_of

ABORT: Final = "patience.abort"
"""The ASGI extension that cuts a connection: a function without arguments or result."""

SHORTCUT: Final = "patience.shortcut"
"""The ASGI extension for the short way: a `Shortcut`."""

Take: TypeAlias = Callable[[str], Mapping[str, Any] | None]
"""Takes a text as it arrives. What it returns, if anything, is what `receive` gives next, before all else."""

_WHOLE_TEXT: Final = 0x81
"""The first byte of a text that is one frame."""
_MASKED: Final = 0x80
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


class SocketProtocol(WebSocketsSansIOProtocol):
    """Takes frames turn by turn, and bounds what a client can hold on to by not reading or by not ending.

    Closing waits until what is buffered has been sent, and a client that is alive but does not read can put
    that off for ever. Give this class to uvicorn as its `ws`.
    """

    turn_frames: ClassVar[int] = 16
    """How many frames are taken in one turn."""
    turn_bytes: ClassVar[int] = 16_384
    """After how many bytes a turn is over."""
    message_frames: ClassVar[int] = 1_024
    """In how many frames a message may come."""
    message_seconds: ClassVar[float] = 30.0
    """How long a client may take for a message that comes in several frames."""
    linger_seconds: ClassVar[float] = 5.0
    """How long a client to which nothing more will be said has for what is still buffered."""

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
        self._rounds = rounds_of(self.loop)
        self._come = b""
        self._at = 0
        """From where on what has come is still to be taken."""
        self._awaits_turn = False
        self._held = False
        """Whether there is enough to take, so that no more is read."""
        self._owed = 0
        """How many bytes are still to come of a frame that the parser has begun."""
        self._over = False
        """Whether nothing that comes is of interest any more."""
        self._fragments = 0
        """How many frames have come of a message that has not ended."""
        self._too_slow: asyncio.TimerHandle | None = None
        self._cut_off: asyncio.TimerHandle | None = None
        self._pong = b""
        """What is to be answered to the last ping, while the client takes nothing."""

    def handle_connect(self, event: Request) -> None:
        """Begin the handshake, and offer the application the extensions."""
        super().handle_connect(event)
        scope = getattr(self, "scope", None)
        if scope is not None:
            scope["extensions"][ABORT] = self.transport.abort
            scope["extensions"][SHORTCUT] = self

    def data_received(self, data: bytes) -> None:
        """Take a handshake at once, and frames when it is the connection's turn.

        A handshake that cannot be read is refused, where the parent leaves it open.
        """
        if not self.handshake_initiated:
            super().data_received(data)
            if self.conn.handshake_exc is not None and not self.handshake_initiated:
                self.handshake_initiated = self.handshake_complete = self.close_sent = True
                self.transport.write(_BAD_HANDSHAKE)
                self.transport.close()
            return
        self._come = self._come[self._at :] + data if self._come else data
        self._at = 0
        if self._over:
            self._come = b""
        elif self._held:
            # The parent has begun to read again by itself.
            self._hold()
        elif not self._awaits_turn:
            self._awaits_turn = True
            self._rounds.come(self)

    def take_turn(self) -> bool:
        """Take some frames; return whether there are more that can be taken at once."""
        self._awaits_turn = False
        if self._take_frames():
            self._hold()
            # Without the application nothing can be taken: it comes back when it receives.
            self._awaits_turn = self.handshake_complete and not self.read_paused
            return self._awaits_turn
        if self._held:
            self._held = False
            if not self.read_paused and not self.transport.is_closing():
                self.transport.resume_reading()
        return False

    def _hold(self) -> None:
        """Read no more until what has come is taken."""
        self._held = True
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def _go_on(self) -> None:
        """Come for a turn if something was left that could not be taken, and can be now."""
        if self._held and not self.read_paused:
            self._hold()
            if not self._awaits_turn:
                self._awaits_turn = True
                self._rounds.come(self)

    def _take_frames(self) -> bool:
        """Take frames until the turn is over; return whether something is left that could be taken.

        Whole texts are taken apart here. The parser has all other frames, one by one.
        """
        data, at, conn = self._come, self._at, self.conn
        end, last = len(data), at + self.turn_bytes
        left = at < end and not self._over
        for _ in range(self.turn_frames if left else 0):
            if self.read_paused or at >= last or not self.handshake_complete:
                break
            start = at + _LEAST
            if self._owed:
                start, stop = at, min(at + self._owed, end)
                self._owed -= stop - at
                plain = False
            elif start > end:
                left = False
                break
            else:
                size = data[at + 1] & 127
                if size >= 126:
                    start += 2 if size == 126 else 8
                    if start > end:
                        left = False
                        break
                    size = int.from_bytes(data[at + 2 : start - 4], "big")
                stop = start + size
                plain = data[at] == _WHOLE_TEXT and data[at + 1] & _MASKED and conn.current_size is None
                if stop > end:
                    self._owed, stop, plain = stop - end, end, False
            if plain and conn.state is State.OPEN and stop - start <= self.config.ws_max_size:
                self._take_text(apply_mask(data[start:stop], data[start - 4 : start]))
            else:
                super().data_received(data[at:stop])
            at = stop
            if at >= end or self._over:
                left = False
                break
        if at >= end or self._over:
            self._come, self._at = b"", 0
        else:
            self._come, self._at = data, at
        return left

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the application what has come before the end, unless there is much of it, then the end."""
        if not self._held:
            self._take_frames()
        super().connection_lost(exc)
        # Nothing can be read any more, so the parent must not try.
        self.read_paused = self._held = False
        self._come = b""
        for timer in (self._too_slow, self._cut_off):
            if timer is not None:
                timer.cancel()
        self._too_slow = self._cut_off = None

    def handle_close(self, event: Frame) -> None:
        """Answer the client's Close, or take its answer to ours."""
        if self.close_sent:
            super().handle_close(event)
        else:
            self._hang_up(self.conn.close_rcvd)

    def handle_parser_exception(self) -> None:
        """Close the connection because of what the client has sent."""
        self._hang_up(self.conn.close_sent)

    def _hang_up(self, close: Close | None) -> None:
        """Say the last word, and wait a little for the client to hang up.

        To end the connection while more is on its way would lose what was said, on many systems.
        """
        assert close is not None, "the parser has seen to it"
        self._over = self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_timer = self.loop.call_later(self.linger_seconds, self.transport.abort)

    def shutdown(self) -> None:
        """Close the connection as the server stops; it never raises, so that all others are closed too."""
        try:
            super().shutdown()
        except (AssertionError, InvalidState):
            # The handshake failed or the client has sent its Close, so there is nothing left to be said.
            self.transport.abort()

    def handle_text(self, event: Frame) -> None:
        """Take a text or its first part."""
        self._take_part(event)
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        """Take a binary message or its first part."""
        self._take_part(event)
        super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        """Take another part of a message; one that does not come to an end closes the connection."""
        self._take_part(event)
        if self._fragments > self.message_frames:
            self._refuse_message()
        else:
            super().handle_cont(event)

    def _take_part(self, event: Frame) -> None:
        """Count the parts of a message, and wait for its end for a while only."""
        if not event.fin:
            self._fragments += 1
            if self._too_slow is None:
                self._too_slow = self.loop.call_later(self.message_seconds, self._refuse_message)
        else:
            self._fragments = 0
            if self._too_slow is not None:
                self._too_slow.cancel()
                self._too_slow = None

    def _refuse_message(self) -> None:
        """Close the connection because of a message that has too many parts or takes too long."""
        self._fail(CloseCode.POLICY_VIOLATION, "the message does not come to an end")

    def _fail(self, code: int, reason: str) -> None:
        """Close the connection because of what the client has sent."""
        self.frames = []
        if self.conn.state is State.OPEN:
            self.conn.fail(code, reason)
            self.handle_parser_exception()

    def send_receive_event_to_app(self) -> None:
        """Give a message to the application."""
        if self.curr_msg_data_type != "text" or self.close_sent:
            super().send_receive_event_to_app()
            return
        frames, self.frames = self.frames, []
        self._take_text(b"".join(frames))

    def _take_text(self, data: bytes) -> None:
        """Give a text to the application, by the short way if that is open; what is not UTF-8 closes."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            # The parent would write a traceback to the log, as often as a client likes.
            self._fail(CloseCode.INVALID_DATA, "the text is not UTF-8")
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

    def handle_ping(self) -> None:
        """Answer a ping; of those that a client sends without reading, the last one alone."""
        pong = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(pong)
        else:
            self._pong = pong

    def resume_writing(self) -> None:
        """Go on where the client took nothing for a while."""
        super().resume_writing()
        if self._pong:
            self.transport.write(self._pong)
            self._pong = b""

    def keepalive_timeout(self) -> None:
        """Close a connection whose client does not answer pings, and cut it if that takes too long."""
        if (self.read_paused or self._held) and self.writable.is_set():
            # The client takes what it is sent, and its answer may be among what we have not read.
            self.pong_timer = self.loop.call_later(self.ping_timeout or 0.0, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        self._linger()

    async def receive(self) -> ASGIReceiveEvent:
        """Give the application the next event, and go on taking frames if they had to wait for that."""
        self._go_on()
        event = await super().receive()
        self._go_on()
        return event

    async def run_asgi(self) -> None:
        """Run the application; what it said has a while to be taken when it has nothing more to say."""
        await super().run_asgi()
        # The answer to a Close may wait behind what nobody takes any more.
        self.read_paused = False
        self._go_on()
        if not self.disconnected:
            self._linger()

    def _linger(self) -> None:
        """Cut the connection in a while, if it is not lost by then."""
        if self._cut_off is None:
            self._cut_off = self.loop.call_later(self.linger_seconds, self.transport.abort)
