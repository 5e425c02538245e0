"""How many messages anybody may send: on one connection, as one player and from one address.

Each process counts for itself what it is sent, since it is the process that this protects. What has to hold
across processes is counted in `quotas.py`.
"""

import time
from collections.abc import Hashable
from ipaddress import IPv6Address, ip_address
from typing import Final

from server.buckets import SECOND, Bucket, Buckets, Now, Rate, milliseconds
from server.config import Limits

_NETWORK_BITS: Final = 64
"""How much of an IPv6 address tells one customer from another; the rest is the customer's own to choose."""
_LONGEST: Final = 64
"""How many characters are looked at of what a proxy says is an address and is none."""

_AT_A_TIME: Final = 64
"""One in so many of a burst is taken out of the buckets at once, so that most messages cost next to nothing.

Of a burst of fewer, each message is taken by itself."""

_PATIENCE: Final = Rate.of(8, SECOND, 32)
"""How many refusals one connection is given: a batch of them at once, and so many a second."""
_HTTP_PATIENCE: Final = Rate.of(4, SECOND, 1)
"""The same for one HTTP request, which thus takes a while when it is refused."""
_LONGEST_PAUSE: Final = SECOND

_UNLIMITED: Final = Rate(1, 1 << 62)
_NOBODY: Final = Bucket(_UNLIMITED)
"""For whoever is not known: it takes longer than anybody lives to empty it."""


class Meter:
    """Counts the messages of one connection, or of one HTTP request, wherever they count."""

    __slots__ = ("_address", "_credit", "_key", "_meters", "_now", "_own", "_patience", "_player", "_who")

    def __init__(self, meters: "Meters", own: Bucket, address: Bucket, key: str, patience: Rate) -> None:
        """Count in `own` and in `address`, which is to be let go as `key` unless that is ""."""
        self._meters = meters
        self._now = meters.now
        self._own = own
        self._address = address
        self._key = key
        self._who: Hashable = None
        self._player = _NOBODY
        self._credit = 0
        self._patience = Bucket(patience)

    def admit(self) -> int:
        """Count a message: return 0, or after how many milliseconds it would be admitted.

        A message that is refused counts nowhere, so one that comes after that time is admitted, unless others
        of the same player or address come before it.
        """
        credit = self._credit
        if credit:
            self._credit = credit - 1
            return 0
        return self._draw()

    def retry_after(self) -> int:
        """Return what `admit` would, and count nothing."""
        return 0 if self._credit else milliseconds(self._wait(self._now()))

    def refused(self) -> None:
        """Count a refusal."""
        self._patience.take(self._now())

    def pause(self) -> float:
        """Return for how many seconds nothing more should be read of whoever goes on in spite of refusals.

        So a flood costs hardly more than what is admitted of it. It is 0.0 for one who does not flood.
        """
        now = self._now()
        wait = self._patience.wait(now)
        return min(_LONGEST_PAUSE, max(wait, self._wait(now))) / SECOND if wait > 0 else 0.0

    def act_for(self, who: Hashable) -> None:
        """Count for another player from here on, for none if `who` is None."""
        if who == self._who:
            return
        self._give_back()
        players, now = self._meters.players, self._now()
        if self._who is not None:
            players.release(self._who, now)
        self._player = _NOBODY if who is None else players.hold(who, now)
        self._who = who

    def close(self) -> None:
        """Let go of what is shared with others. Nothing is to be counted afterwards."""
        self._give_back()
        self.act_for(None)
        if self._key:
            self._meters.addresses.release(self._key, self._now())
            self._key = ""

    def _draw(self) -> int:
        """Take what this message and the next ones need out of the buckets, as `admit` says."""
        now = self._now()
        own, player, address = self._own, self._player, self._address
        count = min(self._meters.at_a_time, own.left(now), player.left(now), address.left(now))
        if count <= 0:
            return milliseconds(self._wait(now))
        own.take(now, count)
        player.take(now, count)
        address.take(now, count)
        self._credit = count - 1
        return 0

    def _give_back(self) -> None:
        """Put back what was taken out of the buckets for messages that have not come."""
        for bucket in (self._own, self._player, self._address):
            bucket.give_back(self._credit)
        self._credit = 0

    def _wait(self, now: int) -> int:
        return max(self._own.wait(now), self._player.wait(now), self._address.wait(now))


class Meters:
    """Who has sent how much to this process."""

    def __init__(self, limits: Limits, now: Now = time.monotonic_ns) -> None:
        """Begin with nobody."""
        self.now = now
        self._connection = Rate.of(limits.connection_rate, SECOND, limits.connection_burst)
        self.players = Buckets(Rate.of(limits.player_rate, SECOND, limits.player_burst))
        self.addresses = Buckets(Rate.of(limits.address_rate, SECOND, limits.address_burst))
        self._most = limits.address_connections
        smallest = min(limits.connection_burst, limits.player_burst, limits.address_burst)
        self.at_a_time = max(1, smallest // _AT_A_TIME)
        """How many messages are taken out of the buckets at once."""

    def refuse(self, address: str) -> str | None:
        """Count a handshake, which is as good as a message; return why it is refused, None if it is not.

        What is admitted must have its `connection` before anything else happens.
        """
        key = address_key(address)
        if not key:
            return None
        if self.addresses.holders(key) >= self._most:
            return "too many connections from this address"
        now = self.now()
        bucket = self.addresses.find(key, now)
        if bucket.wait(now) > 0:
            return "too many messages from this address"
        bucket.take(now)
        return None

    def connection(self, address: str) -> Meter:
        """Return what counts for a new connection, which counts for its address until that is closed."""
        key = address_key(address)
        bucket = self.addresses.hold(key, self.now()) if key else _NOBODY
        return Meter(self, Bucket(self._connection), bucket, key, _PATIENCE)

    def request(self, address: str) -> Meter:
        """Return what counts for an HTTP request, to be closed likewise."""
        key = address_key(address)
        bucket = self.addresses.find(key, self.now()) if key else _NOBODY
        return Meter(self, _NOBODY, bucket, "", _HTTP_PATIENCE)


def address_key(address: str) -> str:
    """Return what counts as one address: of IPv6 the first 64 bits, "" for an unknown one.

    What is no address stands for itself.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:_LONGEST]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> _NETWORK_BITS << _NETWORK_BITS)}/{_NETWORK_BITS}"
