"""The servers that are compared, and how each is started."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.bench.server import wait_for
from tests.processes import SECONDS


@dataclass(frozen=True, slots=True)
class Contender:
    """One server of the peers' folder."""

    name: str
    folder: str
    command: tuple[str, ...]
    protocol: str
    """What the peers' client calls it."""
    env: dict[str, str] = field(default_factory=dict[str, str])

    @contextmanager
    def running(self, peers: Path, port: int) -> Generator[int]:
        """Run it on cpu 0 until the block ends, and give its process id once it listens."""
        words = [word.format(python=sys.executable, port=port) for word in self.command]
        child = subprocess.Popen(
            ["taskset", "-c", "0", *words],
            cwd=peers / self.folder,
            env={**os.environ, **self.env, "PORT": str(port)},
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_for(port)
            yield child.pid
        finally:
            child.terminate()
            child.wait(SECONDS)


PEERS: Final = (
    Contender("echo", "py", ("{python}", "serve.py", "websockets-sansio", "asgi_echo:app", "{port}"), "echo"),
    Contender("boardgame.io", "boardgameio", ("node", "server.js"), "bgio", {"NODE_ENV": "production"}),
    Contender("colyseus", "colyseus", ("node", "server.mjs"), "colyseus"),
)
