"""What idle connections cost: memory for each, and speed of those who play among them.

    python -m tests.bench.idle [--connections 10000] [--players 100] [--seconds 3] [--rounds 3]

Memory is what the resident set of a fresh server process grows by; of a bare Starlette echo on the same stack
likewise. `bare` connections do nothing at all, `subscribed` ones act for a guest each, who is subscribed to a
session of his own, which is in memory too. All answer pings. Then players (Klondike by the full rules, every
answer durable, as fast as answers come) take turns on that process and on an empty one beside it.

A process and its clients open as many files as there are connections: the soft limit is raised as far as the
hard one allows, and what to do is said where that is too low.
"""

import argparse
import asyncio
import re
import statistics
from dataclasses import dataclass
from math import ceil
from typing import Final

import httpx
import uvloop

from tests.bench.descriptors import TooFewDescriptors, allow
from tests.bench.foreign import Foreign
from tests.bench.holding import KINDS
from tests.bench.idlers import ConnectionsLost, idlers
from tests.bench.place import Place
from tests.bench.server import Player, call, deal, script
from tests.bench.stage import program, stage
from tests.bench.wire import Partner, run
from tests.processes import Process

_FASTEST: Final = 30_000
"""More moves a second than can be expected: so many sessions are dealt beforehand."""

_LENGTH: Final = 250
"""Moves of a script."""

_WARM: Final = 1.0
_SCRIPTS: Final = 8


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process took before and after connections were opened, in KiB."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Speed:
    """How players fared."""

    rate: float
    p50: float
    p99: float
    foreign: float


def resident(pid: int) -> int:
    """Return the resident set of a process in KiB."""
    with open(f"/proc/{pid}/status") as status:
        found = re.search(r"^VmRSS:\s+(\d+) kB$", status.read(), re.MULTILINE)
    assert found is not None
    return int(found[1])


async def gauge(server: Process, name: str) -> int:
    """Read one number off a server's metrics."""
    async with httpx.AsyncClient(timeout=30) as http:
        text = (await http.get(f"{server.http}/metrics")).text
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


async def play(server: Process, scripts: list[list[str]], players: int, seconds: float) -> Speed:
    """Let players play at a server for a while."""
    token = (await asyncio.to_thread(call, server.port, "auth.guest", {}))["token"]
    games = ceil(_FASTEST * (seconds + _WARM) / players / _LENGTH) + 1
    partners: list[Partner] = []
    for i in range(players):
        moves = scripts[i % len(scripts)]
        partners.append(Player(token, await asyncio.to_thread(deal, server.port, token, moves, games), moves))
    with Foreign() as foreign:
        latencies, took, failures = await run(
            "127.0.0.1", server.port, "/ws", partners, _WARM, seconds, lambda: None
        )
    if failures:
        raise RuntimeError(f"{len(failures)} players failed: {failures[0]}")
    ordered = sorted(latencies)
    p50, p99 = (1000 * ordered[int(len(ordered) * share)] for share in (0.5, 0.99))
    return Speed(len(ordered) / took, p50, p99, foreign.percent)


async def take_memory(place: Place, pid: int, count: int, kind: str) -> Memory:
    """Open connections, look what they take, and close them."""
    before = resident(pid)
    async with idlers(place, count, kind):
        return Memory(before, resident(pid))


def show_memory(name: str, count: int, memory: Memory, base: Memory | None) -> None:
    """Print a line of the table."""
    each = (memory.after - memory.before) / count
    ratio = f"{each * count / (base.after - base.before):.2f}" if base else "1.00"
    print(
        f"| {name} | {memory.before / 1024:.1f} | {memory.after / 1024:.1f} | {each:.1f} | {ratio} |",
        flush=True,
    )


async def measure(given: argparse.Namespace) -> None:
    """Measure and print both tables."""
    count, kinds = given.connections, given.kinds.split(",")
    allow(count + given.players)
    scripts = [script(str(i)) for i in range(_SCRIPTS)]
    speeds: dict[tuple[str, str], list[Speed]] = {}
    print("| connections | MiB before | MiB after | KiB each | ratio |")
    print("| --- " * 5 + "|")
    with program("tests.bench.echo") as (place, pid):
        base = await take_memory(place, pid, count, "bare")
    show_memory(f"{count} at a bare echo", count, base, None)
    for kind in kinds:
        async with stage(2) as (crowded, empty):
            # What a process takes once for its first calls is none of the connections'.
            for server in (crowded, empty):
                await play(server, scripts, 1, 0.1)
            before = resident(crowded.child.pid)
            async with idlers(Place.parse(crowded.ws), count, kind):
                open_now = await gauge(crowded, "patience_connections")
                sessions = await gauge(crowded, "patience_live_sessions")
                memory = Memory(before, resident(crowded.child.pid))
                show_memory(f"{open_now} {kind}, {sessions} sessions", count, memory, base)
                for _ in range(given.rounds):
                    for name, server in (("without", empty), ("among", crowded)):
                        speed = await play(server, scripts, given.players, given.seconds)
                        speeds.setdefault((kind, name), []).append(speed)
    print()
    print(f"| {given.players} players | moves/s | ratio | p50 ms | ratio | p99 ms | ratio | foreign % |")
    print("| --- " * 8 + "|")
    for (kind, name), many in speeds.items():
        cells: list[str] = []
        for part in ("rate", "p50", "p99"):
            own, alone = (
                statistics.median(getattr(one, part) for one in samples)
                for samples in (many, speeds[kind, "without"])
            )
            cells += [f"{own:,.0f}" if part == "rate" else f"{own:.2f}", f"{own / alone:.2f}"]
        foreign = statistics.median(one.foreign for one in many)
        print(f"| {name} {count} {kind} | {' | '.join(cells)} | {foreign:.0f} |")


def main() -> None:
    """Run the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--connections", type=int, default=10_000)
    arguments.add_argument("--players", type=int, default=100)
    arguments.add_argument("--seconds", type=float, default=3.0)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--kinds", default=",".join(KINDS))
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(measure(arguments.parse_args()))
    except (TooFewDescriptors, ConnectionsLost) as error:
        raise SystemExit(f"idle: {error}") from None


if __name__ == "__main__":
    main()
