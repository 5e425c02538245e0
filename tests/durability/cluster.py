"""Several `patience serve` on the same stores, each at a port of its own, stopped and killed one by one."""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random
from typing import Literal

from tests.durability.crowd import hold
from tests.processes import Process, environment
from tests.proxy import Place
from tests.rates import UNHURRIED


class Life(Process):
    """One process, from its start to its end, at a port that is told."""

    def __init__(self, settings: dict[str, str], port: int) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  `close` closes it.
        self.child = subprocess.Popen(
            [sys.executable, "-m", "server", "serve", "--port", str(port)],
            env=environment(**UNHURRIED | settings),
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.port = port
        self.end: Literal["none", "stop", "kill"] = "none"
        """How it was or is being ended."""

    def complaints(self) -> list[str]:
        """Return what it has logged that should not have happened, a traceback's lines among it."""
        found: list[str] = []
        # What a process that is killed has logged may end within a line.
        for line in self.log.rpartition("\n")[0].splitlines():
            try:
                level = json.loads(line)["level"]
            except (ValueError, KeyError):
                level = "none"
            if level not in {"debug", "info", "warning"}:
                found.append(line)
        return found


class Cluster:
    """The processes that there are, as their clients know them: by their addresses."""

    def __init__(self, size: int, chance: Random, **settings: str) -> None:
        self._settings = settings
        self._chance = chance
        self.ports = _free_ports(size, chance)
        self.lives: list[Life] = []
        self.stops: list[int] = []
        """The exit codes of those that were asked to stop."""
        self.kills = 0

    @property
    def places(self) -> list[Place]:
        """Where they listen, or will again."""
        return [Place("127.0.0.1", port) for port in self.ports]

    def pick(self, other: Life | None = None) -> Life:
        """Return one of them, but another one than `other`, which may be one that takes no clients by now."""
        return self._chance.choice([life for life in self.lives if other is None or life.port != other.port])

    async def start(self) -> None:
        """Start them all."""
        self.lives = [Life(self._settings, port) for port in self.ports]
        await asyncio.gather(*(life.ready() for life in self.lives))

    async def restart(self, number: int) -> None:
        """Ask one to stop, and start another one in its place."""
        life = self.lives[number]
        life.end = "stop"
        code = await life.stop()
        self.stops.append(code)
        hold(code == 0, "a process does not stop in good order:", code, life.log[-2_000:])
        await self._replace(number)

    async def kill(self, number: int) -> None:
        """Kill one, and start another one in its place."""
        life = self.lives[number]
        life.end = "kill"
        await life.kill()
        self.kills += 1
        await self._replace(number)

    async def _replace(self, number: int) -> None:
        _bury(self.lives[number])
        self.lives[number] = life = Life(self._settings, self.ports[number])
        await life.ready()

    async def close(self) -> None:
        """Stop them all in good order."""
        codes = await asyncio.gather(*(life.stop() for life in self.lives))
        for life in self.lives:
            _bury(life)
        hold(not any(codes), "a process does not stop in good order:", codes)

    def abandon(self) -> None:
        """Leave nothing behind, however it has ended."""
        for life in self.lives:
            life.close()


def _bury(life: Life) -> None:
    """Hear what a process that has ended has to say."""
    complaints = life.complaints()
    life.close()
    hold(not complaints, "a process complains:", *complaints[:3])


def _free_ports(count: int, chance: Random) -> list[int]:
    """Find ports that stay free while a process is away: those below what outgoing connections take."""
    found: list[int] = []
    while len(found) < count:
        port = chance.randrange(20_000, 32_000)
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


@asynccontextmanager
async def cluster(size: int, chance: Random, **settings: str) -> AsyncGenerator[Cluster]:
    """Run so many processes with these settings; they are to be closed in the end."""
    running = Cluster(size, chance, **settings)
    try:
        await running.start()
        yield running
    finally:
        running.abandon()
