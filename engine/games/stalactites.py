"""Stalactites, also called Grampus or Old Mole."""

from engine.building import NOTHING, build, regardless
from engine.cards import ANY, RANKS, Card
from engine.effects import Set
from engine.game import Act, Game, Route, Step, Takes, Uses, deal_up
from engine.layout import Layout, PileIndex, row
from engine.table import Table

CHOOSE, PLAY = 0, 1
BY_STEP = {step: build(regardless, step, wrap=True).cards for step in (1, 2)}


class Stalactites(Game):
    """What foundations take depends on the step that the player has chosen after seeing the deal."""

    name = "stalactites"
    title = "Stalactites"
    summary = "All cards open: choose to build by ones or by twos, then never build on the columns."
    help = """\
Bring all 52 cards to the four foundations, thirteen each. Suits never matter.

- Each foundation begins with the card dealt to it. Before anything else choose the **step** by which all four
  are built: with step 1 A 2 3 … Q K A, with step 2 A 3 5 7 9 J K 2 4 6 8 T Q A.
- The top card of a **column** goes to a foundation, or to one of the two **cells** if it is empty. A card
  in a cell goes only to a foundation.
- Nothing is built on the columns, and empty columns stay empty.

**Deal**: one each to the four foundations, then six times one each to the eight columns. `state` tells the
step, and the rank that each foundation takes next.

Each card on the foundations is one point.
"""
    phases = ("choose", "play")
    layout = Layout(
        row("f", 4, "foundation", 1.2, 0, dx=1.6, label="foundation"),
        row("t", 8, "tableau", 0, 1.4, fan="down", label="column"),
        row("c", 2, "cell", 8.4, 0, label="cell"),
    )
    uses = (Uses("choose", ("choose",)),)
    choices = (("step", 1), ("step", 2))
    takes = (Takes("f", NOTHING, limit=13), Takes("t", NOTHING), Takes("c", NOTHING, space=ANY, limit=1))
    wants_read = frozenset({"step"})

    def routes(self) -> tuple[Route, ...]:
        """Cards go to the foundations, or wait in a cell."""
        return (Route("t c", "f", phases=("play",)), Route("t", "c", phases=("play",)))

    def variables(self) -> dict[str, int]:
        """No step is chosen yet: 0."""
        return {"phase": CHOOSE, "step": 0}

    def deal(self, table: Table, act: Act) -> None:
        """Deal the foundations, then six rows of eight."""
        deal_up(act, table, self.layout.select("f"))
        for _ in range(6):
            deal_up(act, table, self.layout.select("t"))

    def wants(self, table: Table, pile: PileIndex) -> tuple[Card, ...]:
        """Foundations are built by the chosen step."""
        up = table.up[pile]
        if self.layout.piles[pile].kind != "foundation":
            return super().wants(table, pile)
        step = table.vars["step"]
        return BY_STEP[step][up[-1]] if step and up and len(up) < 13 else ()

    def extra(self, table: Table) -> list[str]:
        """Choose first."""
        return ["step=1", "step=2"] if table.vars["phase"] == CHOOSE else []

    def settle(self, step: Step, table: Table, act: Act) -> None:
        """Keep the choice and begin."""
        if step.form == "choose":
            act(Set.of(table, "step", step.value))
            act(Set.of(table, "phase", PLAY))

    def state(self, table: Table) -> dict[str, object]:
        """Tell the step, and the rank that each foundation takes next."""
        following: dict[str, str | None] = {}
        for pile in self.scoring:
            wanted = self.wants(table, pile)
            following[self.layout.names[pile]] = RANKS[wanted[0] % 13] if wanted else None
        return {"step": table.vars["step"] or None, "next": following}
