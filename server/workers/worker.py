"""One worker as its parent sees it: a process that takes connections, answers questions, and ends."""

import asyncio
import contextlib
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from socket import socket, socketpair
from typing import Final, NamedTuple, Protocol

import structlog

from server.workers import channel
from server.workers.channel import Channel

_BURIAL_SECONDS: Final = 10.0
"""How long a process may take to end after it has closed its channel."""
_ANSWER_BYTES: Final = 4_194_304
"""How long an answer may be."""

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class Employer(Protocol):
    """Whoever wants to know what becomes of a worker. Nothing here may block or raise."""

    def changed(self, worker: "Worker") -> None:
        """Learn that the worker is ready, took something, wants to leave or has ended."""
        ...

    def take_back(self, connection: socket) -> None:
        """Take a connection that the worker ended without having taken."""
        ...

    def asked_for_figures(self, answer: socket) -> None:
        """Write to `answer` what `/metrics` says, and close it."""
        ...


class _Untaken(NamedTuple):
    """What is on its way to a worker. Until that has it, it is kept open here, too.

    A worker may die first, and on macOS closing it earlier can lose it.
    """

    end: socket
    is_clients: bool


class Worker:
    """A process from its start to its end. To be used in one event loop."""

    def __init__(
        self, number: int, command: Sequence[str], environ: Mapping[str, str], employer: Employer
    ) -> None:
        """Start a process; raises `OSError` if the system has none to give.

        `command` is what follows the interpreter; the options that say who the worker is are put after it.
        """
        self.number: Final = number
        self.ready = False
        """Whether it has been ready; it stays so."""
        self.leaving = False
        """Whether it has asked to be let go."""
        self.retired = False
        """Whether it has been told that no more connections come."""
        self.ended = asyncio.Event()
        self.settled = asyncio.Event()
        """Is set once it is ready, or has ended before it was."""
        self.load = 0
        """How many connections it has, those that are on their way included."""
        self.misses = 0
        """How many times in a row it has not been well."""
        self._employer = employer
        self._untaken: deque[_Untaken] = deque()
        ours, theirs = socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - it is ourselves
                    [sys.executable, *command, f"--number={number}", f"--channel={theirs.fileno()}"],
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    # A session of its own, so that a terminal's Ctrl-C reaches the parent alone.
                    start_new_session=True,
                    pass_fds=(theirs.fileno(),),
                )
            except OSError:
                ours.close()
                raise
        self.pid: Final = self._process.pid
        self._channel = Channel(ours)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._channel.fileno(), self._hear)
        self._burial: asyncio.Task[None] | None = None

    @property
    def status(self) -> int | None:
        """The exit status once it has ended, negative for a signal."""
        return self._process.returncode

    @property
    def untaken(self) -> int:
        """How many connections are on their way."""
        return len(self._untaken)

    def hand(self, connection: socket) -> bool:
        """Hand over a client's connection, or return False and leave it to the caller."""
        return self._hand(connection, is_clients=True)

    def _hand(self, end: socket, *, is_clients: bool) -> bool:
        if self.retired or self.ended.is_set() or not self._channel.say(channel.TAKE, end):
            return False
        self._untaken.append(_Untaken(end, is_clients))
        self.load += 1
        return True

    async def _ask(self, path: str) -> tuple[int, bytes]:
        """Ask by the way that clients' requests take, and return the status and body of the answer.

        Raises `OSError` or `ValueError` if no proper one comes.
        """
        ours, theirs = socketpair()
        ours.setblocking(False)
        if not self._hand(theirs, is_clients=False):
            ours.close()
            theirs.close()
            raise ConnectionError(f"worker {self.number} takes nothing")
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nhost: worker\r\nconnection: close\r\n\r\n".encode())
            answer = bytearray()
            while (part := await reader.read(65_536)) and len(answer) <= _ANSWER_BYTES:
                answer += part
        finally:
            writer.close()
        head, _, body = bytes(answer).partition(b"\r\n\r\n")
        status = head.split(b" ", 2)[1:2]
        if not status:
            raise ValueError(f"worker {self.number} gives no proper answer")
        return int(status[0]), body

    async def asked(self, path: str, seconds: float) -> bytes | None:
        """Return what it answers to a GET within a time, or None if it does not, or is not well."""
        try:
            async with asyncio.timeout(seconds):
                status, body = await self._ask(path)
        except (TimeoutError, OSError, ValueError):
            return None
        return body if status == 200 else None

    def notice(self) -> None:
        """Tell it that the port will be closed; it asks to leave when who watches has had time to see it."""
        self._channel.say(channel.NOTICE)

    def retire(self) -> None:
        """Tell it to take what it was sent, drain, and end."""
        if not self.retired:
            self.retired = True
            self._channel.finish()

    def kill(self) -> None:
        """End it at once."""
        self.retired = True
        self._process.kill()

    def _hear(self) -> None:
        for word, sent in self._channel.hear():
            if word == channel.FIGURES and sent is not None:
                self._employer.asked_for_figures(sent)
                continue
            if sent is not None:
                sent.close()
            if word == channel.TOOK and self._untaken:
                self._untaken.popleft().end.close()
            elif word == channel.ENDED:
                self.load -= 1
            elif word == channel.READY:
                self.ready = True
                self.settled.set()
            elif word == channel.LEAVE:
                self.leaving = True
        if self._channel.closed:
            self._loop.remove_reader(self._channel.fileno())
            self._burial = self._loop.create_task(self._bury())
        else:
            self._employer.changed(self)

    async def _bury(self) -> None:
        """See to it that the process has ended, now that it says nothing more, and return what it had not."""
        self.retired = True
        try:
            await asyncio.to_thread(self._process.wait, _BURIAL_SECONDS)
        except subprocess.TimeoutExpired:
            _log.error("a worker does not end and is killed", worker=self.number, pid=self.pid)
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, _BURIAL_SECONDS)
        self._channel.close()
        self.ended.set()
        self.settled.set()
        while self._untaken:
            untaken = self._untaken.popleft()
            if untaken.is_clients:
                self._employer.take_back(untaken.end)
            else:
                untaken.end.close()
        self._employer.changed(self)


def worker_command() -> list[str]:
    """Return the words after the interpreter that run a worker from the code this process would now find.

    A process that was itself started from a folder of source takes its workers from there. Otherwise what is
    installed counts, and nothing that happens to lie in the folder one is in.
    """
    by_module = getattr(sys.modules["__main__"], "__spec__", None) is not None
    return [*([] if by_module else ["-P"]), "-m", "server", "worker"]
