"""Buckets: how much of a rate each visitor has left.

All that a bucket keeps is a time (the generic cell rate algorithm): when it will be as if nothing had been
taken from it. Times are whole nanoseconds of a clock that only goes forward, so that what somebody is told to
wait is exact.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple, Self, TypeAlias

Now: TypeAlias = Callable[[], int]
"""A clock in nanoseconds that never goes back."""

SECOND: Final = 10**9
HOUR: Final = 3600 * SECOND
_MILLISECOND: Final = 10**6

_MOST: Final = 65_536
"""How many buckets a table keeps at most that nobody holds."""
_SWEPT: Final = 4
"""How many of the oldest are looked at for each one that is added or let go."""


class Rate(NamedTuple):
    """How often something may happen, in nanoseconds."""

    step: int
    """The time between two, in the long run."""
    span: int
    """The time in which an empty bucket fills."""

    @classmethod
    def of(cls, count: int, period: int, burst: int) -> Self:
        """`count` in each `period`, of which `burst` may come at once."""
        step = period // count
        return cls(step, step * burst)


class Bucket:
    """What one visitor has left of a rate."""

    __slots__ = ("holders", "span", "step", "until")

    def __init__(self, rate: Rate) -> None:
        """Begin full."""
        self.step, self.span = rate
        self.until = 0
        """When it will be full again; it is full if that is over."""
        self.holders = 0
        """How many hold it, and keep it from being forgotten."""

    def left(self, now: int) -> int:
        """Return how many can be taken; 0 or less if none can."""
        return (self.span - max(0, self.until - now)) // self.step

    def wait(self, now: int) -> int:
        """Return after how many nanoseconds one can be taken; 0 or less if one can now."""
        return max(0, self.until - now) + self.step - self.span

    def take(self, now: int, count: int = 1) -> None:
        """Take so many, whether or not they are there."""
        self.until = max(self.until, now) + self.step * count

    def give_back(self, count: int) -> None:
        """Take back that so many were taken."""
        self.until -= self.step * count


class Buckets:
    """A bucket for each visitor, forgotten when it is full again and nobody holds it.

    Of those that nobody holds only so many are kept; beyond that the oldest are forgotten as they are. Nobody
    ever waits for all of them to be looked at: whoever adds one looks at a few.
    """

    def __init__(self, rate: Rate, most: int = _MOST) -> None:
        """Begin without any."""
        self._rate = rate
        self._most = most
        self._held = 0
        self._buckets: OrderedDict[Hashable, Bucket] = OrderedDict()

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._buckets)

    def find(self, key: Hashable, now: int) -> Bucket:
        """Return a visitor's bucket."""
        bucket = self._buckets.get(key)
        if bucket is None:
            self._sweep(now)
            bucket = self._buckets[key] = Bucket(self._rate)
        return bucket

    def hold(self, key: Hashable, now: int) -> Bucket:
        """Return a visitor's bucket, which is kept until it is let go."""
        bucket = self.find(key, now)
        self._held += not bucket.holders
        bucket.holders += 1
        return bucket

    def release(self, key: Hashable, now: int) -> None:
        """Let a bucket go that is held."""
        bucket = self._buckets[key]
        bucket.holders -= 1
        if not bucket.holders:
            self._held -= 1
            if bucket.until <= now:
                del self._buckets[key]
        self._sweep(now)

    def holders(self, key: Hashable) -> int:
        """Return how many hold a visitor's bucket."""
        bucket = self._buckets.get(key)
        return bucket.holders if bucket is not None else 0

    def _sweep(self, now: int) -> None:
        """Forget some of the oldest, unless they must be kept."""
        buckets = self._buckets
        for _ in range(min(_SWEPT, len(buckets))):
            key, bucket = next(iter(buckets.items()))
            if bucket.holders or (bucket.until > now and len(buckets) - self._held < self._most):
                buckets.move_to_end(key)
            else:
                del buckets[key]


def milliseconds(wait: int) -> int:
    """Return nanoseconds in whole milliseconds: none too few, and never less than none."""
    return max(0, -(-wait // _MILLISECOND))
