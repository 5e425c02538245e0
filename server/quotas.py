"""How many rows that stay anybody may make: guests and sessions, counted over all processes, in Redis.

Nobody is refused because Redis is away: then each process goes by what it has counted itself, at the same
rates. What Redis holds of this goes away by itself, at the latest when the longest of the bursts is over.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Sequence
from typing import Final, Protocol, TypeAlias, cast
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from server.buckets import HOUR, Buckets, Now, Rate, milliseconds
from server.config import Limits
from server.ids import id_text
from server.limits import address_key
from server.rpc.errors import RateLimited

_PREFIX: Final = "patience-arena"
_CONNECTIONS: Final = 4
_LONGEST_TIMEOUT: Final = 0.5
"""Seconds that Redis may take; whoever calls waits for it."""
_ASKED_AGAIN: Final = 1.0
"""Seconds for which Redis is left alone after it did not answer."""
_MICROSECOND: Final = 1_000

# Buckets as in `buckets.py`, in microseconds of Redis's clock: a key holds when its bucket will be full.
# One is taken from each or, if any of them has none, from none; what is returned is how long to wait then.
# A time that is too far ahead is from before the clock was set back, or before the limit was lowered.
_SCRIPT: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wait, untils = 0, {}
for i, key in ipairs(KEYS) do
  local step, span = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local full = tonumber(redis.call('GET', key) or now)
  full = math.min(math.max(full, now), now + span) + step
  wait = math.max(wait, full - span - now)
  untils[i] = full
end
if wait == 0 then
  for i, key in ipairs(KEYS) do
    redis.call('SET', key, string.format('%.0f', untils[i]), 'PX', math.ceil((untils[i] - now) / 1000))
  end
end
return wait
"""

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class _Redis(Protocol):
    """What is used of redis-py, whose own types leave much open."""

    def eval(self, script: str, numkeys: int, *keys_and_args: str | int) -> Awaitable[int]: ...
    def aclose(self) -> Awaitable[None]: ...


class _Quota:
    """One rate, for each visitor."""

    def __init__(self, name: str, hourly: int, burst: int) -> None:
        self.name = name
        rate = Rate.of(hourly, HOUR, burst)
        self.step = rate.step // _MICROSECOND
        self.span = self.step * burst
        self.here = Buckets(rate)
        """What this process has counted of it."""


_Counted: TypeAlias = Sequence[tuple[_Quota, str]]
"""Quotas, and which visitor to count in each."""


class Quotas:
    """Counts what leaves rows behind."""

    def __init__(self, redis_url: str, limits: Limits, *, now: Now = time.monotonic_ns) -> None:
        """Connect to nothing yet."""
        self._now = now
        self._timeout = min(_LONGEST_TIMEOUT, limits.store_timeout_ms / 4000)
        redis = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  It leaves its keywords open.
            redis_url,
            max_connections=_CONNECTIONS,
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            # The second time by a connection that is new, where the first one was found broken.
            retry=Retry(NoBackoff(), 1),
        )
        self._redis = cast("_Redis", redis)
        self._places = asyncio.Semaphore(_CONNECTIONS)
        self._away_until: float | None = None
        self._guests = _Quota("guests", limits.guests_hourly, limits.guests_burst)
        self._sessions = _Quota("sessions", limits.sessions_hourly, limits.sessions_burst)
        self._address_sessions = _Quota(
            "address-sessions", limits.address_sessions_hourly, limits.address_sessions_burst
        )

    async def close(self) -> None:
        """Part with Redis."""
        with contextlib.suppress(RedisError, OSError):
            await self._redis.aclose()

    async def guest(self, address: str) -> None:
        """Count a guest that is made from an address.

        Raises:
            RateLimited: there were too many, and this one is not counted.
        """
        await self._count(_by_address(self._guests, address), "Too many guests from this address")

    async def session(self, player: UUID, address: str) -> None:
        """Count a session that a player creates from an address.

        Raises:
            RateLimited: there were too many, and this one is not counted.
        """
        counted = [(self._sessions, id_text(player)), *_by_address(self._address_sessions, address)]
        await self._count(counted, "Too many new sessions")

    async def _count(self, counted: _Counted, complaint: str) -> None:
        if not counted:
            return
        asked = await self._ask(counted)
        now = self._now()
        buckets = [quota.here.find(visitor, now) for quota, visitor in counted]
        wait = max(bucket.wait(now) for bucket in buckets) if asked is None else asked * _MICROSECOND
        if wait > 0:
            raise RateLimited(
                milliseconds(wait), f"{complaint}; wait for retry_after_ms, then send it again."
            )
        for bucket in buckets:
            # Redis may go away at any time, and then this is what is known.
            bucket.take(now)

    async def _ask(self, counted: _Counted) -> int | None:
        """Count in Redis; return for how many microseconds to wait, None if Redis does not answer."""
        loop = asyncio.get_running_loop()
        if self._away_until is not None and loop.time() < self._away_until:
            return None
        keys = [f"{_PREFIX}:{quota.name}:{visitor}" for quota, visitor in counted]
        rates = [number for quota, _ in counted for number in (quota.step, quota.span)]
        try:
            async with asyncio.timeout(self._timeout), self._places:
                wait = await self._redis.eval(_SCRIPT, len(keys), *keys, *rates)
        except (RedisError, OSError) as error:
            if self._away_until is None:
                _log.warning("quotas_away", error=type(error).__name__)
            self._away_until = loop.time() + _ASKED_AGAIN
            return None
        self._away_until = None
        return wait


def _by_address(quota: _Quota, address: str) -> _Counted:
    """Return what to count for an address: nothing if it is not known."""
    key = address_key(address)
    return [(quota, key)] if key else []
