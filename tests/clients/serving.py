"""Server processes, as `patience serve` runs them, for clients to talk to."""

import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import IO, Final, Self

from tests.rates import UNHURRIED

SECONDS: Final = 60.0
"""After which what should have happened has not."""

_ADDRESS: Final = re.compile(r"ws://\S+/ws")


class Server:
    """A process that serves, on any free port; leaving the context ends it."""

    def __init__(self, database_url: str, redis_url: str, **settings: str) -> None:
        """Start one on these stores, and wait until it takes calls. `settings` are environment variables."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from server.cli import main; main()", "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            env={**os.environ, **UNHURRIED, **settings, "DATABASE_URL": database_url, "REDIS_URL": redis_url},
            text=True,
        )
        assert self._process.stdout is not None
        address: Future[str] = Future()
        self._reader = threading.Thread(target=_read, args=(self._process.stdout, address), daemon=True)
        self._reader.start()
        try:
            self.url = address.result(SECONDS)
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Self:
        """Give the server."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it, if it has not been."""
        self.stop()

    def terminate(self) -> None:
        """Ask it to stop, without waiting."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait(SECONDS)
        self._reader.join(SECONDS)

    def stop(self) -> None:
        """Ask it to stop and wait until it has."""
        self.terminate()
        try:
            self._process.wait(SECONDS)
            self._reader.join(SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


def _read(output: IO[str], address: Future[str]) -> None:
    """Find the address in what a server prints, and keep it from waiting for a reader."""
    with output:
        for line in output:
            if not address.done() and (match := _ADDRESS.search(line)):
                address.set_result(match[0])
    if not address.done():
        address.set_exception(RuntimeError("the server has not come up"))
