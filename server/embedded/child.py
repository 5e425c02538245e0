"""One child process: started, watched, started again if it dies, and stopped."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import structlog
from structlog.typing import FilteringBoundLogger

from server.embedded import launch
from server.embedded.errors import EmbeddedError
from server.embedded.owner import Owner

_START_TIMEOUT: Final = 120.0
"""Seconds until a child must be ready; PostgreSQL may have to recover first."""
_STOP_TIMEOUT: Final = 30.0
"""Seconds until a child that was told to stop is killed."""
_POLL: Final = 0.01
"""Seconds between two looks at a child that is starting."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
"""Seconds between two attempts to start a child that keeps dying; living longer makes it well again."""
_LOG_BYTES: Final = 8 * 1024 * 1024
"""A log that is longer is put aside, in the place of the one put aside before."""

_log: FilteringBoundLogger = structlog.get_logger("server.embedded")


_Found = TypeVar("_Found")


def until(attempt: Callable[[], _Found | None], complaint: str) -> _Found:
    """Call `attempt` until it returns something, and return that; raises `EmbeddedError` after a while."""
    deadline = time.monotonic() + _START_TIMEOUT
    while (found := attempt()) is None:
        if time.monotonic() > deadline:
            raise EmbeddedError(f"{complaint} (waited {_START_TIMEOUT:.0f} s)")
        time.sleep(_POLL)
    return found


class Spawner:
    """Starts programs as another user, if need be, that end with this process.

    The kernel's death signal is tied to the thread that forked, so one thread does all the forking, and
    closing the spawner tells its children to end.
    """

    def __init__(self, owner: Owner) -> None:
        """Start programs as `owner`; the thread begins with the first."""
        self._owner = owner
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedded-spawner")

    def close(self) -> None:
        """End the thread, and with it whatever it started that still runs."""
        self._thread.shutdown()

    def spawn(
        self, command: Sequence[str], log: Path, *, death_signal: signal.Signals, keep: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        """Start `command` with its output appended to `log`; of our descriptors it inherits `keep` alone.

        It gets a session of its own, so that a terminal's Ctrl-C reaches the server alone, and hardly any
        environment, so that neither our secrets nor a user's PG* variables reach it.
        """
        environment = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        launcher = [sys.executable, "-I", "-S", launch.__file__]
        terms = [int(death_signal), os.getpid(), self._owner.uid, self._owner.gid]
        with log.open("ab") as output:
            return self._thread.submit(
                subprocess.Popen[bytes],
                [*launcher, *map(str, terms), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=environment | {"LC_ALL": "C"},
                start_new_session=True,
                pass_fds=keep,
            ).result()


class Child(ABC):
    """A server program, kept running from `start` to `stop`. Any thread may call any method."""

    name: str
    death_signal: signal.Signals
    """What asks it to stop at once and in good order, sent by us or by the kernel in our place."""

    def __init__(self, spawner: Spawner, log: Path) -> None:
        """Prepare a child that is not running yet and whose output goes to `log`."""
        self.log: Final = log
        self._spawner = spawner
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted = False
        self._started_at = 0.0
        self._pause = _FIRST_PAUSE

    @abstractmethod
    def launch(self) -> subprocess.Popen[bytes] | None:
        """Start the program, or return None while something of an earlier one is in the way."""

    @abstractmethod
    def is_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether the running `process` takes connections by now."""

    @property
    def pid(self) -> int:
        """The process id of the running program; raises `EmbeddedError` while there is none."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                raise EmbeddedError(f"{self.name} is not running")
            return self._process.pid

    def start(self) -> None:
        """Start the program unless it runs, and return when it takes connections.

        Raises `EmbeddedError`, with the end of its log, if it does not come that far; it stays stopped then.
        """
        with self._lock:
            self._wanted = False
            self._bound_log()
            if self._process is None or self._process.poll() is not None:
                self._process = until(self.launch, f"an earlier {self.name} on the same data does not stop")
                self._started_at = time.monotonic()
            try:
                until(partial(self._came_up, self._process), f"{self.name} is not ready; {self.last_words()}")
            except BaseException:
                self._process.kill()
                self._process.wait(_STOP_TIMEOUT)
                raise
            self._wanted = True

    def stop(self) -> None:
        """Stop the program in good order, or kill it if that takes long; it stays stopped until `start`."""
        with self._lock:
            self._wanted = False
            if self._process is None or self._process.poll() is not None:
                return
            self._process.send_signal(self.death_signal)
            # Somebody may have suspended it, and then it would not see the signal.
            self._process.send_signal(signal.SIGCONT)
            try:
                self._process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                _log.warning("embedded store does not stop and is killed", store=self.name)
                self._process.kill()
                self._process.wait(_STOP_TIMEOUT)

    def tend(self) -> None:
        """Start the program again if it has died, at growing intervals if it keeps dying, without waiting."""
        with self._lock:
            if not self._wanted or self._process is None:
                return
            self._bound_log()
            lived = time.monotonic() - self._started_at
            if self._process.poll() is None:
                if lived > _LONGEST_PAUSE:
                    self._pause = _FIRST_PAUSE
                return
            if lived < self._pause:
                return
            self._started_at = time.monotonic()
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            status = self._process.returncode
            process = self.launch()
            if process is not None:
                self._process = process
                _log.warning("embedded store died and is started again", store=self.name, status=status)

    def _came_up(self, process: subprocess.Popen[bytes]) -> bool | None:
        """Return True once `process` is ready, None before; raises `EmbeddedError` if it has ended."""
        if process.poll() is not None:
            raise EmbeddedError(f"{self.name} ended at start; {self.last_words()}")
        return self.is_ready(process) or None

    def last_words(self) -> str:
        """Return the end of the log, for an error."""
        text = self.log.read_bytes()[-1000:].decode("utf-8", "replace").strip() if self.log.exists() else ""
        return f"its log {self.log} ends with:\n{text}" if text else f"its log {self.log} is empty"

    def _bound_log(self) -> None:
        """Put a log that has grown too long aside; the program goes on appending to the emptied file."""
        with contextlib.suppress(FileNotFoundError):
            if self.log.stat().st_size > _LOG_BYTES:
                shutil.copyfile(self.log, self.log.with_suffix(".log.1"))
                os.truncate(self.log, 0)
