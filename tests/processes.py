"""`patience serve` as a process of its own, to be talked to, stopped and killed."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

from tests.contract import Json
from tests.rates import UNHURRIED

SECONDS = 60
"""How long a start or a stop may take."""

_ADDRESS = re.compile(r"serves at http://\S+:(\d+) ")


def environment(**settings: str) -> dict[str, str]:
    """Return this process's environment with these settings of the server and no others."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PATIENCE_") and name not in {"DATABASE_URL", "REDIS_URL"}
    }
    return kept | settings


class Process:
    """One `patience serve`, with its workers if it has any."""

    def __init__(self, settings: dict[str, str], *options: str, source: Path | None = None) -> None:
        """Start one with more options; `source` is a folder with the program's code, if not this one's."""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  `close` closes it.
        self.child = subprocess.Popen(
            [sys.executable, "-m", "server", "serve", "--port", "0", *options],
            env=environment(**UNHURRIED | settings),
            cwd=source,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.port = 0

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Everything on standard error so far."""
        return os.pread(self._log.fileno(), 1 << 26, 0).decode()

    @property
    def lines(self) -> list[Json]:
        """What it has logged so far, but for what is no JSON and a line that is being written."""
        lines: list[Json] = []
        for line in self.log.splitlines():
            with contextlib.suppress(ValueError):
                lines.append(json.loads(line))
        return lines

    @property
    def starts(self) -> list[tuple[int, int]]:
        """The number and pid of each worker that has become ready, in that order."""
        return [(line["worker"], line["pid"]) for line in self.lines if line["event"] == "a worker is ready"]

    @property
    def workers(self) -> dict[int, int]:
        """The pid of the worker that has become ready last, for each number."""
        return dict(self.starts)

    async def ready(self) -> None:
        """Wait until it says where it is."""
        assert self.child.stdout is not None
        async with asyncio.timeout(SECONDS):
            line = await asyncio.to_thread(self.child.stdout.readline)
        found = _ADDRESS.search(line)
        if found is None:
            raise RuntimeError(f"the server did not start: {line!r}\n{self.log}")
        self.port = int(found[1])

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.child.send_signal(number)

    async def wait(self) -> int:
        """Wait for its end and return the exit code."""
        return await asyncio.to_thread(self.child.wait, SECONDS)

    async def stop(self) -> int:
        """Ask it to stop, unless it has ended already, and return the exit code."""
        if self.child.poll() is None:
            self.send(signal.SIGTERM)
        return await self.wait()

    async def kill(self) -> None:
        """Kill it, in the middle of whatever it does."""
        self.child.kill()
        await self.wait()

    def close(self) -> None:
        """Let go of its files; it is killed if it still runs."""
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait(SECONDS)
        if self.child.stdout is not None:
            self.child.stdout.close()
        self._log.close()


@asynccontextmanager
async def served(*options: str, **settings: str) -> AsyncGenerator[Process]:
    """Run a server with these options and settings; stop it in the end if it still runs."""
    async with running(Process(settings, *options)) as process:
        yield process


@asynccontextmanager
async def running(process: Process) -> AsyncGenerator[Process]:
    """Wait until a server is ready; stop it in the end if it still runs."""
    try:
        await process.ready()
        yield process
        await process.stop()
    except BaseException:
        # For whoever reads why a test failed.
        print(process.log, file=sys.stderr)
        raise
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.close()
