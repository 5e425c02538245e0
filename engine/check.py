"""The checksum by which a client that applies patches knows that it is right."""

from collections.abc import Iterable
from zlib import crc32

from engine.cards import NAMES
from engine.layout import PileIndex
from engine.table import Table


class Check:
    """CRC-32 over one ``name:down:cards;`` a pile; the pieces of untouched piles are kept."""

    __slots__ = ("_pieces", "_table")

    def __init__(self, table: Table) -> None:
        """Write down every pile of a table."""
        self._table = table
        self._pieces = [""] * table.layout.off
        self.update(range(table.layout.off))

    def update(self, piles: Iterable[PileIndex]) -> None:
        """Write these piles down again, which have changed."""
        table, pieces = self._table, self._pieces
        names, down = table.layout.names, table.down
        for pile in piles:
            cards = "".join([NAMES[card] for card in table.up[pile]])
            pieces[pile] = f"{names[pile]}:{down[pile]}:{cards};"

    def value(self) -> str:
        """Return it as 8 lower-case hex digits."""
        return f"{crc32(''.join(self._pieces).encode('ascii')):08x}"


def check(table: Table) -> str:
    """Return the checksum of a table."""
    return Check(table).value()
