"""Klondike, also called Demon Patience (wrongly: Canfield)."""

from engine.building import alternating, build, in_suit
from engine.cards import ACE, KING, cards_of
from engine.effects import Flip, Set
from engine.game import Act, Game, Route, Step, Takes, Uses, deal_down, deal_rest, deal_up
from engine.layout import Layout, Pile, row
from engine.options import Option, Variant
from engine.table import Table

UP_IN_SUIT = build(in_suit, 1)
DOWN_ALTERNATING = build(alternating, -1)


class Klondike(Game):
    """`passes` says how often the stock may be gone through in all, 0 for no limit."""

    name = "klondike"
    title = "Klondike"
    summary = "Build the four suits up from the aces; columns go down in alternate colors."
    help = """\
Bring all 52 cards to the foundations: each suit in order from the ace to the king.

- **Columns** are built down in alternate colors: a red six on a black seven. Any face-up run from the top
  of a column moves as one unit. Only a king, or a run that begins with one, goes to an empty column.
- A column whose top card lies face down has it turned up by itself.
- **Draw** turns one card, or three, from the stock onto the waste; only the top of the waste is available.
- **Redeal** turns the waste back into the stock when the stock is empty, as long as passes are left.
- Cards on the foundations stay there, unless the option *worry back* lets them return to a column.

**Deal**: seven rows, the first over all seven columns, each further one beginning one column later; the first
card of a row lies face up, the others face down. The rest is the stock. `state` tells the pass under way.

Each card on the foundations is one point.
"""
    layout = Layout(
        Pile("stock", "stock", 0, 0, label="stock"),
        Pile("waste", "waste", 1.2, 0, "right", "waste"),
        row("f", 4, "foundation", 3.6, 0, label="foundation", hint="A"),
        row("t", 7, "tableau", 0, 1.3, fan="down", label="column", hint="K"),
    )
    options_spec = (
        Option("draw", "How many cards a draw turns up.", 1, choices=(1, 3)),
        Option("passes", "How often the stock may be gone through, 0 for no limit.", "draw", most=9),
        Option("worry_back", "Whether cards may return from the foundations to the columns.", False),
    )
    variants = (
        Variant("draw1", "Draw one, one pass", {"draw": 1, "passes": 1, "worry_back": False}),
        Variant("draw3", "Draw three, three passes", {"draw": 3, "passes": 3, "worry_back": False}),
        Variant("relaxed1", "Draw one, no limit", {"draw": 1, "passes": 0, "worry_back": True}),
        Variant("relaxed3", "Draw three, no limit", {"draw": 3, "passes": 0, "worry_back": True}),
    )
    uses = (Uses("draw"), Uses("redeal"), Uses("run"))
    takes = (
        Takes("f", UP_IN_SUIT, space=cards_of(ACE)),
        Takes("t", DOWN_ALTERNATING, space=cards_of(KING)),
    )

    def routes(self) -> tuple[Route, ...]:
        """Foundations give cards back only where worrying back is allowed."""
        back = (Route("f", "t"),) if self.options["worry_back"] else ()
        return (Route("waste t", "f"), Route("waste", "t"), Route("t", "t", run=DOWN_ALTERNATING), *back)

    def variables(self) -> dict[str, int]:
        """The first pass is under way from the start."""
        return {"phase": 0, "pass": 1}

    def draws(self) -> int:
        """One or three, by the option."""
        return self.options["draw"]

    def deal(self, table: Table, act: Act) -> None:
        """Deal seven rows, each one column shorter, its first card face up."""
        columns = self.layout.select("t")
        for i in range(7):
            deal_up(act, table, columns[i : i + 1])
            deal_down(act, table, columns[i + 1 :])
        deal_rest(act, table, self.stock)

    def extra(self, table: Table) -> list[str]:
        """Draw as long as there is a stock, redeal as long as there is a pass left."""
        if table.down[self.stock]:
            return ["draw"]
        return ["redeal"] if table.up[self.waste] and not self.no_redeals_left(table) else []

    def no_redeals_left(self, table: Table) -> bool:
        """Count the passes that have begun, unless there is no limit."""
        passes = self.options["passes"]
        return bool(passes) and table.vars["pass"] >= passes

    def settle(self, step: Step, table: Table, act: Act) -> None:
        """Turn up a column's top card; count the passes."""
        if step.form == "redeal":
            act(Set.of(table, "pass", table.vars["pass"] + 1))
        elif table.down[step.src] and not table.up[step.src] and step.form != "draw":
            act(Flip(step.src, step.src, 1))

    def state(self, table: Table) -> dict[str, object]:
        """Tell which pass through the stock is under way."""
        return {"pass": table.vars["pass"]}
