"""Identifiers: UUID version 7 inside, 26 characters of Crockford's base 32 on the wire.

Both forms sort by the time of creation. Source: RFC 9562, sections 5.7 and 6.2 (method 2, a monotonic random
counter); https://www.crockford.com/base32.html for the alphabet.
"""

import re
import time
from collections.abc import Callable
from secrets import randbits
from uuid import UUID

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
# A UUID is 13 groups of ten bits, of which the first holds eight: each group is two characters from here.
_PAIRS = tuple(high + low for high in _ALPHABET for low in _ALPHABET)
_SHIFTS = tuple(range(120, -1, -10))
# 26 characters hold 130 bits, so the first one stops at 7.
_TEXT = re.compile(f"[0-7][{_ALPHABET}]{{25}}", re.ASCII)
# Python reads base 32 with the digits 0-9a-v.
_TO_PYTHON = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")

_VERSION = 0x7 << 76
_VARIANT = 0b10 << 62
_RANDOM_BITS = 74
_LOW_62 = (1 << 62) - 1


def _system_ms() -> int:
    return time.time_ns() // 1_000_000


class IdSource:
    """Makes version 7 UUIDs, each greater than the one before.

    That holds within a millisecond too, and when the clock goes back. Not for use by several threads at once.
    `now_ms` gives milliseconds since 1970.
    """

    __slots__ = ("_last", "_now_ms")

    def __init__(self, now_ms: Callable[[], int] = _system_ms) -> None:
        """Take the time from `now_ms`."""
        self._now_ms = now_ms
        self._last = 0

    def __call__(self) -> UUID:
        """The next id: 48 bits of time and 74 random bits."""
        count = self._now_ms() << _RANDOM_BITS | randbits(_RANDOM_BITS)
        if count <= self._last:
            count = self._last + 1 + randbits(32)
        self._last = count
        high, low = count >> 62, count & _LOW_62
        time_bits, rand_a = high >> 12, high & 0xFFF
        return UUID(int=time_bits << 80 | _VERSION | rand_a << 64 | _VARIANT | low)


new_id = IdSource()
"""The process's own source of ids: `new_id()` gives the next."""


def id_text(value: UUID) -> str:
    """The one spelling of an id on the wire: 26 lower-case characters of Crockford's base 32."""
    number = value.int
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def parse_id(text: str) -> UUID | None:
    """The id that `text` spells, or None for everything that `id_text` never writes.

    Whether an id of that value was ever given out is not checked.
    """
    if _TEXT.fullmatch(text) is None:
        return None
    return UUID(int=int(text.translate(_TO_PYTHON), 32))
