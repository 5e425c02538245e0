"""The worker's own side: a server without a port, which is given its connections by its parent."""

import asyncio
import signal
import socket
from types import FrameType
from typing import Final

import structlog
import uvicorn

from server.app import Arena
from server.config import Settings
from server.front import Front
from server.rpc.http_protocol import HttpProtocol
from server.serving import Server, configured
from server.workers import channel
from server.workers.channel import Channel

_LEAVE_SECONDS: Final = 5.0
"""How long the parent may take to let a worker go that wants to."""
_FIGURES_SECONDS: Final = 10.0
"""How long the parent may take to gather what `/metrics` says of all."""

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class DutyServer(Server):
    """Serves what comes over the channel, and stops when nothing more can come over it.

    That is the case when the parent says so and when it has died.
    """

    def __init__(self, config: uvicorn.Config, arena: Arena, front: Front, parent: Channel) -> None:
        """Serve for `parent`."""
        super().__init__(config, arena, front, self._begin)
        self._parent = parent
        self._connecting: set[asyncio.Task[None]] = set()
        self._connected = 0
        self._ended = 0
        self._noticing: asyncio.Task[None] | None = None
        self._asked_to_leave = False

    def _begin(self) -> None:
        asyncio.get_running_loop().add_reader(self._parent.fileno(), self._hear)
        self._parent.say(channel.READY)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ask to be let go at the first signal, and stop at once at the second.

        The parent closes the channel when it has sent the last connection, so none is lost on the way.
        """
        if self._asked_to_leave:
            self.should_exit = self.force_exit = True
            return
        self._asked_to_leave = True
        self._parent.say(channel.LEAVE)
        asyncio.get_running_loop().call_later(_LEAVE_SECONDS, self._end)

    async def on_tick(self, counter: int) -> bool:
        """Tell the parent what has ended, many times a second."""
        ended = self._connected - len(self.server_state.connections)
        for _ in range(ended - self._ended):
            self._parent.say(channel.ENDED)
        self._ended = max(self._ended, ended)
        return await super().on_tick(counter)

    def _hear(self) -> None:
        for word, connection in self._parent.hear():
            if word == channel.TAKE:
                self._parent.say(channel.TOOK)
                if connection is None:
                    _log.error("no descriptor is left for a connection, which is lost")
                    self._connected += 1
                else:
                    task = asyncio.create_task(self._take(connection))
                    self._connecting.add(task)
                    task.add_done_callback(self._connecting.discard)
            elif connection is not None:
                connection.close()
            elif word == channel.NOTICE and self._noticing is None:
                self._noticing = asyncio.create_task(self._let_it_be_known())
        if self._parent.closed:
            asyncio.get_running_loop().remove_reader(self._parent.fileno())
            self._end()

    async def _take(self, connection: socket.socket) -> None:
        """Serve a connection as if it had been accepted here."""
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)
        except OSError:
            # It has ended meanwhile.
            connection.close()
        finally:
            self._connected += 1

    def _protocol(self) -> asyncio.Protocol:
        return HttpProtocol(self.config, self.server_state, self.lifespan.state)

    async def _let_it_be_known(self) -> None:
        await self.give_notice()
        self._parent.say(channel.LEAVE)

    def _end(self) -> None:
        """Drain and stop; nothing more comes."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._drain_and_exit())

    async def _drain_and_exit(self) -> None:
        try:
            if self._connecting:
                await asyncio.wait(self._connecting)
            await self.drain()
        finally:
            self.should_exit = True


async def serve_on_duty(arena: Arena, settings: Settings, parent: Channel) -> bool:
    """Serve what `parent` sends until it sends no more, or is gone.

    Returns:
        Whether it could be started at all; why not is in the log.
    """

    async def figures() -> bytes | None:
        """Let the parent ask everybody; a worker knows of no other."""
        ours, theirs = socket.socketpair()
        # The parent's end is kept open here until it has answered: it may be on its way for a while.
        with ours, theirs:
            ours.setblocking(False)
            if not parent.say(channel.FIGURES, theirs):
                return None
            text = bytearray()
            try:
                async with asyncio.timeout(_FIGURES_SECONDS):
                    while part := await asyncio.get_running_loop().sock_recv(ours, 65_536):
                        text += part
            except (TimeoutError, OSError):
                return None
        return bytes(text) or None

    # Whoever sends this to all processes of the server means the parent.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    front = Front(arena.app, figures)
    server = DutyServer(configured(front, settings), arena, front, parent)
    await server.serve(sockets=[])
    return server.started
