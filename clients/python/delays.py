"""How long to wait before another attempt."""

from collections.abc import Iterator
from random import SystemRandom
from typing import Final

_FIRST: Final = 0.1
_LONGEST: Final = 10.0
_random: Final = SystemRandom()


def delays(first: float = _FIRST) -> Iterator[float]:
    """Yield waits in seconds, without end: each range twice the one before, up to ten seconds.

    Each is drawn from the upper half of its range. So clients that lost the same server do not come back all
    at once, and none hammers at it.
    """
    longest = first
    while True:
        yield jittered(longest)
        longest = min(_LONGEST, longest * 2)


def jittered(longest: float) -> float:
    """Return a wait between half of `longest` and all of it."""
    return longest * _random.uniform(0.5, 1.0)
