"""Which moves from pile to pile are open: the search for them, kept cheap.

`Takers` knows for each card which piles take it now, as a bit mask, and is brought up to date for the
piles that a move touched; `Sources` goes through the cards on offer and looks them up there.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from engine.building import Building
from engine.cards import Card
from engine.layout import Layout, PileIndex
from engine.table import Table

_ROW_LIMIT = 4096


class Source(NamedTuple):
    """A route with its piles looked up."""

    src: tuple[PileIndex, ...]
    dst: tuple[PileIndex, ...]
    run: Building | None
    spaces: bool
    phases: tuple[str, ...]


Wants: TypeAlias = Callable[[Table, PileIndex], tuple[Card, ...]]
"""Says which cards a pile takes now."""


class Takers:
    """Which piles take which card now."""

    __slots__ = ("_table", "_targets", "_wanted", "_wants", "empty", "taken")

    taken: list[int]
    """For each card the piles that take it: bit ``p`` for pile ``p``."""

    empty: int
    """The piles without a card, as bits."""

    def __init__(self, table: Table, wants: Wants, targets: frozenset[PileIndex]) -> None:
        """Ask about every pile of a table that takes cards at all."""
        self._table = table
        self._wants = wants
        self._targets = targets
        self._wanted: list[tuple[Card, ...]] = [()] * table.layout.off
        self.taken = [0] * 52
        self.empty = 0
        self.update(range(table.layout.off))

    def update(self, piles: Iterable[PileIndex]) -> None:
        """Ask again about these piles, which have changed."""
        taken, wanted, wants, table = self.taken, self._wanted, self._wants, self._table
        for pile in self._targets.intersection(piles):
            bit = 1 << pile
            was = wanted[pile]
            now = wants(table, pile)
            if now is not was:
                for card in was:
                    taken[card] ^= bit
                for card in now:
                    taken[card] ^= bit
                wanted[pile] = now
            if table.up[pile] or table.down[pile]:
                self.empty &= ~bit
            else:
                self.empty |= bit


class _Row(dict[int, list[str]]):
    """The texts of the moves from one pile, by the bits of the piles that they lead to."""

    def __init__(self, prefix: str, suffix: str, names: Sequence[str]) -> None:
        super().__init__()
        self._prefix, self._suffix, self._names = prefix, suffix, names

    def __missing__(self, hits: int) -> list[str]:
        if len(self) >= _ROW_LIMIT:
            self.clear()
        names = enumerate(self._names)
        row = [f"{self._prefix}{name}{self._suffix}" for pile, name in names if hits >> pile & 1]
        self[hits] = row
        return row


_Exit: TypeAlias = tuple[PileIndex, int, int, int, Building | None, int, list[_Row]]
"""All that leads out of one pile in one phase; a plain tuple, which is unpacked four times as fast.

The pile; the piles that a single card may go to, as bits; those of them that it may not go to while they are
empty; the piles of its own group, since going from one space's only card to another changes nothing; the
rule by which a run is packed; the piles that a run may go to; and for each number of cards the texts of the
moves, the first entry not being used.
"""


class Sources:
    """The routes of one game under one set of options."""

    def __init__(self, layout: Layout, phases: Sequence[str], sources: Sequence[Source]) -> None:
        """Work the routes out for every phase."""
        self._sources = sources
        self.targets = frozenset(pile for source in sources for pile in source.dst)
        self._rows: dict[PileIndex, list[_Row]] = {}
        self._exits = [self._exits_in(layout, phase) for phase in phases]

    def _exits_in(self, layout: Layout, phase: str) -> list[_Exit]:
        """Gather what leads out of each pile in a phase, in the order of the piles' names."""
        exits: list[_Exit] = []
        for pile, name in sorted(enumerate(layout.names), key=lambda item: item[1]):
            reach = barred = run_reach = 0
            run: Building | None = None
            for source in self._sources:
                if pile not in source.src or phase not in source.phases:
                    continue
                bits = sum(1 << dst for dst in source.dst if dst != pile)
                reach |= bits
                barred |= 0 if source.spaces else bits
                if source.run is not None:
                    run, run_reach = source.run, run_reach | bits
            stem = layout.piles[pile].stem
            alike = sum(1 << i for i, other in enumerate(layout.piles) if other.stem == stem)
            if reach:
                rows = self._rows.setdefault(
                    pile,
                    [
                        _Row(f"{name}-", f":{n}" if n > 1 else "", layout.names)
                        for n in range(105 if run else 2)
                    ],
                )
                exits.append((pile, reach, barred, alike, run, run_reach, rows))
        return exits

    def find(self, table: Table, takers: Takers, lift: tuple[int, int]) -> list[str]:
        """Return all moves ``a-b`` and ``a-b:n`` that are open, nearly in ASCII order."""
        out: list[str] = []
        taken, empty, ups, downs = takers.taken, takers.empty, table.up, table.down
        for pile, reach, barred, alike, run, run_reach, rows in self._exits[table.vars["phase"]]:
            up = ups[pile]
            if not up:
                continue
            hits = taken[up[-1]] & reach
            if hits:
                if hits & empty:
                    hits &= ~(empty & (barred | alike if len(up) == 1 and not downs[pile] else barred))
                out += rows[1][hits]
            if run is not None and len(up) > 1:
                masks = run.masks
                card = up[-1]
                for n in range(2, min(len(up), lift[0]) + 1):
                    under = up[-n]
                    if not masks[under] >> card & 1:
                        break
                    card = under
                    hits = taken[card] & run_reach
                    if hits:
                        if hits & empty:
                            whole = n == len(up) and not downs[pile]
                            hits &= ~(empty & (barred | alike if whole else barred))
                            if n > lift[1]:
                                hits &= ~empty
                        out += rows[n][hits]
        return out

    def routes(self, src: PileIndex, dst: PileIndex) -> list[Source]:
        """Return the routes from one pile to another, in whatever phase."""
        return [source for source in self._sources if src in source.src and dst in source.dst and src != dst]

    def leads_out(self, src: PileIndex) -> list[Source]:
        """Return the routes that lead out of a pile, in whatever phase."""
        return [source for source in self._sources if src in source.src]
