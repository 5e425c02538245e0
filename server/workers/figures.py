"""What `/metrics` says of all workers: each one's own lines, with a label that tells whose they are."""

import asyncio
import contextlib
import socket
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from server.front import OWN
from server.workers.worker import Worker

_SECONDS: Final = 4.0
"""How long a worker may take to say what it knows of itself, and to take what is known of all."""
_AT_ONCE: Final = 32
"""How many may be told at the same time; others show what they know themselves."""

_READY: Final = """\
# HELP patience_worker_ready Whether the worker takes calls and has its stores: its own /readyz.
# TYPE patience_worker_ready gauge
"""


class Figures(NamedTuple):
    """What one worker says of itself."""

    number: int
    ready: bool
    text: str
    """In Prometheus's format; empty if it did not answer."""


def merged(workers: Iterable[Figures]) -> str:
    """Return one text for all of them, with the lines of each metric together, as the format wants it."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    ready: list[str] = []
    for worker in workers:
        label = f'worker="{worker.number}"'
        ready.append(f"patience_worker_ready{{{label}}} {int(worker.ready)}\n")
        name = ""
        for line in worker.text.splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ", 3)[2]
                heads.setdefault(name, [])
                samples.setdefault(name, [])
            if not line.startswith("#"):
                samples.setdefault(name, []).append(_labelled(line, label))
            elif line not in heads[name]:
                heads[name].append(line)
    parts = [_READY, *ready]
    for name, lines in heads.items():
        parts += [line + "\n" for line in (*lines, *samples[name])]
    return "".join(parts)


def _labelled(sample: str, label: str) -> str:
    """Return a sample's line with one more label, the first. A name contains neither brace nor space."""
    name, space, value = sample.partition(" ")
    if "{" in name:
        name, _, rest = sample.partition("{")
        return f"{name}{{{label},{rest}"
    return f"{name}{{{label}}}{space}{value}"


class Teller:
    """Tells workers that were asked for `/metrics` what all of them say."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._telling: set[asyncio.Task[None]] = set()
        self._gathering: asyncio.Task[bytes] | None = None

    def tell(self, answer: socket.socket, workers: Mapping[int, Worker | None]) -> None:
        """Have it written to `answer`, which is closed after that; None is a worker that there is not."""
        if len(self._telling) >= _AT_ONCE:
            answer.close()
            return
        if self._gathering is None or self._gathering.done():
            self._gathering = asyncio.create_task(_gather(workers))
        # Who asks at the same time is told the same.
        task = asyncio.create_task(_write(answer, self._gathering))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def close(self) -> None:
        """Tell nothing more."""
        tasks: set[asyncio.Task[Any]] = {*self._telling}
        if self._gathering is not None:
            tasks.add(self._gathering)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _write(answer: socket.socket, text: asyncio.Task[bytes]) -> None:
    with answer:
        answer.setblocking(False)
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait((text,))
            async with asyncio.timeout(_SECONDS):
                await asyncio.get_running_loop().sock_sendall(answer, text.result())
            # The worker has a copy of this end, so closing ours would tell it nothing.
            answer.shutdown(socket.SHUT_WR)


async def _gather(workers: Mapping[int, Worker | None]) -> bytes:
    """Ask all workers at once."""
    return merged(
        await asyncio.gather(*(_ask(number, worker) for number, worker in workers.items()))
    ).encode()


async def _ask(number: int, worker: Worker | None) -> Figures:
    if worker is None:
        return Figures(number, ready=False, text="")
    ready, text = await asyncio.gather(
        worker.asked(f"/readyz?{OWN}", _SECONDS), worker.asked(f"/metrics?{OWN}", _SECONDS)
    )
    return Figures(number, ready is not None, (text or b"").decode())
