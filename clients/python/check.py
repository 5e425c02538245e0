"""The checksum by which a client that applies patches knows that it is right."""

from zlib import crc32

from clients.python.errors import BadAnswer
from clients.python.json_data import Json


def check(piles: Json) -> str:
    """Return the CRC-32, as 8 lower-case hex digits, of a view's `piles`, which must be in layout order.

    Raises:
        BadAnswer: `piles` has not the shape that the protocol gives it.
    """
    if not isinstance(piles, dict):
        raise BadAnswer("a view's piles are an object")
    parts: list[str] = []
    for name, pile in piles.items():
        match pile:
            case {"down": int(down), "up": list(up)}:
                cards = "".join([card if isinstance(card, str) else "?" for card in up])
                parts.append(f"{name}:{down}:{cards};")
            case _:
                raise BadAnswer(f"pile {name!r} has no count and cards")
    return f"{crc32(''.join(parts).encode()):08x}"
