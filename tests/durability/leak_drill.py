"""A drill: connections are left in every state there is, and the server must be as it was.

    python -m tests.durability.leak_drill [--connections 1000] [--waves 3]

Waves of strays come over a server. After each wave it is waited until the server has nothing left of it, and
what it holds then is compared with what it held after the first one, which may have warmed it up. A table is
printed as JSON; the exit code is 1 if anything has grown.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import product
from typing import IO, Final

from tests.arena import contract_at
from tests.durability.crowd import Violation, hold
from tests.durability.strays import STATES, Ending, Ground, State, Stray, stray
from tests.peer import Peer
from tests.playthroughs import WON
from tests.processes import environment
from tests.rates import UNHURRIED
from tests.stores import embedded_stores, migrate
from tests.waiting import until

PING_SECONDS: Final = 5.0
GONE_SECONDS: Final = 60.0
"""After which a server must have let go of whatever has left it; it has deadlines of ten seconds."""
AT_ONCE: Final = 50
"""Strays that are on their way at the same time."""
GONE: Final = ("subscriptions", "connections", "sockets", "requests")
"""Of what there must be nothing left."""
KEPT: Final = ("tasks", "descriptors", "blocks", "bytes")
"""What must not grow by more than a tenth."""

KINDS: Final = tuple(product(STATES, Ending))


class Measured:
    """A server process that tells what it holds."""

    def __init__(self, database_url: str, redis_url: str) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  `close` closes it.
        settings = UNHURRIED | {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "PATIENCE_PORT": "0"}
        self._environment = environment(**settings, PATIENCE_LOG_LEVEL="warning")
        self.port = 0

    async def start(self) -> None:
        """Wait until it takes calls."""
        self._child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.durability.measured_server",
            str(PING_SECONDS),
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._log,
        )
        self.port = int(await self._line())

    async def held(self) -> dict[str, int]:
        """Ask what it holds."""
        assert self._child.stdin is not None
        self._child.stdin.write(b"\n")
        return json.loads(await self._line())

    async def stop(self) -> int:
        """Ask it to stop, and return the exit code."""
        if self._child.returncode is None:
            self._child.terminate()
        assert self._child.stdin is not None
        self._child.stdin.close()
        async with asyncio.timeout(GONE_SECONDS):
            return await self._child.wait()

    def close(self) -> None:
        """Let go of it; it is killed if it still runs."""
        if self._child.returncode is None:
            self._child.kill()
        self._log.close()

    @property
    def log(self) -> str:
        """All that it has logged."""
        self._log.seek(0)
        return self._log.read().decode()

    async def _line(self) -> bytes:
        assert self._child.stdout is not None
        async with asyncio.timeout(GONE_SECONDS):
            line = await self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"the server has ended:\n{self.log}")
        return line


@asynccontextmanager
async def measured(database_url: str, redis_url: str) -> AsyncGenerator[Measured]:
    """Run such a server."""
    server = Measured(database_url, redis_url)
    await server.start()
    try:
        yield server
        hold(await server.stop() == 0, "it does not stop in good order:", server.log)
    finally:
        server.close()


async def drill(
    server: Measured, *, connections: int, waves: int, kinds: Sequence[tuple[State, Ending]] = KINDS
) -> list[dict[str, int]]:
    """Let waves of strays come, of all `kinds` in turn; return what was held after each wave.

    Raises:
        Violation: something stays, or grows.
    """
    url = f"ws://127.0.0.1:{server.port}/ws"
    async with Peer(url, contract=await contract_at(server.port)) as peer:
        await peer.log_in()
        session = (await peer.deal(**WON.deal, public=True))["session"]
        await peer.play(session, WON.line)
        record = await peer.call("session.record", session=session)
        ground = Ground(server.port, peer.token, session, json.dumps(record))
    rows: list[dict[str, int]] = []
    for _ in range(waves):
        began = time.monotonic()
        strays = await _wave(ground, connections, kinds)
        row = await _gone(server, strays)
        row["seconds"] = round(time.monotonic() - began)
        for one in strays:
            one.socket.close()
        rows.append(row)
    for row in rows[1:]:
        for name in KEPT:
            hold(row[name] <= 1.1 * rows[0][name], f"{name} have grown:", rows)
    return rows


async def _wave(ground: Ground, count: int, kinds: Sequence[tuple[State, Ending]]) -> list[Stray]:
    """Leave so many connections, and return those that stay."""
    places = asyncio.Semaphore(AT_ONCE)

    async def leave(number: int) -> Stray:
        async with places:
            return await stray(*kinds[number % len(kinds)], ground)

    return await asyncio.gather(*(leave(number) for number in range(count)))


async def _gone(server: Measured, strays: list[Stray]) -> dict[str, int]:
    """Wait until there is nothing left of a wave, and return what is held then."""
    held: dict[str, int] = {}

    async def gone() -> bool:
        held.update(await server.held())
        return not any(held[name] for name in GONE)

    try:
        await until(gone, GONE_SECONDS)
    except TimeoutError:
        raise Violation(f"not gone: {held} {[one.name for one in strays if one.held]}") from None
    return held


async def _run(connections: int, waves: int) -> list[dict[str, int]]:
    """Run the drill on a server of its own."""
    with embedded_stores() as stores:
        await asyncio.to_thread(migrate, stores.database_url)
        async with measured(stores.database_url, stores.redis_url) as server:
            return await drill(server, connections=connections, waves=waves)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drill and print what came of it."""
    parser = argparse.ArgumentParser(description="Leave connections in every state, and look what stays.")
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--waves", type=int, default=3)
    options = parser.parse_args(arguments)
    try:
        rows = asyncio.run(_run(options.connections, options.waves))
    except Violation as violation:
        print(json.dumps({"violations": 1, "violation": str(violation)[:4_000]}))
        return 1
    print(json.dumps(rows, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
