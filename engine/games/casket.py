"""Casket: a lid of five over a body of eight, with jewels inside."""

from engine.building import EVERYTHING, NOTHING, build, in_suit
from engine.cards import ACE, ANY, cards_of
from engine.effects import Flip
from engine.game import Act, Game, Route, Step, Takes, Uses, deal_down, deal_rest, deal_up
from engine.layout import Layout, Pile
from engine.table import Table


def _body() -> tuple[Pile, ...]:
    """The eight body piles stand in a U: three down, two along the bottom, three up."""
    places = ((2.6, 1.6), (2.6, 2.8), (2.6, 4.0), (4.4, 4.2), (5.6, 4.2), (7.4, 4.0), (7.4, 2.8), (7.4, 1.6))
    return tuple(Pile(f"t{i}", "tableau", x, y, label=f"body {i}") for i, (x, y) in enumerate(places, 1))


def _lid() -> tuple[Pile, ...]:
    """The five lid piles stand in a shallow arch."""
    places = ((2.6, 0.4), (3.8, 0.1), (5.0, 0.0), (6.2, 0.1), (7.4, 0.4))
    return tuple(Pile(f"l{i}", "reserve", x, y, label=f"lid {i}") for i, (x, y) in enumerate(places, 1))


class Casket(Game):
    """Reserves take waste cards without end, so the skill is in what to bury."""

    name = "casket"
    title = "Casket"
    summary = "Two decks: open the lid for the jewels and build eight suits up from the aces."
    decks = 2
    help = """\
Bring all 104 cards to the eight foundations: in suit, from the ace to the king, each suit twice.

- Cards move one at a time. On the **body** they are put on the next higher card of the same suit; an empty
  body pile takes any card, but not from the lid.
- The cards of the **lid** go to the foundations or onto body cards. When a lid pile empties, the next
  **jewel** is turned up onto it.
- **Draw** turns one card from the stock onto the waste, when the waste is empty. The waste card goes to a
  foundation, to the body, or onto any of the three **reserves**; only the top of a reserve is available.
- There is no redeal, and foundations give nothing back.

**Deal**: thirteen face down to the jewels, the last one on top; one each to the five lid piles, the eight
body piles and the waste. The rest is the stock.

Each card on the foundations is one point.
"""
    layout = Layout(
        Pile("stock", "stock", 0, 0, label="stock"),
        Pile("waste", "waste", 1.2, 0, label="waste"),
        Pile("jewels", "reserve", 5.0, 2.2, label="jewels"),
        _lid(),
        _body(),
        tuple(Pile(f"r{i}", "reserve", 0, 0.3 + 1.2 * i, "right", f"reserve {i}") for i in range(1, 4)),
        tuple(
            Pile(
                f"f{i + 1}",
                "foundation",
                9.2 + 1.2 * (i % 2),
                1.2 * (i // 2),
                label=f"foundation {i + 1}",
                hint="A",
            )
            for i in range(8)
        ),
    )
    uses = (Uses("draw"),)
    takes = (
        Takes("f", build(in_suit, 1), space=cards_of(ACE)),
        Takes("t", build(in_suit, -1), space=ANY),
        Takes("r", EVERYTHING, space=ANY),
        Takes("waste", NOTHING, limit=1),
    )

    def routes(self) -> tuple[Route, ...]:
        """The lid never leads to a body space; reserves are filled from the waste alone."""
        return (
            Route("waste r t l", "f"),
            Route("waste r t", "t"),
            Route("l", "t", spaces=False),
            Route("waste", "r"),
        )

    def deal(self, table: Table, act: Act) -> None:
        """Deal the jewels, the lid, the body and the first waste card."""
        deal_down(act, table, self.layout.select("jewels") * 13)
        for piles in ("l", "t", "waste"):
            deal_up(act, table, self.layout.select(piles))
        deal_rest(act, table, self.stock)

    def extra(self, table: Table) -> list[str]:
        """Draw when the last card drawn has gone."""
        return ["draw"] if table.down[self.stock] and not table.up[self.waste] else []

    def settle(self, step: Step, table: Table, act: Act) -> None:
        """Turn up a jewel where the lid has opened."""
        jewels = self.layout.by_name["jewels"]
        if not table.up[step.src] and self.layout.piles[step.src].stem == "l" and table.down[jewels]:
            act(Flip(jewels, step.src, 1))
