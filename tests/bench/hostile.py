"""What honest players notice of hostile clients: their times with and without, kind by kind.

    python -m tests.bench.hostile [--seconds 10] [--players 50] [--rate 100] [--only WORDS] [--json FILE]

The server has a core to itself (cpu 0). Its stores, the honest players and the hostile client share the other
one (cpu 1), the hostile client at idle priority: it gets all that the others leave and takes nothing from
them, so that what is measured is what the server does and not how the machine divides itself up. Honest
players (`tests.bench.load`) make moves at a fixed rate; a move counts from when it was due. The hostile one
comes from an address of its own, since limits by address are part of what it is up against. Before each
kind the honest players are measured alone.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import asyncpg

from engine import Play, make_game, shuffle
from server.ids import parse_id
from tests.bench.attacks import KINDS, Means
from tests.bench.descriptors import allow
from tests.bench.server import busy, call, cpu_of, pin_children, start, wait_for

_PORT: Final = 8773
_LONG: Final = 8
"""How many long sessions the hostile client has."""
_LENGTH: Final = 4_900
_OPTIONS: Final = {"draw": 1, "passes": 0, "worry_back": True}
_SETTLE: Final = 2.0


@dataclass(frozen=True)
class Line:
    """Honest players beside one kind of hostile client."""

    kind: str
    base_p50: float
    base_p99: float
    p50: float
    p99: float
    longest: float
    moves: int
    failed: int
    cpu: float
    """What the server took, in percent of its core."""
    memory: float
    """The most that the server had, in MiB."""
    left: float
    """What it had once the hostile client had gone, in MiB."""
    foreign: float
    """What other programs of the machine took, in percent of one core."""


def memory(pid: int) -> float:
    """Return what a process has in memory, in MiB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


class Watch:
    """Looks at a process's memory again and again."""

    def __init__(self, pid: int) -> None:
        self.most = 0.0
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(0.1):
            self.most = max(self.most, memory(self._pid))

    def stop(self) -> None:
        """Look no more."""
        self._done.set()
        self._thread.join()


def honest(given: argparse.Namespace, tokens: Path) -> dict[str, Any]:
    """Let the honest players play, and return what they report."""
    command = [
        *(sys.executable, "-m", "tests.bench.load", f"ws://127.0.0.1:{_PORT}/ws", "--json", "-"),
        *("-n", str(given.players), "--rate", str(given.rate), "--seconds", str(given.seconds)),
        *("--warm", "1", "--token-file", str(tokens)),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        print(done.stdout, done.stderr, file=sys.stderr)
        return {}


def times(report: dict[str, Any]) -> tuple[float, float, float, int]:
    """Return the median, the 99th percentile and the longest of the moves, and how many there were."""
    moves = report.get("methods", {}).get("session.move", {})
    p50, p99, longest = (moves.get(key) or float("inf") for key in ("p50_ms", "p99_ms", "max_ms"))
    return p50, p99, longest, int(moves.get("count") or 0)


async def lengthen(home: Path, sessions: dict[str, str]) -> None:
    """Give sessions a long past, by their seeds: random moves, straight into the database."""
    db: Any = await cast("Any", asyncpg).connect(
        host=str((home / "sockets").resolve()), user="postgres", database="postgres"
    )
    try:
        for session, seed in sessions.items():
            play, chance = Play(make_game("klondike", _OPTIONS), shuffle(seed, 1)), random.Random(seed)
            rows: list[tuple[object, ...]] = []
            while len(rows) < _LENGTH:
                if play.done and (not play.legal or chance.random() < 0.2):
                    kind, move = "undo", play.pop()[0]
                else:
                    kind, move = "move", chance.choice(play.legal)
                    play.push(move)
                at = datetime.now(UTC).replace(microsecond=0)
                rows.append((parse_id(session), play.seq, kind, move, at, play.score, play.moves))
            await db.copy_records_to_table(
                "events", records=rows, columns=["session", "seq", "kind", "move", "at", "score", "moves"]
            )
    finally:
        await db.close()


def means(home: Path) -> Means:
    """Make what a hostile client needs."""
    token = call(_PORT, "auth.guest", {})["token"]
    seeds = [f"hostile-{number}" for number in range(_LONG + 1)]
    made: dict[str, str] = {}
    for seed in seeds:
        params: dict[str, object] = {"game": "klondike", "options": _OPTIONS, "seed": seed, "public": True}
        made[by_token(token, "session.create", params)["session"]] = seed
    asyncio.run(lengthen(home, made))
    *going, ended = made
    for session in made:
        by_token(token, "session.get", {"session": session})
    by_token(token, "session.resign", {"session": ended})
    record = by_token(token, "session.record", {"session": ended})
    return Means(_PORT, "127.0.0.2", token, going, record, _LENGTH)


def by_token(token: str, method: str, params: dict[str, object]) -> Any:
    """Make one call over HTTP for a player."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    command = ["curl", "-s", "-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json"]
    done = subprocess.run(
        [*command, "-d", "@-", f"http://127.0.0.1:{_PORT}/rpc"],
        input=body,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["result"]


def measure(kind: str, pid: int, has: Means, given: argparse.Namespace, tokens: Path) -> Line:
    """Measure the honest players alone, then beside one kind of hostile client."""
    base_p50, base_p99, _, _ = times(honest(given, tokens))
    hostile = subprocess.Popen(
        ["taskset", "-c", "1", sys.executable, "-m", "tests.bench.attacks", kind],
        stdin=subprocess.PIPE,
        text=True,
    )
    assert hostile.stdin is not None
    hostile.stdin.write(json.dumps(asdict(has)))
    hostile.stdin.close()
    watch = Watch(pid)
    try:
        time.sleep(_SETTLE)
        began, cpu, (total, ours) = time.monotonic(), cpu_of(pid), busy([os.getpid(), pid])
        report = honest(given, tokens)
        took, cpu, (total_after, ours_after) = (
            time.monotonic() - began,
            cpu_of(pid) - cpu,
            busy([os.getpid(), pid]),
        )
    finally:
        hostile.send_signal(signal.SIGINT)
        try:
            hostile.wait(5)
        except subprocess.TimeoutExpired:
            hostile.kill()
            hostile.wait()
        watch.stop()
    time.sleep(_SETTLE)
    p50, p99, longest, moves = times(report)
    errors = sum(error["count"] for error in report.get("errors", ()))
    failed = report.get("checks", {}).get("failed", 1) + errors + sum(report.get("reconnects", {}).values())
    foreign = 100 * ((total_after - total) - (ours_after - ours)) / took
    return Line(
        kind,
        base_p50,
        base_p99,
        p50,
        p99,
        longest,
        moves,
        failed,
        100 * cpu / took,
        watch.most,
        memory(pid),
        max(0.0, foreign),
    )


def table(lines: list[Line]) -> str:
    """Return the report as people read it."""
    names = (
        "hostile client",
        "p50 ms",
        "ratio",
        "p99 ms",
        "ratio",
        "max ms",
        "moves",
        "failed",
        "server %",
        "MiB",
        "left MiB",
        "foreign %",
    )
    rows = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    p50 = statistics.median(line.base_p50 for line in lines)
    p99 = statistics.median(line.base_p99 for line in lines)
    rows.append(f"| none (median) | {p50:.2f} | | {p99:.2f} | |" + " |" * 7)
    rows += [
        f"| {one.kind} | {one.p50:.2f} | {one.p50 / one.base_p50:.1f} | {one.p99:.2f}"
        f" | {one.p99 / one.base_p99:.1f} | {one.longest:.0f} | {one.moves} | {one.failed}"
        f" | {one.cpu:.0f} | {one.memory:.0f} | {one.left:.0f} | {one.foreign:.0f} |"
        for one in lines
    ]
    return "\n".join(rows)


def main() -> None:
    """Run all kinds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--players", type=int, default=50)
    parser.add_argument("--rate", type=float, default=100.0, help="moves a second of all players")
    parser.add_argument("--only", default="", help="kinds whose names have one of these words, with commas")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    allow(4_000)
    os.sched_setaffinity(0, {1})
    kinds = [kind for kind in KINDS if any(word in kind for word in given.only.split(","))]
    lines: list[Line] = []
    with tempfile.TemporaryDirectory(prefix="patience-hostile-") as folder:
        os.chmod(folder, 0o755)
        home, tokens = Path(folder) / "home", Path(folder) / "tokens"
        arena = start(
            [sys.executable, "-m", "server", "serve", "--port", str(_PORT)],
            {"PATIENCE_HOME": str(home), "PATIENCE_LOG_LEVEL": "error"},
        )
        try:
            wait_for(_PORT)
            pin_children(arena.pid)
            has = means(home)
            for kind in kinds:
                lines.append(measure(kind, arena.pid, has, given, tokens))
                print(table(lines[-1:]).splitlines()[-1], file=sys.stderr)
        finally:
            arena.send_signal(signal.SIGTERM)
            try:
                arena.wait(60)
            except subprocess.TimeoutExpired:
                arena.kill()
    print(table(lines))
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(line) for line in lines], indent=2) + "\n")


if __name__ == "__main__":
    main()
