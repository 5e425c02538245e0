"""What benches run: stores that keep what they are told, and servers on them, each on a core of its own.

Servers have cpu 0. The bench itself, PostgreSQL (fsync on) and Valkey share cpu 1.
"""

import os
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final

from server import logs
from server.embedded import EmbeddedStores
from tests.bench.place import Place
from tests.bench.server import start, wait_for
from tests.processes import SECONDS, Process
from tests.stores import fresh_home, migrate

_CORES: Final = sorted(os.sched_getaffinity(0))
_SERVERS, _OTHERS = 0, 1
_SETTINGS: Final = {"PATIENCE_LOG_LEVEL": "error", "PATIENCE_LIMIT_CONNECTIONS": "1000000"}


def pin(pid: int, cpu: int) -> None:
    """Put a process with all its threads on one core, where there is more than one."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {_CORES[cpu % len(_CORES)]})


@contextmanager
def stores() -> Generator[EmbeddedStores]:
    """Pin this process, and run migrated stores until the block ends."""
    pin(os.getpid(), _OTHERS)
    logs.configure("error")
    with fresh_home() as home, EmbeddedStores(home) as running:
        migrate(running.database_url)
        yield running


@asynccontextmanager
async def servers(on: EmbeddedStores, count: int = 1, **settings: str) -> AsyncGenerator[list[Process]]:
    """Run so many server processes on these stores, with hardly any limit on clients but for `settings`."""
    addresses = {"DATABASE_URL": on.database_url, "REDIS_URL": on.redis_url}
    async with AsyncExitStack() as stack:
        started: list[Process] = []
        for _ in range(count):
            process = Process(_SETTINGS | addresses | settings)
            stack.callback(process.close)
            stack.push_async_callback(process.stop)
            await process.ready()
            pin(process.child.pid, _SERVERS)
            started.append(process)
        yield started


@asynccontextmanager
async def stage(count: int = 1, **settings: str) -> AsyncGenerator[list[Process]]:
    """Run so many server processes on stores of their own."""
    with stores() as running:
        async with servers(running, count, **settings) as started:
            yield started


@contextmanager
def program(module: str) -> Generator[tuple[Place, int]]:
    """Run a program that serves at the port it is given, a baseline, until the block ends.

    Gives where it is and its process id.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    child = start([sys.executable, "-m", module, str(port)], {})
    try:
        wait_for(port)
        yield Place.parse(f"ws://127.0.0.1:{port}/ws"), child.pid
    finally:
        child.terminate()
        child.wait(SECONDS)
