"""A server that tells what it holds: `python -m tests.durability.measured_server PING_SECONDS`.

It serves as `patience serve` does, on the stores that its environment names, but for how often it pings. It
prints its port as soon as it takes calls. To every line on its standard input it prints a line of JSON, with
how much there is of what must not grow.
"""

# pyright: reportPrivateUsage=false

import asyncio
import gc
import json
import os
import socket
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import uvloop

from server import logs
from server.app import Arena
from server.config import Settings
from server.front import Front
from server.rpc.connection import Connection
from server.rpc.http_protocol import HttpProtocol
from server.rpc.socket_protocol import SocketProtocol
from server.serving import Server, configured, listen

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def held(arena: Arena) -> dict[str, int]:
    """Count what there is."""
    gc.collect()
    kinds: Counter[object] = Counter(map(type, gc.get_objects()))
    return {
        "tasks": len(asyncio.all_tasks()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "subscriptions": len(arena._watching),
        "connections": kinds[Connection],
        "sockets": kinds[SocketProtocol],
        "requests": kinds[HttpProtocol],
        "blocks": sys.getallocatedblocks(),
        "bytes": int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE,
    }


async def main(ping: float) -> None:
    """Serve until a signal says to stop."""
    settings = Settings.from_env(os.environ)
    assert settings.database_url is not None
    assert settings.redis_url is not None
    listener = listen(settings)
    # What is accepted inherits it, and then few answers are more than the system takes.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
    arena = Arena(settings.database_url, settings.redis_url, settings.limits)
    front = Front(arena.app)
    config = configured(front, settings)
    config.ws_ping_interval = config.ws_ping_timeout = ping

    def tell() -> None:
        if os.read(0, 4096):
            print(json.dumps(held(arena)), flush=True)
        else:
            loop.remove_reader(0)

    loop = asyncio.get_running_loop()
    loop.add_reader(0, tell)
    port = listener.getsockname()[1]
    await Server(config, arena, front, lambda: print(port, flush=True)).serve(sockets=[listener])


if __name__ == "__main__":
    logs.configure(Settings.from_env(os.environ).log_level)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(float(sys.argv[1])))
