"""A crew of small programs that speak the channel, well or badly, each started as a worker would be."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from server.workers import Crew, Pace
from tests.waiting import until_true

SECONDS = 30
PACE = Pace(notice=0.1, stop=0.5, start=10, longest_pause=0.2)
STRICT = replace(PACE, checks=0.05, answer=0.5, misses=2)

BEGINNING = """
import os, signal, socket, sys
number, channel = (int(word.partition("=")[2]) for word in sys.argv[1:])
with open(os.environ["STARTS"], "a") as starts:
    print(number, os.getpid(), file=starts)
channel = socket.socket(fileno=channel)
"""
READY = "channel.sendall(b'r')\n"
SERVING = """
while True:
    word, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not word:
        break
    if word == b"n":
        channel.sendall(b"l")
    if descriptors:
        channel.sendall(b"t")
        with socket.socket(fileno=descriptors[0]) as connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n%d" % number)
        channel.sendall(b"e")
"""
DEAF = "signal.pause()\n"


class Running:
    """A crew at work."""

    def __init__(self, starts: Path, port: int, crew: Crew) -> None:
        self.port = port
        self.crew = crew
        self._starts = starts

    @property
    def starts(self) -> list[tuple[int, int]]:
        """The number and pid of each worker that was started."""
        if not self._starts.exists():
            return []
        lines = self._starts.read_text().splitlines()
        return [(int(number), int(pid)) for number, pid in map(str.split, lines)]

    def pid(self, number: int) -> int:
        """Return the pid of the worker that was started last."""
        return dict(self.starts)[number]

    async def ask(self) -> str:
        """Connect, and return all that comes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer.decode().splitlines()[-1]


@asynccontextmanager
async def crew_of(
    program: str, folder: Path, *, count: int = 2, pace: Pace = PACE, fails: bool = False
) -> AsyncGenerator[Running]:
    """Run `count` workers of a program; stop them in the end unless that `fails` by itself."""
    starts = folder / "starts"
    ready = asyncio.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
        environ = dict(os.environ) | {"STARTS": str(starts)}
        crew = Crew(listener, count, ["-c", BEGINNING + program], environ, pace)
        task = asyncio.create_task(crew.run(ready.set))
        try:
            if not fails:
                await asyncio.wait_for(ready.wait(), SECONDS)
            yield Running(starts, port, crew)
        finally:
            if not fails:
                crew.stop()
            assert await asyncio.wait_for(task, SECONDS) is not fails
            assert ready.is_set() is not fails


def gone(pid: int) -> bool:
    """Whether a process has ended and its parent has taken note."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_those_that_cannot_start_end_it(tmp_path: Path) -> None:
    async with crew_of("sys.exit(3)", tmp_path, fails=True):
        pass


async def test_one_that_cannot_start_ends_it_and_the_others(tmp_path: Path) -> None:
    program = "if number == 2: sys.exit(3)\n" + READY + SERVING
    async with crew_of(program, tmp_path, fails=True) as running:
        await until_true(lambda: len(running.starts) == 2)
        await until_true(lambda: all(gone(pid) for _, pid in running.starts))


async def test_one_that_is_never_ready_ends_it(tmp_path: Path) -> None:
    async with crew_of(DEAF, tmp_path, count=1, pace=replace(PACE, start=0.5), fails=True) as running:
        await until_true(lambda: len(running.starts) == 1)
        await until_true(lambda: gone(running.pid(1)))


async def test_all_take_connections_in_turn(tmp_path: Path) -> None:
    async with crew_of(READY + SERVING, tmp_path, count=3) as running:
        answers = [await running.ask() for _ in range(9)]
        assert [answers.count(number) for number in "123"] == [3, 3, 3]


async def test_one_that_ends_is_started_again_and_nobody_is_refused_meanwhile(tmp_path: Path) -> None:
    async with crew_of(READY + SERVING, tmp_path) as running:
        before = dict(running.starts)
        for pid in before.values():
            os.kill(pid, signal.SIGKILL)
        answers = await asyncio.gather(*(running.ask() for _ in range(20)))
        assert set(answers) <= {"1", "2"}
        await until_true(lambda: len(running.starts) == 4)
        assert not before.items() & dict(running.starts).items()


async def test_what_one_had_not_taken_when_it_ended_goes_to_others(tmp_path: Path) -> None:
    program = READY + "if number == 1: signal.pause()\n" + SERVING
    pace = replace(PACE, first_pause=SECONDS, longest_pause=SECONDS)
    async with crew_of(program, tmp_path, pace=pace) as running:
        asking = [asyncio.create_task(running.ask()) for _ in range(20)]
        done, waiting = await asyncio.wait(asking, timeout=1)
        assert waiting
        assert {task.result() for task in done} <= {"2"}
        os.kill(running.pid(1), signal.SIGKILL)
        assert set(await asyncio.gather(*asking)) == {"2"}


async def test_one_that_does_not_answer_is_killed(tmp_path: Path) -> None:
    program = READY + "if number == 1: signal.pause()\n" + SERVING
    async with crew_of(program, tmp_path, pace=STRICT) as running:
        first = dict(running.starts)
        await until_true(lambda: running.pid(1) != first[1])
        assert gone(first[1])
        assert running.pid(2) == first[2]


async def test_one_that_does_not_end_is_killed(tmp_path: Path) -> None:
    async with crew_of(READY + DEAF, tmp_path) as running:
        pids = list(dict(running.starts).values())
        assert len(pids) == 2
    assert all(map(gone, pids))


async def test_all_are_replaced_one_after_another(tmp_path: Path) -> None:
    async with crew_of(READY + SERVING, tmp_path) as running:
        first = dict(running.starts)
        running.crew.renew()
        await until_true(lambda: len(running.starts) == 4 and all(map(gone, first.values())))
        assert [number for number, _ in running.starts[2:]] == [1, 2]
        # Two wishes before the first of the new ones was started are one.
        second = dict(running.starts)
        running.crew.renew()
        running.crew.renew()
        await until_true(lambda: len(running.starts) >= 6 and all(map(gone, second.values())))
        assert [number for number, _ in running.starts[4:]] == [1, 2]


async def test_a_wish_meanwhile_is_for_those_that_were_started_before_it(tmp_path: Path) -> None:
    async with crew_of(READY + SERVING, tmp_path) as running:
        running.crew.renew()
        await until_true(lambda: len(running.starts) == 3)
        third = running.pid(1)
        running.crew.renew()
        await until_true(lambda: len(running.starts) >= 5 and gone(third))
        last = dict(running.starts)
        assert [number for number, _ in running.starts[2:]] == [1, 2, 1]
        await running.ask()
        assert dict(running.starts) == last


async def test_the_old_ones_stay_if_new_ones_cannot_start(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    program = f"if os.path.exists({str(broken)!r}): sys.exit(3)\n" + READY + SERVING
    async with crew_of(program, tmp_path) as running:
        first = dict(running.starts)
        broken.touch()
        running.crew.renew()
        await until_true(lambda: len(running.starts) == 3)
        await until_true(lambda: gone(running.pid(1)))
        assert {await running.ask() for _ in range(4)} == {"1", "2"}
        assert not any(map(gone, first.values()))
        broken.unlink()
        running.crew.renew()
        await until_true(lambda: all(map(gone, first.values())))
        assert [number for number, _ in running.starts[3:]] == [1, 2]


@pytest.mark.parametrize("reply", ["", "HTTP/1.1 500 No\\r\\n\\r\\n", "nonsense"])
async def test_one_that_answers_badly_is_killed(tmp_path: Path, reply: str) -> None:
    program = READY + SERVING.replace("HTTP/1.1 200 OK\\r\\n\\r\\n%d", reply + "%.0s")
    async with crew_of(program, tmp_path, count=1, pace=STRICT) as running:
        first = running.pid(1)
        await until_true(lambda: running.pid(1) != first)
