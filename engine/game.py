"""The rules of a game: mostly data, with a few small methods where a game is odd.

A `Game` answers questions about a `Table` and nothing else, so it cannot know what lies face down.
Ordinary rules are said by `takes` (which piles take which cards) and `routes` (from where to where cards
go); what else a player may do comes from `extra`, what follows by itself from `settle`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, NamedTuple, TypeAlias

from engine.building import Building
from engine.cards import Card
from engine.effects import Effect, Flip, Shift
from engine.layout import Layout, PileIndex
from engine.moves import Form, Move
from engine.options import DEFAULT, Option, Options, Variant, fill
from engine.sources import Source, Sources
from engine.table import Table

Act: TypeAlias = Callable[[Effect], None]
"""Carries an effect out, at once."""


class Takes(NamedTuple):
    """What some piles take."""

    piles: str
    """As `Layout.select` reads it."""

    building: Building
    space: tuple[Card, ...] = ()
    """What an empty one takes."""

    limit: int = 104
    """How many cards it holds at most."""


class Route(NamedTuple):
    """A way from some piles to others that is open to a top card."""

    src: str
    dst: str
    run: Building | None = None
    """By what rule cards that move together must be packed; None where they move one at a time."""

    spaces: bool = True
    """Whether the way leads to empty piles too."""

    phases: tuple[str, ...] = ()
    """In which phases it is open; none named: in all."""


class Uses(NamedTuple):
    """A form of moves that the game has."""

    form: Form
    phases: tuple[str, ...] = ()
    """In which phases; none named: in all."""


class Step(NamedTuple):
    """A legal move, its piles looked up."""

    form: Form
    src: PileIndex = 0
    dst: PileIndex = 0
    n: int = 1
    value: int = 0
    """What a choice sets."""


class Game(ABC):
    """One game under one set of options. Instances hold no state of any play and may be shared."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    title: ClassVar[str]
    summary: ClassVar[str]
    help: ClassVar[str]
    """The rules as Markdown."""

    decks: ClassVar[int] = 1
    phases: ClassVar[tuple[str, ...]] = ("play",)
    layout: ClassVar[Layout]
    options_spec: ClassVar[tuple[Option, ...]] = ()
    variants: ClassVar[tuple[Variant, ...]] = DEFAULT
    uses: ClassVar[tuple[Uses, ...]] = ()
    """The forms of moves that the game has beside ``a-b``, whatever its options."""

    choices: ClassVar[tuple[tuple[str, int], ...]] = ()
    """What may be chosen, as name and number."""

    leaving: ClassVar[str] = ""
    """The piles whose cards may leave play."""

    takes: ClassVar[tuple[Takes, ...]]
    wants_read: ClassVar[frozenset[str]] = frozenset()
    """The variables that `wants` reads."""

    def __init__(self, options: Mapping[str, object] | None = None) -> None:
        """Set the game up under these options, the rest at their defaults.

        Raises:
            OptionError: an option is unknown or out of range.
        """
        self.options: Options = MappingProxyType(fill(self.options_spec, options or {}))
        piles = len(self.layout.piles)
        self._cards: list[tuple[tuple[Card, ...], ...]] = [((),) * 52] * piles
        self._space: list[tuple[Card, ...]] = [()] * piles
        self.limits: list[int] = [104] * piles
        for group in self.takes:
            for pile in self.layout.select(group.piles):
                self._cards[pile] = group.building.cards
                self._space[pile] = group.space
                self.limits[pile] = group.limit
        self._steps: dict[str, Step] = {}
        by_name = self.layout.by_name
        self.stock, self.waste = by_name.get("stock", -1), by_name.get("waste", -1)

    # What a game says of itself.

    @abstractmethod
    def routes(self) -> tuple[Route, ...]:
        """Return the ways that are open under these options."""

    @abstractmethod
    def deal(self, table: Table, act: Act) -> None:
        """Deal from ``table.layout.off``, where the whole deck lies face down, the first card on top."""

    def variables(self) -> dict[str, int]:
        """Return the variables of an undealt table; ``phase`` indexes `phases`."""
        return {"phase": 0}

    def extra(self, table: Table) -> list[str]:
        """Return the legal moves of other forms than ``a-b``, in any order."""
        return []

    def settle(self, step: Step, table: Table, act: Act) -> None:
        """Do what follows from a move by itself; of a choice, all there is to do."""
        return

    def draws(self) -> int:
        """Return how many cards a draw turns up."""
        return 1

    def no_redeals_left(self, table: Table) -> bool:
        """Tell whether the waste may not be turned back any more, however the stock stands."""
        return False

    def lift(self, table: Table) -> tuple[int, int]:
        """Return how many cards may move as one unit onto a pile, and onto a space."""
        return 104, 104

    def state(self, table: Table) -> dict[str, object]:
        """Return what else a player may know and the piles don't show."""
        return {}

    def won(self, table: Table, score: int) -> bool:
        """Tell whether the goal is met; ``score`` is the table's."""
        return score == 52 * self.decks

    # What follows from that.

    @cached_property
    def rules(self) -> str:
        """The rules' name and version, as records carry it."""
        return f"{self.name}/{self.version}"

    @cached_property
    def variant(self) -> str:
        """The name of the option set, ``custom`` if it has none."""
        for variant in self.variants:
            if variant.options == self.options:
                return variant.name
        return "custom"

    @cached_property
    def sources(self) -> Sources:
        """The routes, worked out for the search for moves."""
        return Sources(self.layout, self.phases, [self._source(route) for route in self.routes()])

    @cached_property
    def forms(self) -> Mapping[Form, tuple[str, ...]]:
        """The forms of moves that the game has, and for each the phases in which it is open."""
        forms: dict[Form, tuple[str, ...]] = {use.form: use.phases or self.phases for use in self.uses}
        return {"put": self.phases, **forms}

    @cached_property
    def leavers(self) -> frozenset[PileIndex]:
        """The piles whose cards may leave play."""
        return frozenset(self.layout.select(self.leaving))

    @cached_property
    def scoring(self) -> tuple[PileIndex, ...]:
        """The piles whose cards count one point each: the foundations."""
        return tuple(i for i, pile in enumerate(self.layout.piles) if pile.kind == "foundation")

    def _source(self, route: Route) -> Source:
        """Look a route's piles up."""
        src, dst = self.layout.select(route.src), self.layout.select(route.dst)
        return Source(src, dst, route.run, route.spaces, route.phases or self.phases)

    def phase(self, table: Table) -> str:
        """Return the name of the phase."""
        return self.phases[table.vars["phase"]]

    def score(self, table: Table) -> int:
        """Return the points: so many cards on the scoring piles."""
        up = table.up
        return sum([len(up[pile]) for pile in self.scoring])

    def wants(self, table: Table, pile: PileIndex) -> tuple[Card, ...]:
        """Return the cards that a pile takes now, wherever they come from."""
        up = table.up[pile]
        if up:
            return self._cards[pile][up[-1]] if len(up) < self.limits[pile] else ()
        return () if table.down[pile] else self._space[pile]

    def step(self, text: str) -> Step:
        """Look a legal move's piles up. That it is legal is not checked."""
        step = self._steps.get(text)
        if step is None:
            form, a, b, n = Move.parse(text)
            if form == "choose":
                step = Step(form, value=int(b))
            else:
                by_name = self.layout.by_name
                src = self.stock if form == "draw" else self.waste if form == "redeal" else by_name[a]
                step = Step(form, src, by_name[b] if b else self.waste, n)
            self._steps[text] = step  # Legal moves only, so there are finitely many.
        return step

    def play(self, step: Step, table: Table, act: Act) -> None:
        """Carry a legal move out, with all that follows from it by itself."""
        form, src, dst, n, _ = step
        if form in {"put", "run"}:
            act(Shift(src, dst, n))
        elif form == "draw":
            act(Flip(src, dst, min(self.draws(), table.down[src])))
        elif form == "redeal":
            act(Flip(self.waste, self.stock, len(table.up[self.waste])))
        elif form != "choose":
            act(Shift(src, self.layout.off, 1))
            if form == "pair":
                act(Shift(dst, self.layout.off, 1))
        self.settle(step, table, act)


def deal_down(act: Act, table: Table, piles: Iterable[PileIndex]) -> None:
    """Deal one card face down to each of these piles."""
    for pile in piles:
        act(Shift(table.layout.off, pile, 1))


def deal_up(act: Act, table: Table, piles: Iterable[PileIndex]) -> None:
    """Deal one card face up to each of these piles."""
    for pile in piles:
        act(Flip(table.layout.off, pile, 1))


def deal_rest(act: Act, table: Table, stock: PileIndex) -> None:
    """Make the stock of what is left, the next card on top."""
    act(Shift(table.layout.off, stock, table.down[table.layout.off]))
