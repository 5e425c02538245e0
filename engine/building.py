"""What builds on what, worked out once for all 52 cards.

A rule of building is a table from the card that lies on top to the cards that may be put on it, kept
twice: as tuples, to be gone through, and as bit masks, to be asked about one card.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from engine.cards import ANY, Card, is_red, rank_of, suit_of

Suits: TypeAlias = Callable[[Card, Card], bool]
"""Whether the suits of two cards go together."""


def in_suit(lower: Card, upper: Card) -> bool:
    """The two cards are of one suit."""
    return suit_of(lower) == suit_of(upper)


def alternating(lower: Card, upper: Card) -> bool:
    """One card is red, the other black."""
    return is_red(lower) != is_red(upper)


def regardless(_lower: Card, _upper: Card) -> bool:
    """Suits never matter."""
    return True


class Building(NamedTuple):
    """A rule of building, by the card on top."""

    cards: tuple[tuple[Card, ...], ...]
    """For each top card, the cards that may be put on it."""

    masks: tuple[int, ...]
    """The same as bit masks: bit ``c`` is set where card ``c`` may be put on it."""

    def fits(self, top: Card, card: Card) -> bool:
        """Tell whether ``card`` may be put on ``top``."""
        return bool(self.masks[top] >> card & 1)


def build(suits: Suits, step: int, *, wrap: bool = False) -> Building:
    """Make the rule in which each card is ``step`` ranks above the one it is put on.

    Args:
        suits: which suits go together.
        step: 1 to build up, -1 to build down; other steps are possible.
        wrap: whether ranks run round the corner, the ace following the king.
    """

    def fits(top: Card, card: Card) -> bool:
        due = rank_of(top) + step
        return rank_of(card) == (due % 13 if wrap else due) and suits(top, card)

    cards = tuple(tuple(card for card in range(52) if fits(top, card)) for top in range(52))
    return Building(cards, tuple(sum(1 << card for card in row) for row in cards))


NOTHING = Building(((),) * 52, (0,) * 52)
"""Nothing is ever put on anything: piles of one card."""

EVERYTHING = Building((ANY,) * 52, ((1 << 52) - 1,) * 52)
"""Anything is put on anything."""
