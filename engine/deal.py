"""Seeds, shuffled decks and commitments: the scheme ``deal/1``, which any language can reproduce."""

import re
from collections.abc import Iterator
from hashlib import sha256

from engine.cards import Card
from engine.errors import SeedError

_SEED = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def check_seed(seed: str) -> str:
    """Return the seed.

    Raises:
        SeedError: it is not 1 to 64 characters out of ``[A-Za-z0-9._-]``.
    """
    if not _SEED.fullmatch(seed):
        raise SeedError("a seed is 1 to 64 characters: letters A to Z and a to z, digits, '.', '_', '-'")
    return seed


def commitment(seed: str) -> str:
    """Return the lower-case hex SHA-256 of a seed, which may be published before the seed is."""
    return sha256(seed.encode("ascii")).hexdigest()


def _words(seed: str) -> Iterator[int]:
    """Yield the seed's unsigned 32-bit words without end."""
    block = 0
    while True:
        digest = sha256(f"deal/1|{seed}|{block}".encode("ascii")).digest()
        for i in range(0, 32, 4):
            yield int.from_bytes(digest[i : i + 4], "big")
        block += 1


def shuffle(seed: str, decks: int) -> list[Card]:
    """Return the shuffled deck of a seed, the card that is dealt first first.

    Nothing about the game but its number of decks enters the shuffle.

    Raises:
        SeedError: ``seed`` is none.
    """
    words = _words(check_seed(seed))
    cards = list(range(52)) * decks
    for i in range(len(cards) - 1, 0, -1):
        bound = (1 << 32) // (i + 1) * (i + 1)
        word = next(word for word in words if word < bound)
        j = word % (i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return cards
