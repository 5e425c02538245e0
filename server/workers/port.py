"""The port: all connections are taken here, and each goes to the worker that has the fewest."""

import asyncio
import itertools
import socket
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from server.workers.worker import Worker

_UNTAKEN: Final = 64
"""How many connections may be on their way to one worker; further ones wait in the system's queue."""
_AT_ONCE: Final = 64
"""How many connections are taken before others have their turn."""
_PAUSE: Final = 0.5
"""Seconds until another attempt where the system has no descriptor left for a connection."""

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class Port:
    """Takes connections while there is a worker for them, and lets them wait for one otherwise."""

    def __init__(self, listener: socket.socket, workers: Callable[[], Iterable[Worker]]) -> None:
        """Take over `listener`; `workers` gives those that connections may go to at the moment."""
        listener.setblocking(False)
        self._listener = listener
        self._workers = workers
        self._returned: deque[socket.socket] = deque()
        self._turns = itertools.count()
        self._last_turns: dict[Worker, int] = {}
        self._listens = False
        self._closed = False

    def attend(self) -> None:
        """Go on: there may be a worker again that takes connections. To be called after every change."""
        while self._returned and (worker := self._choose()) is not None:
            if not worker.hand(self._returned[0]):
                return
            self._returned.popleft()
        if not self._listens and not self._closed and self._able():
            self._listens = True
            asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)

    def take_back(self, connection: socket.socket) -> None:
        """Hand a connection to another worker, now or as soon as there is one."""
        if self._closed:
            connection.close()
        else:
            self._returned.append(connection)

    def close(self) -> None:
        """Take no more connections, and refuse those that wait."""
        self._closed = True
        self._rest()
        self._listener.close()
        for connection in self._returned:
            connection.close()
        self._returned.clear()

    def _rest(self) -> None:
        if self._listens:
            self._listens = False
            asyncio.get_running_loop().remove_reader(self._listener.fileno())

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            if not self._able():
                self._rest()
                return
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                # The client has gone while it waited.
                continue
            except OSError as error:
                _log.error("no connection can be taken", error=error.strerror)
                self._rest()
                asyncio.get_running_loop().call_later(_PAUSE, self.attend)
                return
            worker = self._choose()
            if worker is None or not worker.hand(connection):
                self._returned.append(connection)
                self._rest()
                return

    def _able(self) -> list[Worker]:
        """Return the workers that can take a connection now."""
        return [worker for worker in self._workers() if worker.untaken < _UNTAKEN]

    def _choose(self) -> Worker | None:
        """Return the worker with the fewest connections; among equals, who was last given one longest ago."""
        able = self._able()
        if not able:
            return None
        last = self._last_turns
        worker = min(able, key=lambda each: (each.load, last.get(each, -1)))
        self._last_turns = {each: last.get(each, -1) for each in able} | {worker: next(self._turns)}
        return worker
