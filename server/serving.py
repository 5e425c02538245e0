"""One process at its port: uvicorn, set up for this application and stopped without losing anything."""

import asyncio
import socket
from collections.abc import Callable
from types import FrameType
from typing import Final

import uvicorn

from server.app import Arena
from server.config import Settings
from server.rpc.http_protocol import HttpProtocol
from server.rpc.socket_protocol import SocketProtocol

_GRACE_SECONDS: Final = 5
"""How long plain HTTP requests may take after the connections have been parted with."""


class _Server(uvicorn.Server):
    """A server that parts with its clients before it closes their sockets."""

    def __init__(self, config: uvicorn.Config, arena: Arena, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._arena = arena
        self._ready = ready
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so when calls are taken."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain at the first signal, stop at once at the second.

        The parent's method would have the signal raised anew in the end, and so end the process by it instead
        of by exit code 0.
        """
        if self._draining is not None:
            self.should_exit = self.force_exit = True
            return
        for server in self.servers:
            server.close()
        self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        try:
            await self._arena.drain()
        finally:
            self.should_exit = True


def listen(settings: Settings) -> socket.socket:
    """Open the port, so that it is known, and taken, before anything else starts.

    Raises:
        OSError: it cannot be had.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    return socket.create_server((settings.host, settings.port), family=family, backlog=2048)


async def serve(arena: Arena, settings: Settings, port: socket.socket, ready: Callable[[], None]) -> bool:
    """Serve until a signal says to stop; ``ready`` is called when calls are taken.

    Returns:
        Whether it could be started at all; why not is in the log.
    """
    config = uvicorn.Config(
        arena.app,
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
    server = _Server(config, arena, ready)
    await server.serve(sockets=[port])
    return server.started
