"""The only code that changes a table: three effects, each of which has an inverse.

Whatever a move does is a list of effects, so undo is the inverses in reverse order and nothing is ever
copied. Applying one gives a `Record`: the change as somebody at the table sees it, from which the
patches for clients are made.
"""

from typing import NamedTuple, Self, TypeAlias

from engine.cards import Card
from engine.layout import PileIndex
from engine.table import Backs, Table


class Shift(NamedTuple):
    """The top ``n`` cards of ``src`` go to ``dst`` as they lie, the packet kept in order.

    They are all face up, or all face down and then ``dst`` shows no face-up card.
    """

    src: PileIndex
    dst: PileIndex
    n: int

    def apply(self, table: Table, backs: Backs) -> "Record":
        """Carry it out."""
        src, dst, n = self
        up = table.up[src]
        if not up:
            table.down[src] -= n
            table.down[dst] += n
            backs.lay(dst, backs.take(src, n))
            return Record(self, table.down[src], table.down[dst], ())
        at = len(up) - n
        packet = up[at:]
        del up[at:]
        table.up[dst] += packet
        return Record(self, at, 0, packet)

    def inverse(self) -> "Shift":
        """Return the effect that takes this one back."""
        return Shift(self.dst, self.src, self.n)


class Flip(NamedTuple):
    """The top ``n`` cards of ``src`` are turned over as one packet onto ``dst``, which may be ``src``.

    Cards that lie face down are turned up and the other way round, and their order is reversed.
    """

    src: PileIndex
    dst: PileIndex
    n: int

    def apply(self, table: Table, backs: Backs) -> "Record":
        """Carry it out."""
        src, dst, n = self
        up = table.up[src]
        if up:
            at = len(up) - n
            packet = up[at:]
            packet.reverse()
            del up[at:]
            backs.lay(dst, packet)
            table.down[dst] += n
            return Record(self, at, table.down[dst], ())
        packet = backs.take(src, n)
        packet.reverse()
        table.down[src] -= n
        table.up[dst] += packet
        return Record(self, -1, table.down[src], packet)

    def inverse(self) -> "Flip":
        """Return the effect that takes this one back."""
        return Flip(self.dst, self.src, self.n)


class Set(NamedTuple):
    """The variable ``key`` changes from ``old`` to ``new``."""

    key: str
    old: int
    new: int

    @classmethod
    def of(cls, table: Table, key: str, new: int) -> Self:
        """Return the effect that gives a variable a new value."""
        return cls(key, table.vars[key], new)

    def apply(self, table: Table, backs: Backs) -> "Record":
        """Carry it out."""
        table.vars[self.key] = self.new
        return Record(self, 0, 0, ())

    def inverse(self) -> "Set":
        """Return the effect that takes this one back."""
        return Set(self.key, self.new, self.old)


Effect: TypeAlias = Shift | Flip | Set


class Record(NamedTuple):
    """An effect as it was seen."""

    effect: Effect
    at: int
    """Where the packet lay among the face-up cards of its source; -1 if it lay face down."""

    down: int
    """How many cards lie face down afterwards in the pile whose number changed."""

    cards: "tuple[Card, ...] | list[Card]"
    """The cards that lie face up afterwards, the top one last; none if they were turned down."""
