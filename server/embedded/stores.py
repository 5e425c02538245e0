"""The two embedded stores together, from start to stop."""

import threading
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import structlog
from structlog.typing import FilteringBoundLogger

from server.embedded.child import Child, Spawner
from server.embedded.errors import EmbeddedError
from server.embedded.home import Home
from server.embedded.owner import Owner
from server.embedded.postgres import Postgres
from server.embedded.programs import find_postgres, find_valkey
from server.embedded.valkey import Valkey

_TEND_INTERVAL: Final = 0.2
"""Seconds between two looks at the children."""

_log: FilteringBoundLogger = structlog.get_logger("server.embedded")


class EmbeddedStores:
    """PostgreSQL and Valkey, running on one home between entering and leaving.

    While they run, a child that dies is started again on the same socket, unless its `stop` was called. They
    end when the process does, killed or not (on Linux; elsewhere a PostgreSQL left behind is stopped by the
    next start, and a Valkey left behind, which holds nothing, stays). Tables are not made here.
    """

    postgres: Postgres
    """The database, from entering on."""
    valkey: Valkey
    """The message bus, from entering on."""

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        """Name the home; without `durable`, which is for tests, a crash of the machine may lose data."""
        self._path = home
        self._durable = durable
        self._running = ExitStack()
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        """Start both, on a new home if need be, and return when they take connections.

        Raises `EmbeddedError` if they cannot run here: the home is taken, of another version or out of reach,
        there are no programs, or one of them does not start. Nothing is left running then.
        """
        try:
            self._start()
        except OSError as error:
            # A full disk, or permissions inside of the home that somebody changed.
            raise EmbeddedError(f"the embedded stores cannot start on {self._path}: {error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop both in good order and let go of the home."""
        self._running.close()

    @property
    def database_url(self) -> str:
        """The `postgresql://` address of the database."""
        return self.postgres.url

    @property
    def redis_url(self) -> str:
        """The `unix://` address of Valkey."""
        return self.valkey.url

    def _start(self) -> None:
        with ExitStack() as starting:
            owner = Owner.for_children()
            home = starting.enter_context(Home(self._path, owner))
            spawner = Spawner(owner)
            starting.callback(spawner.close)
            copies = home.path / "programs"
            self.postgres = Postgres(find_postgres(owner, copies), home, spawner, durable=self._durable)
            logs = home.path / "logs"
            self.valkey = Valkey(find_valkey(owner, copies), home.sockets, logs / "valkey.log", spawner)
            self.postgres.prepare()
            for child in (self.postgres, self.valkey):
                starting.callback(child.stop)
                child.start()
            self._closing.clear()
            watch = threading.Thread(target=self._watch, name="embedded-watch", daemon=True)
            watch.start()
            starting.callback(watch.join)
            starting.callback(self._closing.set)
            self._running = starting.pop_all()
        _log.info("embedded stores run", home=str(home.path), sockets=str(home.sockets))

    def _watch(self) -> None:
        """Tend the children until closing; what goes wrong is logged and tried again."""
        children: tuple[Child, ...] = (self.postgres, self.valkey)
        while not self._closing.wait(_TEND_INTERVAL):
            for child in children:
                try:
                    child.tend()
                except (OSError, EmbeddedError) as error:
                    _log.error(
                        "embedded store cannot be started again yet", store=child.name, error=str(error)
                    )
