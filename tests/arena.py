"""Whole servers on free ports: in the test's own event loop, or one in a thread for many tests."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass

import httpx
import uvicorn

from server.app import Arena
from server.clock import Clock
from server.config import Limits
from server.rpc.http_protocol import HttpProtocol
from server.rpc.socket_protocol import SocketProtocol
from tests.contract import Contract, Json
from tests.peer import Peer, guest
from tests.rates import unhurried


@dataclass(frozen=True)
class Address:
    """Where a server is, and what it promises."""

    port: int
    contract: Contract

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"

    def peer(self, token: str | None = None) -> Peer:
        """Give a connection, to be entered, that acts for nobody or for whom the token belongs to."""
        return Peer(self.ws, token, self.contract)

    def guest(self) -> AbstractAsyncContextManager[Peer]:
        """Give the connection of a new guest."""
        return guest(self.ws, self.contract)

    async def post(self, method: str, token: str | None = None, /, **params: object) -> Json:
        """Make a call over HTTP and return the whole answer."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with httpx.AsyncClient(timeout=30) as http:
            response = await http.post(f"{self.http}/rpc", json=message, headers=headers)
        assert response.status_code == 200
        answer = response.json()
        if "error" in answer:
            self.contract.check_error(method, answer["error"])
        else:
            self.contract.check_result(method, answer["result"])
        return answer


@dataclass(frozen=True)
class Running(Address):
    """A server in this loop, with its parts in reach."""

    arena: Arena


class _Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


async def contract_at(port: int) -> Contract:
    """Read what the server at a port promises."""
    async with httpx.AsyncClient(timeout=30) as http:
        return Contract((await http.get(f"http://127.0.0.1:{port}/openrpc.json")).json())


@asynccontextmanager
async def run(
    database_url: str,
    redis_url: str,
    limits: Limits | None = None,
    clock: Clock | None = None,
    *,
    hurried: bool = False,
    ping: float = 20.0,
) -> AsyncGenerator[Running]:
    """Serve until the block ends; only `hurried` do limits on how much somebody sends and makes hold.

    WebSockets are pinged every `ping` seconds, and have as long to answer.
    """
    arena = Arena(database_url, redis_url, limits if hurried else unhurried(limits), clock)
    server = _Server(
        uvicorn.Config(
            arena.app,
            ws=SocketProtocol,
            http=HttpProtocol,
            ws_max_size=arena.limits.hard_bytes,
            ws_per_message_deflate=False,
            ws_ping_interval=ping,
            ws_ping_timeout=ping,
            lifespan="on",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
        )
    )
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        listening = asyncio.create_task(server.listening.wait())
        await asyncio.wait((serving, listening), return_when=asyncio.FIRST_COMPLETED, timeout=30)
        if not server.listening.is_set():
            listening.cancel()
            raise RuntimeError("the server did not start")
        try:
            port = listener.getsockname()[1]
            yield Running(port, await contract_at(port), arena)
        finally:
            server.should_exit = True
            await serving


@contextmanager
def run_in_thread(database_url: str, redis_url: str) -> Generator[Address]:
    """Serve from a thread of its own until the block ends."""
    started: list[Address] = []
    ready = threading.Event()
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        stop = asyncio.Event()
        stops.append((asyncio.get_running_loop(), stop))
        async with run(database_url, redis_url) as running:
            started.append(Address(running.port, running.contract))
            ready.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(serve())
        finally:
            ready.set()

    thread = threading.Thread(target=work, name="arena")
    thread.start()
    ready.wait(60)
    try:
        yield started[0]
    finally:
        loop, stop = stops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
