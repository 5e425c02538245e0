"""The time of day, as the protocol writes it: UTC, to the millisecond.

Everything that needs the time is given a `Clock`, so that a test can hold one still.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """What tells the time."""

    def now(self) -> datetime:
        """The time now: aware, in UTC, cut off to the millisecond. It may go back when the machine's does."""
        ...


class SystemClock:
    """The machine's own clock."""

    __slots__ = ("_milliseconds", "_moment")

    def __init__(self) -> None:
        """Begin in 1970."""
        self._milliseconds, self._moment = 0, _EPOCH

    def now(self) -> datetime:
        """The machine's time in UTC, cut off to the millisecond."""
        milliseconds = time.time_ns() // 1_000_000
        # Many things happen in one millisecond, and a `datetime` is dear to make.
        if milliseconds != self._milliseconds:
            self._milliseconds, self._moment = milliseconds, _EPOCH + milliseconds * _MILLISECOND
        return self._moment


def to_milliseconds(moment: datetime) -> datetime:
    """The same moment with whatever is below a millisecond cut off, never rounded up into the future."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def rfc3339(moment: datetime) -> str:
    """An aware time in UTC as the protocol writes it: `2026-11-30T09:00:00.000Z`.

    A time in another zone is not converted: every time of ours is in UTC, and this is called for each event.
    """
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def elapsed_ms(start: datetime, end: datetime) -> int:
    """Whole milliseconds from `start` to `end`; 0 where the clock has gone back in between."""
    return max(0, (end - start) // _MILLISECOND)
