"""What other programs take of this machine while something is measured."""

import os
import resource
import time
from types import TracebackType
from typing import Self

from tests.bench.server import busy


class Foreign:
    """Watches from entering to leaving; all processes that this one has started count as ours."""

    percent: float = 0.0
    """Of one core, once it is left."""

    def __enter__(self) -> Self:
        self._before, self._started = _taken(), time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (all_before, ours_before), (all_after, ours_after) = self._before, _taken()
        spent = (all_after - all_before) - (ours_after - ours_before)
        self.percent = max(0.0, 100 * spent / (time.monotonic() - self._started))


def _taken() -> tuple[float, float]:
    """Return the CPU seconds of the whole machine, and ours with those of children that have ended."""
    total, ours = busy([os.getpid()])
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return total, ours + ended.ru_utime + ended.ru_stime
