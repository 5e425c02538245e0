"""Camelot: fill the square with the court in its places, then clear the tens."""

from functools import cached_property

from engine.building import NOTHING
from engine.cards import ACE, JACK, KING, QUEEN, TEN, cards_of
from engine.effects import Set
from engine.game import Act, Game, Route, Step, Takes, Uses, deal_rest
from engine.layout import Layout, Pile, PileIndex
from engine.table import Table

FILL, CLEAR = 0, 1
CELLS = "a1 a2 a3 a4 b1 b2 b3 b4 c1 c2 c3 c4 d1 d2 d3 d4"
CORNERS, QUEENS, JACKS = "a1 a4 d1 d4", "a2 a3 d2 d3", "b1 c1 b4 c4"
_NUMBERS = range(ACE, TEN + 1)


def _grid() -> tuple[Pile, ...]:
    """The sixteen cells, row by row."""
    hints: dict[str, str] = {}
    for cells, rank in ((CORNERS, "K"), (QUEENS, "Q"), (JACKS, "J")):
        hints |= dict.fromkeys(cells.split(), rank)
    return tuple(
        Pile(name, "tableau", 2.4 + 1.2 * (i % 4), 1.2 * (i // 4), label=name, hint=hints.get(name))
        for i, name in enumerate(CELLS.split())
    )


class Camelot(Game):
    """Cards in the grid never move; they leave play, tens alone and others in pairs that sum to ten."""

    name = "camelot"
    title = "Camelot"
    summary = "Place kings in the corners, queens and jacks at the sides, and clear all else by tens."
    help = """\
Clear away all cards but the twelve of the court. Suits never matter.

- **Fill**: draw a card and place it in an empty cell: kings in the corners, queens at the top and bottom,
  jacks at the left and right, ace to ten anywhere. A court card without a place loses.
- **Clear**: when the grid is full, or stock and waste are empty, take out tens, and pairs of other numbers
  that sum to ten, wherever they lie. Drawing again leads back to filling; it takes an empty cell.
- Cards in the grid never move.

**Deal**: all cards are the stock.

Each card taken out is one point, 40 at the most.
"""
    phases = ("fill", "clear")
    layout = Layout(
        Pile("stock", "stock", 0, 0.6, label="stock"), Pile("waste", "waste", 0, 1.9, label="waste"), _grid()
    )
    uses = (Uses("draw"), Uses("leave", ("clear",)), Uses("pair", ("clear",)))
    leaving = CELLS
    takes = (
        Takes(CELLS, NOTHING, space=cards_of(*_NUMBERS), limit=1),
        Takes(CORNERS, NOTHING, space=cards_of(*_NUMBERS, KING), limit=1),
        Takes(QUEENS, NOTHING, space=cards_of(*_NUMBERS, QUEEN), limit=1),
        Takes(JACKS, NOTHING, space=cards_of(*_NUMBERS, JACK), limit=1),
        Takes("waste", NOTHING, limit=1),
    )
    grid = layout.select(CELLS)

    @cached_property
    def scoring(self) -> tuple[PileIndex, ...]:
        """The cards that have left play count."""
        return (self.layout.off,)

    def routes(self) -> tuple[Route, ...]:
        """From the waste to any cell."""
        return (Route("waste", CELLS, phases=("fill",)),)

    def deal(self, table: Table, act: Act) -> None:
        """Nothing is dealt."""
        deal_rest(act, table, self.stock)

    def extra(self, table: Table) -> list[str]:
        """Draw while there is room; when clearing, take out tens and pairs."""
        out: list[str] = []
        up, names = table.up, self.layout.names
        if table.down[self.stock] and not up[self.waste] and not all(up[cell] for cell in self.grid):
            out.append("draw")
        if table.vars["phase"] == FILL:
            return out
        by_rank: list[list[str]] = [[] for _ in range(TEN)]
        for cell in self.grid:
            cards = up[cell]
            rank = cards[0] % 13 if cards else KING
            if rank < TEN:
                name = names[cell]
                out += [f"{other}+{name}" for other in by_rank[TEN - 1 - rank]]
                by_rank[rank].append(name)
            elif rank == TEN:
                out.append(f"{names[cell]}x")
        return out

    def settle(self, step: Step, table: Table, act: Act) -> None:
        """Begin to clear when the grid or the stock is done; begin to fill with a draw."""
        if step.form == "draw":
            if table.vars["phase"] == CLEAR:
                act(Set.of(table, "phase", FILL))
        elif table.vars["phase"] == FILL:
            full = all(table.up[cell] for cell in self.grid)
            if full or not (table.down[self.stock] or table.up[self.waste]):
                act(Set.of(table, "phase", CLEAR))

    def won(self, table: Table, score: int) -> bool:
        """All numbers are gone and the whole court has been placed."""
        return score == 40 and not table.down[self.stock] and not table.up[self.waste]
