"""The piles of a game: their names, their order, and where a client may draw them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

PileIndex: TypeAlias = int
"""A pile's place in layout order; the place after the last one is off the table."""

Kind: TypeAlias = Literal["stock", "waste", "foundation", "tableau", "reserve", "cell"]
Fan: TypeAlias = Literal["none", "down", "right"]


class Pile(NamedTuple):
    """One pile, as a client draws it."""

    name: str
    """Its name on the wire, a word and at most a number: ``stock``, ``t12``."""

    kind: Kind
    x: float
    """In card widths from the left."""

    y: float
    """In card heights from the top."""

    fan: Fan = "none"
    label: str = ""
    """What to call it in words."""

    hint: str | None = None
    """The ranks that an empty place takes, to be shown on it; None where nothing is to be said."""

    @property
    def stem(self) -> str:
        """The name without its number, which piles of one group share."""
        return self.name.rstrip("0123456789")


def row(
    stem: str,
    count: int,
    kind: Kind,
    x: float,
    y: float,
    *,
    dx: float = 1.2,
    fan: Fan = "none",
    label: str,
    hint: str | None = None,
    first: int = 1,
) -> tuple[Pile, ...]:
    """Return ``count`` piles side by side, numbered from ``first``, each ``dx`` right of the last."""
    return tuple(
        Pile(f"{stem}{first + i}", kind, round(x + i * dx, 2), y, fan, f"{label} {first + i}", hint)
        for i in range(count)
    )


class Layout:
    """All piles of a game in layout order.

    Beside the piles that a client sees there is one place off the table, ``off``: the deck lies there
    before the deal, and cards that leave play go there. It appears in no view.
    """

    __slots__ = ("by_name", "down_paths", "names", "off", "piles", "up_paths")

    piles: tuple[Pile, ...]
    names: tuple[str, ...]
    by_name: Mapping[str, PileIndex]
    off: PileIndex
    """The index of the place off the table."""

    up_paths: tuple[str, ...]
    """The JSON Pointer of each pile's face-up cards in a view."""

    down_paths: tuple[str, ...]
    """The JSON Pointer of each pile's count of face-down cards in a view."""

    def __init__(self, *piles: Pile | Iterable[Pile]) -> None:
        """Put piles, or rows of them, into layout order as they come."""
        flat: list[Pile] = []
        for item in piles:
            flat.extend([item] if isinstance(item, Pile) else item)
        self.piles = tuple(flat)
        self.names = tuple(pile.name for pile in flat)
        self.by_name = MappingProxyType({name: i for i, name in enumerate(self.names)})
        self.off = len(flat)
        self.up_paths = tuple(f"/piles/{name}/up" for name in self.names)
        self.down_paths = tuple(f"/piles/{name}/down" for name in self.names)

    def select(self, names: str) -> tuple[PileIndex, ...]:
        """Return the piles that a spec names, in layout order.

        Args:
            names: pile names and stems, separated by spaces: ``"waste t"`` is the waste and all of
                ``t1``, ``t2``, and so on.

        Raises:
            ValueError: a word of the spec is neither a pile nor a stem.
        """
        wanted = names.split()
        known = {pile.stem for pile in self.piles} | set(self.names)
        if not known.issuperset(wanted):
            raise ValueError(f"no such pile or group in this layout: {set(wanted) - known}")
        return tuple(i for i, pile in enumerate(self.piles) if pile.name in wanted or pile.stem in wanted)
