"""Our server beside a bare echo, boardgame.io and Colyseus, in one run.

    python -m tests.bench.peers --peers DIR [--sessions 1,50,200,1000] [--seconds 2] [--rounds 3]

DIR is where the peers' programs and their load client are installed; they are no part of this project. It has

    load/load.py, load/protos.py   the load client, and what it knows of each protocol
    py/serve.py, py/asgi_echo.py   a bare Starlette echo on uvicorn as it is (websockets-sansio)
    boardgameio/server.js          Klondike on boardgame.io, its node_modules installed
    colyseus/server.mjs            Klondike on Colyseus, likewise

One and the same client drives all of them: each session sends a move, waits for its answer, sends the next.
The peers play one scripted game of 60 draws and 39 other moves over and over, in memory. Ours plays games of
as many by the full rules, each in a session of its own that was dealt before; every answer is durable. A
server has cpu 0; the client, PostgreSQL (fsync on) and Valkey share cpu 1. Every round starts each server
anew and goes through all of them, so that a noisy moment hits all. Medians are taken of samples in which
other programs took at most 15 percent of a core; `*` marks those for which there was none. The exit code is 1
after any error.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import ceil
from pathlib import Path
from typing import Final

from server.embedded import EmbeddedStores
from tests.bench.foreign import Foreign
from tests.bench.peers.contender import PEERS, Contender
from tests.bench.peers.sample import Sample, print_tables
from tests.bench.peers.script import Script, script
from tests.bench.server import call, deal
from tests.bench.stage import servers, stores

_OURS: Final = "arena"
_ADAPTER: Final = "tests.bench.peers.adapter:Arena"
_FASTEST: Final = 50_000
"""More moves a second than can be expected: so many sessions are dealt beforehand."""

_WARM: Final = 1.0
_ROOT: Final = Path(__file__).resolve().parents[3]


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@asynccontextmanager
async def running(name: str, peers: Path, on: EmbeddedStores) -> AsyncGenerator[tuple[int, int]]:
    """Run one of the servers; give its port and process id."""
    if name == _OURS:
        async with servers(on) as (server,):
            yield server.port, server.child.pid
        return
    port = free_port()
    with contender(name).running(peers, port) as pid:
        yield port, pid


def contender(name: str) -> Contender:
    """Return one of the peers by its name."""
    return next(one for one in PEERS if one.name == name)


class Client:
    """The peers' load client."""

    def __init__(self, peers: Path, folder: Path, given: Script, seconds: float) -> None:
        """Measure for so long; `folder` is for files."""
        self._peers, self._folder, self._script, self._seconds = peers, folder, given, seconds

    async def measure(self, name: str, port: int, pid: int, size: int) -> Sample:
        """Let so many sessions be played, and return what the client says.

        Raises:
            RuntimeError: it failed.
        """
        path, protocol = ("/ws", _ADAPTER) if name == _OURS else ("/", contender(name).protocol)
        sessions = self._folder / "sessions.json"
        if name == _OURS:
            await asyncio.to_thread(self._deal, port, size, sessions)
        arguments = [
            *("--url", f"ws://127.0.0.1:{port}{path}", "--proto", protocol, "--label", name),
            *("-n", str(size), "-d", str(self._seconds), "-w", str(_WARM), "--pids", f"server={pid}"),
        ]
        env = {**os.environ, "BENCH_SESSIONS": str(sessions), "PYTHONPATH": str(_ROOT)}
        with Foreign() as foreign:
            client = await asyncio.create_subprocess_exec(
                sys.executable, "load.py", *arguments, cwd=self._peers / "load", env=env, stdout=PIPE
            )
            output, _ = await client.communicate()
        if client.returncode or not output.strip():
            raise RuntimeError(f"the load client failed at {name} with {size} sessions")
        said = json.loads(output)
        cpu = 1e4 * said["server_cpu"] / said["mps"] if said["mps"] else 0.0
        return Sample(name, size, said["mps"], said["p50"], said["p99"], cpu, foreign.percent, said["errors"])

    def _deal(self, port: int, size: int, file: Path) -> None:
        """Deal as many sessions as can be played, and write them down for the client."""
        token = call(port, "auth.guest", {})["token"]
        each = ceil(_FASTEST * (self._seconds + _WARM) / size / len(self._script.moves)) + 1
        dealt = deal(port, token, [self._script.seed], each * size)
        each_one = [dealt[at : at + each] for at in range(0, len(dealt), each)]
        file.write_text(json.dumps({"token": token, "moves": self._script.moves, "sessions": each_one}))


async def measure(given: argparse.Namespace) -> list[Sample]:
    """Go through all servers, round by round."""
    names = given.only.split(",") if given.only else [_OURS, *(one.name for one in PEERS)]
    sizes = [int(size) for size in given.sessions.split(",")]
    samples: list[Sample] = []
    with stores() as on, tempfile.TemporaryDirectory(prefix="peers-") as folder:
        client = Client(given.peers, Path(folder), script(), given.seconds)
        for _ in range(given.rounds):
            for name in names:
                async with running(name, given.peers, on) as (port, pid):
                    for size in sizes:
                        samples.append(await client.measure(name, port, pid, size))
                        print(samples[-1], file=sys.stderr)
    return samples


def main() -> None:
    """Run the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--peers", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--sessions", default="1,50,200,1000")
    arguments.add_argument("--seconds", type=float, default=2.0)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--only", metavar="NAMES", help="some of arena,echo,boardgame.io,colyseus")
    given = arguments.parse_args()
    given.peers = given.peers.resolve()
    if not (given.peers / "load" / "load.py").is_file():
        arguments.error(f"{given.peers} has no load/load.py; --help tells what it has to have")
    samples = asyncio.run(measure(given))
    print_tables(samples, _OURS)
    if any(sample.errors for sample in samples):
        raise SystemExit("peers: some moves were answered with errors")


if __name__ == "__main__":
    main()
