"""The place of one worker, which somebody fills or is about to."""

import asyncio
from typing import Final

from server.workers.worker import Worker


class Post:
    """A worker's place. Only who holds the lock puts another worker into it."""

    def __init__(self, number: int, pause: float) -> None:
        """Begin without a worker; one that has ended is replaced after `pause` seconds."""
        self.number: Final = number
        self.lock: Final = asyncio.Lock()
        self.changed: Final = asyncio.Event()
        self.worker: Worker | None = None
        self.wish = 0
        """The last wish for new workers that its worker fulfils."""
        self.since = 0.0
        self.pause = pause

    @property
    def empty(self) -> bool:
        """Whether nobody is there."""
        return self.worker is None or self.worker.ended.is_set()
