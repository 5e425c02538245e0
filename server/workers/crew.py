"""All workers of a server: kept going, watched, replaced one by one, and stopped together."""

import asyncio
import signal
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Final

import structlog

from server.terminal import Terminal
from server.workers.figures import Teller
from server.workers.pace import Pace
from server.workers.port import Port
from server.workers.post import Post
from server.workers.worker import Worker

_MARGIN_SECONDS: Final = 2.0
"""How much longer than a worker may take its parent waits for it."""

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class Crew:
    """Runs workers behind a port until it is told to stop."""

    def __init__(
        self,
        listener: socket.socket,
        count: int,
        command: Sequence[str],
        environ: Mapping[str, str],
        pace: Pace,
    ) -> None:
        """Prepare `count` workers for `listener`, each to be started by `command` with `environ`."""
        self._command = command
        self._environ = environ
        self._pace = pace
        self._posts = [Post(number, pace.first_pause) for number in range(1, count + 1)]
        self._workers: set[Worker] = set()
        """All that have not ended, with or without a post."""
        self._port = Port(listener, self._at_work)
        self._wish = 0
        """How often it was wished that all workers be new."""
        self._vain = 0
        """The last wish that could not be fulfilled."""
        self._renewal = asyncio.Event()
        self._change = asyncio.Event()
        self._up = False
        self._stopping = False
        self._hurried = False
        self._failed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._teller = Teller()

    async def run(self, ready: Callable[[], None]) -> bool:
        """Start all workers, call `ready` when all take connections, and return when all have ended.

        SIGTERM and SIGINT stop them, a second one at once. SIGHUP has them replaced one by one; if it comes
        because a terminal was closed, it stops them.

        Returns:
            False if they could not be started, or if none is left and none can be started any more.
        """
        loop = asyncio.get_running_loop()
        terminal = Terminal()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, lambda: self.stop() if terminal.gone else self.renew())
        try:
            for post in self._posts:
                self._spawn(self._keep(post))
            await self._until(lambda: self._stopping or len(self._at_work()) == len(self._posts))
            if not self._stopping:
                self._up = True
                self._spawn(self._renew())
                self._spawn(self._watch())
                self._port.attend()
                ready()
            await self._until(lambda: self._stopping)
        finally:
            await self._end()
        return not self._failed

    def stop(self) -> None:
        """Stop in good order, or at once if this has been said before."""
        self._hurried = self._stopping
        self._stopping = True
        self._change.set()

    def renew(self) -> None:
        """Replace all workers that are there now, one after another, by ones that run the code on disk."""
        self._wish += 1
        _log.info("workers are replaced", wish=self._wish)
        self._renewal.set()

    def changed(self, worker: Worker) -> None:
        """Learn that something has become of a worker."""
        if worker.ended.is_set():
            self._workers.discard(worker)
        if worker.leaving:
            self._renewal.set()
        for post in self._posts:
            post.changed.set()
        self._change.set()
        if self._up:
            self._port.attend()

    def take_back(self, connection: socket.socket) -> None:
        """Take a connection back that a worker has not got to."""
        self._port.take_back(connection)

    def asked_for_figures(self, answer: socket.socket) -> None:
        """Write to `answer` what `/metrics` says, and close it."""
        workers = {post.number: None if post.empty else post.worker for post in self._posts}
        self._teller.tell(answer, workers)

    def _at_work(self) -> list[Worker]:
        """Return the workers that connections may go to."""
        workers = [post.worker for post in self._posts if post.worker is not None]
        return [worker for worker in workers if not worker.retired and not worker.ended.is_set()]

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        """Stop if something has failed here: without its parent's care a server does not go on."""
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the workers' parent has failed", exc_info=error)
            self._fail()

    def _fail(self) -> None:
        self._failed = self._stopping = True
        self._change.set()

    async def _until(self, holds: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until something about the workers holds; return whether it does."""
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    self._change.clear()
                    await self._change.wait()
        except TimeoutError:
            return False
        return True

    async def _keep(self, post: Post) -> None:
        """See to it that there is always a worker in a post."""
        while not self._stopping:
            post.changed.clear()
            if post.empty:
                async with post.lock:
                    if post.empty:
                        await self._fill(post)
            else:
                await post.changed.wait()

    async def _fill(self, post: Post) -> None:
        """Put a worker into an empty post, if need be after a pause; fail if it is no use to try again."""
        loop = asyncio.get_running_loop()
        if post.worker is not None:
            old = post.worker
            _log.error("a worker has ended", worker=post.number, pid=old.pid, status=old.status)
            if loop.time() - post.since > self._pace.longest_pause:
                post.pause = self._pace.first_pause
            await self._pause(post)
        while not await self._start(post):
            # As long as one serves it goes on. Before that, and with nobody left, it is time to say so.
            if not self._up or not self._at_work():
                self._fail()
                return
            await self._pause(post)

    async def _pause(self, post: Post) -> None:
        await asyncio.sleep(post.pause)
        post.pause = min(post.pause * 2, self._pace.longest_pause)

    async def _start(self, post: Post) -> bool:
        """Start a worker and put it into a post once it is ready; return whether that has come about."""
        wish = self._wish
        try:
            worker = Worker(post.number, self._command, self._environ, self)
        except OSError as error:
            _log.error("a worker cannot be started", worker=post.number, error=error.strerror)
            return False
        self._workers.add(worker)
        try:
            async with asyncio.timeout(self._pace.start):
                await worker.settled.wait()
        except TimeoutError:
            _log.error("a worker is not ready in time and is killed", worker=post.number, pid=worker.pid)
            worker.kill()
            await worker.ended.wait()
            return False
        if worker.ended.is_set():
            _log.error(
                "a worker has ended before it was ready",
                worker=post.number,
                pid=worker.pid,
                status=worker.status,
            )
            return False
        post.worker, post.wish, post.since = worker, wish, asyncio.get_running_loop().time()
        _log.info("a worker is ready", worker=post.number, pid=worker.pid)
        self.changed(worker)
        return True

    async def _renew(self) -> None:
        """Replace workers whenever it is wished, or one wants to leave, never two at a time."""
        while True:
            await self._renewal.wait()
            self._renewal.clear()
            for post in self._posts:
                async with post.lock:
                    old = None if post.empty else await self._relieve(post)
                if old is not None:
                    await self._part(old)

    async def _relieve(self, post: Post) -> Worker | None:
        """Put a new worker into a post if there is a reason to, and return the old one, who is to leave.

        It stays if nobody can take its place, unless it wants to leave.
        """
        old, wish = post.worker, self._wish
        assert old is not None
        due = post.wish < wish and self._vain < wish
        if not due and not old.leaving:
            return None
        if not await self._start(post) and not old.leaving:
            self._vain = wish
            _log.error("no new worker can take over; the old one stays", worker=post.number, pid=old.pid)
            return None
        return old

    async def _part(self, worker: Worker) -> None:
        """Have a worker drain, and wait until it has ended."""
        worker.retire()
        if not await self._until(worker.ended.is_set, self._pace.stop + _MARGIN_SECONDS):
            _log.error("a worker does not stop and is killed", worker=worker.number, pid=worker.pid)
            worker.kill()
            await worker.ended.wait()
        _log.info("a worker has left", worker=worker.number, pid=worker.pid, status=worker.status)

    async def _watch(self) -> None:
        """Kill workers that live and do not answer; they are started again like those that died."""
        while True:
            await asyncio.sleep(self._pace.checks)
            await asyncio.gather(*map(self._check, self._at_work()))

    async def _check(self, worker: Worker) -> None:
        if await worker.asked("/healthz", self._pace.answer) is not None:
            worker.misses = 0
            return
        worker.misses += 1
        if worker.misses >= self._pace.misses and not worker.retired and not worker.ended.is_set():
            _log.error("a worker does not answer and is killed", worker=worker.number, pid=worker.pid)
            worker.kill()

    async def _end(self) -> None:
        """Stop whatever runs, in good order as far as there is time."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in self._workers:
            if worker.ready and not worker.retired:
                worker.notice()
            elif not worker.ready:
                # Nothing depends on it yet.
                worker.kill()
        await self._until(
            lambda: self._hurried or all(worker.leaving or worker.retired for worker in self._workers),
            self._pace.notice + _MARGIN_SECONDS,
        )
        self._port.close()
        for worker in self._workers:
            worker.retire()
        if not await self._until(
            lambda: self._hurried or not self._workers, self._pace.stop + _MARGIN_SECONDS
        ):
            _log.error("workers do not stop and are killed", count=len(self._workers))
        for worker in self._workers:
            worker.kill()
        await self._until(lambda: not self._workers)
        await self._teller.close()
