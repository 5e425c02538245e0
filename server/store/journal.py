"""The journal: how events become durable, many at a time.

One task a process writes all events. Whatever arrives while a commit is under way goes into the next one, so
a lone event waits for nobody, and under load one commit carries hundreds. No timer takes part in that.

The primary key of `events` decides between processes: an entry whose place was taken is *lost*, and whoever
wrote it has to read the session again. So that no entry follows one that was lost or failed, a session has
only one entry under way at a time.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import structlog

from server.store.database import Database
from server.store.driver import DriverConnection
from server.store.entries import Entry, write_entries
from server.store.errors import StoreUnavailable, is_away, store_errors

_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 1.0
_FAREWELL: Final = 1.0

_log: structlog.stdlib.BoundLogger = structlog.get_logger("server.store.journal")


Settle: TypeAlias = Callable[[bool | Exception], None]
"""Is told what became of an entry; what it raises is logged.

True: it is durable. False: it was lost to another process and changed nothing. `StoreUnavailable`: it may or
may not have been written, and the session must be read again. Another exception: the database refused it.
"""


_Waiting: TypeAlias = tuple[Entry, Settle, float]
"""An entry, and when it has waited for too long in the loop's time; a plain tuple, which costs least."""


class Journal:
    """Writes entries in batches, on a connection of its own, for as long as the process lives.

    `commits` and `rows` count what was written since the start.
    """

    def __init__(
        self,
        database: Database,
        on_commit: Callable[[Sequence[Entry]], None],
        *,
        rows: int = 1_000,
        waiting: int = 20_000,
        timeout: float = 5.0,
    ) -> None:
        """Write at most `rows` entries a commit; at most `waiting` wait, for `timeout` seconds at most.

        `on_commit` is called with what has just become durable, in the order of `append`, before anybody is
        answered. It must not block; whatever it raises is logged and changes nothing for the entries.
        """
        self._database = database
        self._on_commit = on_commit
        self._most_rows = rows
        self._most_waiting = waiting
        self._timeout = timeout
        self._waiting: list[_Waiting] = []
        # By the number of the id: hashing a UUID costs ten times as much.
        self._under_way: set[int] = set()
        self._connection: DriverConnection | None = None
        self._failures = 0
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self.commits = 0
        self.rows = 0

    @property
    def waiting(self) -> int:
        """How many entries wait for the next commit."""
        return len(self._waiting)

    async def start(self) -> None:
        """Connect and begin to write. Raises `StoreUnavailable` if the database is away."""
        self._loop = asyncio.get_running_loop()
        self._connection = await self._database.connect()
        self._task = self._loop.create_task(self._run(), name="journal")

    def submit(self, entry: Entry, settle: Settle) -> None:
        """Hand over an entry; `settle` is called once, never before this returns.

        That is within the timeout, and once more the timeout if a commit that hangs has the entry.

        Raises `StoreUnavailable` at once, with nothing written, if too many wait or the journal is closing,
        and `RuntimeError` if an entry of the same session is under way.
        """
        if self._closing or len(self._waiting) >= self._most_waiting:
            raise StoreUnavailable("the journal is full or closing")
        session = entry.session.int
        if session in self._under_way:
            raise RuntimeError("a session has one entry under way at a time")
        self._under_way.add(session)
        due = self._loop.time() + self._timeout
        self._waiting.append((entry, settle, due))
        if not self._wake.is_set():
            self._wake.set()
        if self._expiry is None:
            self._expiry = self._loop.call_at(due, self._expire)

    def append(self, entry: Entry) -> asyncio.Future[bool]:
        """Hand over an entry, for whoever can wait; the future tells what `submit` would.

        It must not be cancelled. Raises as `submit` does.
        """
        future: asyncio.Future[bool] = self._loop.create_future()

        def settle(fate: bool | Exception) -> None:
            if future.done():
                return
            if isinstance(fate, bool):
                future.set_result(fate)
            else:
                future.set_exception(fate)

        self.submit(entry, settle)
        return future

    async def close(self, within: float = 10.0) -> None:
        """Take no more, write what waits, and stop after `within` seconds at the latest.

        What could not be written by then is answered with `StoreUnavailable`.
        """
        self._closing = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=within)
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=_FAREWELL)
        if self._expiry is not None:
            self._expiry.cancel()
        self._fail(self._take(len(self._waiting)))
        if self._connection is not None:
            with contextlib.suppress(StoreUnavailable), store_errors():
                async with asyncio.timeout(_FAREWELL):
                    await self._connection.close()
            self._drop_connection()

    async def _run(self) -> None:
        while True:
            while not self._waiting:
                if self._closing:
                    return
                self._wake.clear()
                await self._wake.wait()
            connection = await self._connected()
            if connection is not None and self._waiting:
                await self._flush(connection, self._take(self._most_rows))

    def _take(self, most: int) -> list[_Waiting]:
        taken = self._waiting[:most]
        del self._waiting[:most]
        return taken

    async def _connected(self) -> DriverConnection | None:
        """The connection, or a new one; None, after a pause that grows, if there is none to be had."""
        if self._connection is not None:
            if not self._connection.is_closed():
                return self._connection
            self._drop_connection()
        try:
            self._connection = await self._database.connect()
        except Exception as error:  # noqa: BLE001  The outermost boundary of the task.
            # Whatever it is, a wrong password included, the journal has to outlive it.
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._failures, 10))
            self._failures += 1
            _log.error(
                "journal_cannot_connect", error=type(error).__name__, failures=self._failures, exc_info=False
            )
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            return None
        if self._failures:
            _log.info("journal_connected_again", failures=self._failures)
            self._failures = 0
        return self._connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _flush(self, connection: DriverConnection, batch: list[_Waiting]) -> None:
        """Write a batch and answer it; one that the database refuses is halved until the culprit is alone."""
        try:
            lost = await write_entries(connection, [entry for entry, _, _ in batch])
        except asyncio.CancelledError:
            self._fail(batch)
            raise
        except Exception as error:  # noqa: BLE001  The outermost boundary of the task.
            if is_away(error) or connection.is_closed():
                _log.warning("journal_commit_failed", error=type(error).__name__, rows=len(batch))
                self._drop_connection()
                self._fail(batch)
            elif len(batch) == 1:
                _log.exception("journal_entry_refused", session=str(batch[0][0].session))
                self._fail(batch, error)
            else:
                middle = len(batch) // 2
                await self._flush(connection, batch[:middle])
                await self._flush(connection, batch[middle:])
            return
        self.commits += 1
        self._announce([entry for entry, _, _ in batch if not lost or entry.session not in lost])
        for waiting in batch:
            self._settle(waiting, not lost or waiting[0].session not in lost)

    def _announce(self, durable: list[Entry]) -> None:
        self.rows += len(durable)
        if not durable:
            return
        try:
            self._on_commit(durable)
        except Exception:  # noqa: BLE001  The outermost boundary of the task.
            # The entries are durable and must be answered whatever happens to those who listen.
            _log.exception("journal_listener_failed", rows=len(durable))

    def _fail(self, batch: Sequence[_Waiting], error: Exception | None = None) -> None:
        for waiting in batch:
            # Each has its own exception: one that is raised in many places collects all their tracebacks.
            self._settle(waiting, error or StoreUnavailable())

    def _settle(self, waiting: _Waiting, fate: bool | Exception) -> None:
        entry, settle, _ = waiting
        self._under_way.discard(entry.session.int)
        try:
            settle(fate)
        except Exception:  # noqa: BLE001  The outermost boundary of the task, which must outlive it.
            _log.exception("journal_settling_failed", session=str(entry.session))

    def _expire(self) -> None:
        """Fail what has waited for too long; runs at most once a timeout while entries wait."""
        now = self._loop.time()
        late = 0
        while late < len(self._waiting) and self._waiting[late][2] <= now:
            late += 1
        self._fail(self._take(late))
        self._expiry = self._loop.call_at(self._waiting[0][2], self._expire) if self._waiting else None
