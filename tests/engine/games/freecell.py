"""FreeCell, a game that the service does not have: it shows what a further game takes."""

from engine.building import NOTHING, alternating, build, in_suit
from engine.cards import ACE, ANY, cards_of
from engine.game import Act, Game, Route, Takes, Uses, deal_up
from engine.layout import Layout, row
from engine.table import Table

DOWN_ALTERNATING = build(alternating, -1)


class FreeCell(Game):
    """All cards are open; how many move as one unit is what free cells and spaces would allow one by one."""

    name = "freecell"
    title = "FreeCell"
    summary = "Build the four suits up from the aces, with four cells to wait in."
    help = """\
Bring all 52 cards to the foundations: each suit in order from the ace to the king.

- **Columns** are built down in alternate colors. A space takes any card.
- Each of the four **cells** holds one card.
- A run moves as one unit if it could be moved card by card: one card more than there are free cells, and
  twice as many for each further space.

Each card on the foundations is one point.
"""
    layout = Layout(
        row("c", 4, "cell", 0, 0, label="cell"),
        row("f", 4, "foundation", 5.2, 0, label="foundation", hint="A"),
        row("t", 8, "tableau", 0, 1.3, fan="down", label="column"),
    )
    uses = (Uses("run"),)
    takes = (
        Takes("c", NOTHING, space=ANY, limit=1),
        Takes("f", build(in_suit, 1), space=cards_of(ACE)),
        Takes("t", DOWN_ALTERNATING, space=ANY),
    )
    cells = layout.select("c")
    columns = layout.select("t")

    def routes(self) -> tuple[Route, ...]:
        """Foundations give nothing back."""
        return (Route("t", "c f"), Route("c", "f t"), Route("t", "t", run=DOWN_ALTERNATING))

    def deal(self, table: Table, act: Act) -> None:
        """Deal row by row: the first four columns get a card more."""
        deal_up(act, table, [self.columns[i % 8] for i in range(52)])

    def lift(self, table: Table) -> tuple[int, int]:
        """Count what moving card by card could do; a space that is the target does not help."""
        up = table.up
        held = 1 + sum(not up[cell] for cell in self.cells)
        spaces = sum(not up[column] for column in self.columns)
        return held << spaces, held << max(spaces - 1, 0)
