"""The Plot: thirteen in the dark, and a first foundation that must be finished alone."""

from engine.building import build, regardless
from engine.cards import ANY, RANKS, Card, cards_of, rank_of
from engine.effects import Flip, Set
from engine.game import Act, Game, Route, Step, Takes, Uses, deal_down, deal_rest, deal_up
from engine.layout import Layout, Pile, PileIndex, row
from engine.table import Table

RESTRICTED, OPEN = 0, 1


class Plot(Game):
    """What a pile takes depends on the base, the rank of the first foundation card, and on the phase."""

    name = "plot"
    title = "The Plot"
    summary = "Two decks, suits never matter: finish the first foundation before the others may begin."
    decks = 2
    help = """\
Bring all 104 cards to the eight foundations, thirteen each. Suits never matter and ranks run round the
corner: the ace follows the king.

- The first foundation is dealt one card; its rank is the **base**. Until that foundation holds thirteen
  cards no other may begin (phase *restricted*); from then on each may, with a base card (phase *open*).
- Cards move one at a time. On the **twelve piles** they are put on the next higher card; a base card goes on
  nothing there and takes nothing.
- A **space** is filled from the waste alone: while restricted with a base card, later with any card.
- The **reserve** of thirteen goes to the foundations only; its next card is turned up by itself.
- **Draw** turns one card from the stock onto the waste. There is no redeal.

**Deal**: thirteen to the reserve, the last one on top and face up; one to the first foundation, one each to
the twelve piles. The rest is the stock. `state` tells the base.

Each card on the foundations is one point.
"""
    phases = ("restricted", "open")
    layout = Layout(
        Pile("stock", "stock", 8.0, 1.4, label="stock"),
        Pile("waste", "waste", 8.0, 2.6, label="waste"),
        Pile("reserve", "reserve", 0, 1.4, label="reserve"),
        row("f", 8, "foundation", 0.4, 0, dx=1.1, label="foundation"),
        row("t", 4, "tableau", 2.0, 1.4, dx=1.3, label="pile"),
        row("t", 4, "tableau", 2.0, 2.7, dx=1.3, label="pile", first=5),
        row("t", 4, "tableau", 2.0, 4.0, dx=1.3, label="pile", first=9),
    )
    uses = (Uses("draw"),)
    takes = (
        Takes("f", build(regardless, 1, wrap=True), limit=13),
        Takes("t", build(regardless, -1, wrap=True)),
    )
    wants_read = frozenset({"phase", "base"})
    by_rank = tuple(cards_of(rank) for rank in range(13))

    def routes(self) -> tuple[Route, ...]:
        """Only the first foundation is open from the start; only the waste leads to spaces."""
        return (
            Route("waste reserve t", "f1"),
            Route("waste reserve t", "f2 f3 f4 f5 f6 f7 f8", phases=("open",)),
            Route("waste", "t"),
            Route("t", "t", spaces=False),
        )

    def variables(self) -> dict[str, int]:
        """The base is known once the first foundation is dealt."""
        return {"phase": RESTRICTED, "base": 0}

    def deal(self, table: Table, act: Act) -> None:
        """Deal the reserve, the first foundation and the twelve piles."""
        reserve, first = self.layout.by_name["reserve"], self.layout.by_name["f1"]
        deal_down(act, table, [reserve] * 12)
        deal_up(act, table, [reserve, first])
        act(Set.of(table, "base", rank_of(table.up[first][0])))
        deal_up(act, table, self.layout.select("t"))
        deal_rest(act, table, self.stock)

    def wants(self, table: Table, pile: PileIndex) -> tuple[Card, ...]:
        """Base cards take part in no building on the twelve piles."""
        base = table.vars["base"]
        up = table.up[pile]
        kind = self.layout.piles[pile].kind
        if kind == "tableau":
            if up:
                rank = up[-1] % 13
                return () if base in {rank, (rank - 1) % 13} else self.by_rank[rank - 1]
            return ANY if table.vars["phase"] == OPEN else self.by_rank[base]
        if kind == "foundation" and not up:
            return self.by_rank[base] if table.vars["phase"] == OPEN else ()
        return super().wants(table, pile)

    def extra(self, table: Table) -> list[str]:
        """Draw as long as there is a stock."""
        return ["draw"] if table.down[self.stock] else []

    def settle(self, step: Step, table: Table, act: Act) -> None:
        """Turn up the next reserve card; open the other foundations when the first is full."""
        if table.down[step.src] and not table.up[step.src] and step.form != "draw":
            act(Flip(step.src, step.src, 1))
        if table.vars["phase"] == RESTRICTED and len(table.up[self.layout.by_name["f1"]]) == 13:
            act(Set.of(table, "phase", OPEN))

    def state(self, table: Table) -> dict[str, object]:
        """Tell the base as the letter of its rank."""
        return {"base": RANKS[table.vars["base"]]}
