"""What lies on the table, as everybody may see it, and, kept apart, the names under the backs."""

from collections.abc import Iterable, Sequence
from typing import NoReturn, Self

from engine.cards import NAMES, Card, parse_card
from engine.layout import Layout


class Table:
    """A position as a player sees it: nothing in it says which card lies face down.

    In every pile the face-down cards lie at the bottom, so they are a number and the cards above them
    a list. Rules read a table and nothing else; only effects change one.
    """

    __slots__ = ("down", "layout", "up", "vars")

    layout: Layout
    down: list[int]
    """How many cards lie face down at the bottom of each pile, the place off the table last."""

    up: list[list[Card]]
    """The face-up cards of each pile, the top one last."""

    vars: dict[str, int]
    """What else the player may know and undo must restore: the phase, the pass, a chosen step."""

    def __init__(self, layout: Layout, variables: dict[str, int] | None = None) -> None:
        """Make an empty table."""
        self.layout = layout
        self.down = [0] * (layout.off + 1)
        self.up = [[] for _ in range(layout.off + 1)]
        self.vars = dict(variables or {})

    def count(self, pile: int) -> int:
        """Return how many cards a pile holds, face down and face up."""
        return self.down[pile] + len(self.up[pile])

    def text(self) -> str:
        """Return the position as text: a line a variable, then a line a pile, ``t3: ?? ?? QS JH``."""
        lines = [f"{key} = {value}" for key, value in self.vars.items()]
        for i, name in enumerate((*self.layout.names, "off")):
            cards = ["??"] * self.down[i] + [NAMES[card] for card in self.up[i]]
            lines.append(f"{name}: {' '.join(cards)}".rstrip())
        return "\n".join(lines) + "\n"

    @classmethod
    def parse(cls, layout: Layout, text: str) -> Self:
        """Read a position's text; piles that it leaves out are empty.

        Raises:
            ValueError: a line is not of the form, names no pile of the layout or no card, or has a
                face-down card above a face-up one.
        """
        table = cls(layout)
        for line in text.split("\n"):
            if not line.strip():
                continue
            if "=" in line:
                key, _, number = line.partition("=")
                table.vars[key.strip()] = int(number)
                continue
            name, colon, cards = line.partition(":")
            pile = layout.off if name.strip() == "off" else layout.by_name.get(name.strip())
            if pile is None or not colon:
                raise ValueError(f"not a line of a table: {line!r}")
            words = cards.split()
            table.down[pile] = words.count("??")
            if "??" in words[table.down[pile] :]:
                raise ValueError(f"a face-down card above a face-up one: {line!r}")
            table.up[pile] = [parse_card(word) for word in words[table.down[pile] :]]
        return table


class Backs:
    """The names under the backs: the one thing in the engine that a player must not see.

    No rule receives it and nothing encodes it; its text says nothing and it refuses to be pickled.
    """

    __slots__ = ("_names",)

    def __init__(self, piles: int) -> None:
        """Make backs for so many piles, all of them empty."""
        self._names: list[list[Card]] = [[] for _ in range(piles)]

    def lay(self, pile: int, cards: Iterable[Card]) -> None:
        """Put cards face down on a pile, the last one on top."""
        self._names[pile].extend(cards)

    def take(self, pile: int, count: int) -> list[Card]:
        """Take the top ``count`` face-down cards of a pile, the top one last."""
        names = self._names[pile]
        taken = names[len(names) - count :]
        del names[len(names) - count :]
        return taken

    def permute(self, order: Sequence[int]) -> None:
        """Give the backs each other's names: back ``i`` gets the name of back ``order[i]``.

        It is there to show that nothing sent depends on them. ``order`` is a permutation of all
        face-down cards, counted pile by pile from the bottom.
        """
        flat = [card for names in self._names for card in names]
        fresh = iter([flat[i] for i in order])
        for names in self._names:
            names[:] = [next(fresh) for _ in names]

    def __len__(self) -> int:
        """Return how many cards lie face down."""
        return sum(map(len, self._names))

    def __repr__(self) -> str:
        """Say how many there are, and no more."""
        return f"<Backs of {len(self)} cards>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be pickled or copied out.

        Raises:
            TypeError: always.
        """
        raise TypeError("the names under the backs stay where they are")
