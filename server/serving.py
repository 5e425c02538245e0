"""One process at its port: uvicorn, set up for this application and stopped without losing anything."""

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Final

import structlog
import uvicorn

from server.app import Arena
from server.config import Limits, Settings
from server.front import Front
from server.rpc.http_protocol import HttpProtocol
from server.rpc.socket_protocol import SocketProtocol
from server.terminal import Terminal

_GRACE_SECONDS: Final = 5
"""How long plain HTTP requests may take after the connections have been parted with."""
_FIRST_WORD_SECONDS: Final = 2.0
"""How long a connection that was made just before has for its first request."""
_FIRST_WORD_POLL: Final = 0.02
_REST_SECONDS: Final = 30.0
"""For all that is not set by a limit: close frames, first words, requests, the journal, connections."""

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


def stop_seconds(limits: Limits) -> float:
    """Return how long serving goes on at most after it was told to stop: all waits one after another."""
    return (limits.notice_ms + 2 * limits.drain_ms) / 1000 + _REST_SECONDS


class Server(uvicorn.Server):
    """A server that lets it be known that it stops, and parts with its clients before it closes anything."""

    def __init__(self, config: uvicorn.Config, arena: Arena, front: Front, ready: Callable[[], None]) -> None:
        """Serve `front`, which stands before `arena`; `ready` is called when calls are taken."""
        super().__init__(config)
        self._arena = arena
        self._front = front
        self._ready = ready
        self._stopping: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so when calls are taken."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop in good order at the first signal, at once at the second.

        The parent's method would have the signal raised anew in the end, and so end the process by it instead
        of by exit code 0.
        """
        if self._stopping is not None:
            self.should_exit = self.force_exit = True
            return
        self._stopping = asyncio.get_running_loop().create_task(self._stop())

    async def _stop(self) -> None:
        try:
            await self.give_notice()
            await self.drain()
        finally:
            self.should_exit = True

    async def give_notice(self) -> None:
        """Turn `/readyz`, and serve on for as long as whoever watches it may need to hear of that."""
        self._front.stopping = True
        if self._front.watched:
            _log.info("stopping; readyz says so", notice_ms=self._arena.limits.notice_ms)
            await asyncio.sleep(self._arena.limits.notice_ms / 1000)

    async def drain(self) -> None:
        """Take no new connections, answer what is under way, and part with every client."""
        self._front.stopping = True
        for server in self.servers:
            server.close()
        await self._arena.drain()
        await self._hear_out()

    async def _hear_out(self) -> None:
        """Wait a moment for connections that were made and have not been asked anything.

        Their requests are on the way, and a client whose connection was taken may expect an answer.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _FIRST_WORD_SECONDS
        while loop.time() < deadline and any(map(_is_unasked, self.server_state.connections)):  # noqa: ASYNC110  uvicorn tells nobody.
            await asyncio.sleep(_FIRST_WORD_POLL)


def _is_unasked(connection: object) -> bool:
    """Whether a connection is open that has brought no request yet."""
    return isinstance(connection, HttpProtocol) and connection.cycle is None  # pyright: ignore[reportUnnecessaryComparison]  It is, before the first.


def listen(settings: Settings) -> socket.socket:
    """Open the port, so that it is known, and taken, before anything else starts.

    Raises:
        OSError: it cannot be had.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    return socket.create_server((settings.host, settings.port), family=family, backlog=2048)


def configured(front: Front, settings: Settings) -> uvicorn.Config:
    """Return how uvicorn is to serve."""
    return uvicorn.Config(
        front,
        ws=SocketProtocol,
        http=HttpProtocol,
        lifespan="on",
        access_log=False,
        log_config=None,
        ws_max_size=settings.limits.hard_bytes,
        ws_per_message_deflate=False,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=[str(network) for network in settings.trusted_proxies],
    )


async def serve(arena: Arena, settings: Settings, port: socket.socket, ready: Callable[[], None]) -> bool:
    """Serve until a signal says to stop; ``ready`` is called when calls are taken.

    Returns:
        Whether it could be started at all; why not is in the log.
    """
    front = Front(arena.app)
    server = Server(configured(front, settings), arena, front, ready)
    terminal = Terminal()

    def hang_up() -> None:
        if terminal.gone:
            server.handle_exit(signal.SIGHUP, None)
        else:
            _log.warning("SIGHUP restarts workers, and there are none: this process goes on as it is")

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hang_up)
    await server.serve(sockets=[port])
    return server.started
