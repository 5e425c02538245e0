"""Moves a second through the real socket, durable commits included, beside a bare echo on the same stack.

    python -m tests.bench.server [--sessions 1,50,200,1000] [--seconds 3] [--rounds 3] [--profile]

The server has one core to itself (cpu 0); the client, PostgreSQL and Valkey share another (cpu 1). Every
session plays Klondike by the full rules: it sends a move of a random playout, waits for the answer, sends the
next. Rounds go through all servers, so that a noisy minute hits all; the medians are printed, with the load
that other programs put on the machine in the meantime.
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
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from itertools import count
from math import ceil

import uvloop

from engine import Play, make_game, shuffle
from tests.bench.wire import Partner, run
from tests.rates import UNHURRIED

_SCRIPTS = 8
_LENGTH = 250
_FASTEST = 20_000
"""More moves a second than can be expected: so many sessions are dealt beforehand."""
_OPTIONS = {"draw": 1, "passes": 0, "worry_back": True}


def script(seed: str) -> list[str]:
    """Return the moves of a random playout, as many as a game has that is played to its end."""
    chance = random.Random(seed)
    for attempt in count():
        game = make_game("klondike", _OPTIONS)
        play = Play(game, shuffle(f"{seed}-{attempt}", 1))
        moves = [f"{seed}-{attempt}"]
        while len(moves) <= _LENGTH and play.legal:
            moves.append(chance.choice(play.legal))
            play.push(moves[-1])
        if len(moves) > _LENGTH:
            return moves
    raise AssertionError


class Echo:
    """Sends what a player sends, to an echo."""

    headers = ""

    def next(self, answer: bytes) -> bytes:
        """Send a move's text."""
        return (
            b'{"jsonrpc":"2.0","id":100,"method":"session.move","params":'
            b'{"session":"01m8q8ywq4e0kbvj8g0h4tq3yc","move":"t3-t5","seq":100}}'
        )


class Player:
    """Plays one script over and over, each time in a session of its own that was dealt before."""

    def __init__(self, token: str, sessions: list[str], moves: list[str]) -> None:
        """Act by ``token`` and play its player's ``sessions``; the first of ``moves`` is the seed."""
        self.headers = f"Authorization: Bearer {token}\r\n"
        self._moves = moves
        self._sessions = sessions
        self._session = sessions.pop()
        self._seq = 0

    def next(self, answer: bytes) -> bytes:
        """Send the next move."""
        if b'"error"' in answer:
            raise RuntimeError(answer.decode())
        if self._seq == _LENGTH:
            self._session = self._sessions.pop()
            self._seq = 0
        seq = self._seq
        self._seq = seq + 1
        return (
            f'{{"jsonrpc":"2.0","id":{seq},"method":"session.move","params":'
            f'{{"session":"{self._session}","move":"{self._moves[seq + 1]}","seq":{seq}}}}}'
        ).encode()


@dataclass
class Sample:
    """One measurement."""

    rate: float
    p50: float
    p99: float
    cpu: float
    """Microseconds of the server process's CPU for one exchange; it says most on a busy machine."""
    foreign: float
    """What other programs took meanwhile, in percent of one core."""


def busy(pids: list[int]) -> tuple[float, float]:
    """Return the CPU seconds of the whole machine, and those of these processes and their children."""
    tick = os.sysconf("SC_CLK_TCK")
    with open("/proc/stat") as stat:
        fields = list(map(int, stat.readline().split()[1:]))
    total = (sum(fields[:8]) - fields[3] - fields[4]) / tick
    parents: dict[int, list[int]] = {}
    times: dict[int, float] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                rest = stat.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(rest[1]), []).append(int(name))
        times[int(name)] = (int(rest[11]) + int(rest[12])) / tick
    ours, todo = 0.0, list(pids)
    while todo:
        pid = todo.pop()
        ours += times.get(pid, 0.0)
        todo += parents.get(pid, [])
    return total, ours


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of one process alone."""
    with open(f"/proc/{pid}/stat") as stat:
        rest = stat.read().rpartition(")")[2].split()
    return (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK")


def start(command: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
    """Start a program on cpu 0."""
    return subprocess.Popen(
        ["taskset", "-c", "0", *command], env={**os.environ, **env}, stdout=subprocess.PIPE, text=True
    )


def wait_for(port: int) -> None:
    """Wait until something listens."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nothing listens on {port}")


def call(port: int, method: str, params: dict[str, object]) -> dict[str, str]:
    """Make one call over HTTP."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/rpc", body, {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["result"]


def deal(port: int, token: str, moves: list[str], count: int) -> list[str]:
    """Make sessions of a script's deal, 32 a call."""
    params = {"game": "klondike", "options": _OPTIONS, "seed": moves[0]}
    message = {"jsonrpc": "2.0", "id": 1, "method": "session.create", "params": params}
    sessions: list[str] = []
    while len(sessions) < count:
        body = json.dumps([message] * min(32, count - len(sessions))).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/rpc", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answers:
            sessions += [answer["result"]["session"] for answer in json.load(answers)]
    return sessions


def pin_children(pid: int) -> None:
    """Move the stores, which the server has started, to cpu 1."""
    _, ours = {}, subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    for child in ours:
        pin_children(int(child))
        subprocess.run(["taskset", "-a", "-c", "-p", "1", child], capture_output=True)


def measure(port: int, partners: list[Partner], seconds: float, pid: int) -> Sample:
    """Take one sample."""
    marks: list[tuple[tuple[float, float], float]] = []

    def mark() -> None:
        marks.append((busy([os.getpid(), pid]), cpu_of(pid)))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        latencies, took, failures = runner.run(run("127.0.0.1", port, "/ws", partners, 1.0, seconds, mark))
    (before, cpu_before), (after, cpu_after) = marks
    if failures:
        raise RuntimeError(f"{len(failures)} connections failed: {failures[0]}")
    ordered = sorted(latencies)
    foreign = 100 * ((after[0] - before[0]) - (after[1] - before[1])) / took

    def quantile(share: float) -> float:
        return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    cpu = 1e6 * (cpu_after - cpu_before) / len(ordered)
    return Sample(len(ordered) / took, quantile(0.5), quantile(0.99), cpu, max(0.0, foreign))


def main() -> None:
    """Run all rounds and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--sessions", default="1,50,200,1000")
    arguments.add_argument("--seconds", type=float, default=3.0)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--json", action="store_true", help="print the samples as JSON too")
    given = arguments.parse_args()
    sizes = [int(size) for size in given.sessions.split(",")]
    os.sched_setaffinity(0, {1})
    scripts = [script(str(i)) for i in range(_SCRIPTS)]
    samples: dict[tuple[str, int], list[Sample]] = {}
    with tempfile.TemporaryDirectory(prefix="patience-bench-") as home:
        os.chmod(home, 0o755)
        arena = start(
            [sys.executable, "-m", "server", "serve", "--port", "8771"],
            {"PATIENCE_HOME": f"{home}/home", "PATIENCE_LOG_LEVEL": "error"} | UNHURRIED,
        )
        echo = start([sys.executable, "-m", "tests.bench.echo", "8772"], {})
        try:
            wait_for(8771)
            wait_for(8772)
            pin_children(arena.pid)
            token = call(8771, "auth.guest", {})["token"]

            def player(token: str, moves: list[str], size: int, seconds: float) -> Player:
                games = ceil(_FASTEST * (seconds + 2) / size / _LENGTH) + 1
                return Player(token, deal(8771, token, moves, games), moves)

            for size in sizes * given.rounds:
                for name, port, pid in (("echo", 8772, echo.pid), ("arena", 8771, arena.pid)):
                    partners: list[Partner] = [
                        Echo()
                        if name == "echo"
                        else player(token, scripts[i % _SCRIPTS], size, given.seconds)
                        for i in range(size)
                    ]
                    sample = measure(port, partners, given.seconds, pid)
                    samples.setdefault((name, size), []).append(sample)
                    print(name, size, sample, file=sys.stderr)
        finally:
            for process in (arena, echo):
                process.send_signal(signal.SIGTERM)
                process.wait(20)
    print("| sessions | echo/s | moves/s | ratio | p50 ms | p99 ms | echo CPU us | move CPU us | foreign % |")
    print("| --- " * 9 + "|")
    for size in sizes:
        echoes, moves = samples["echo", size], samples["arena", size]
        rate = statistics.median(sample.rate for sample in moves)
        base = statistics.median(sample.rate for sample in echoes)
        p50, p99, cpu = (
            statistics.median(getattr(one, key) for one in moves) for key in ("p50", "p99", "cpu")
        )
        echo_cpu = statistics.median(sample.cpu for sample in echoes)
        foreign = statistics.median(sample.foreign for sample in echoes + moves)
        print(
            f"| {size} | {base:,.0f} | {rate:,.0f} | {rate / base:.2f} | {p50:.2f} | {p99:.2f}"
            f" | {echo_cpu:.1f} | {cpu:.1f} | {foreign:.0f} |"
        )
    if given.json:
        print(json.dumps([[*key, vars(sample)] for key, many in samples.items() for sample in many]))


if __name__ == "__main__":
    main()
