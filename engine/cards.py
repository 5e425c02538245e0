"""Cards are small ints, so that a position is cheap to copy, compare and index by.

A card is ``suit * 13 + rank`` with suits in the order of the canonical deck (clubs, diamonds, hearts,
spades) and ranks from 0 for the ace to 12 for the king. A second deck repeats the numbers: the two
copies of a card cannot be told apart.
"""

from typing import TypeAlias

Card: TypeAlias = int
"""0 to 51."""

Rank: TypeAlias = int
"""0 (ace) to 12 (king)."""

RANKS = "A23456789TJQK"
SUITS = "CDHS"
NAMES: tuple[str, ...] = tuple(rank + suit for suit in SUITS for rank in RANKS)
"""The two characters of each card, as they stand on the wire."""

ACE, TEN, JACK, QUEEN, KING = 0, 9, 10, 11, 12

_BY_NAME = {name: card for card, name in enumerate(NAMES)}


def rank_of(card: Card) -> Rank:
    """Return the rank of a card."""
    return card % 13


def suit_of(card: Card) -> int:
    """Return the suit of a card: 0 clubs, 1 diamonds, 2 hearts, 3 spades."""
    return card // 13


def is_red(card: Card) -> bool:
    """Tell whether a card is a diamond or a heart."""
    return 13 <= card < 39


def parse_card(text: str) -> Card:
    """Read a card's two characters.

    Raises:
        ValueError: ``text`` is not the name of a card.
    """
    try:
        return _BY_NAME[text]
    except KeyError:
        raise ValueError(f"{text!r} is not a card: write rank and suit, as in 'TH'") from None


def cards_of(*ranks: Rank) -> tuple[Card, ...]:
    """Return the cards of the given ranks, of every suit."""
    return tuple(card for card in range(52) if card % 13 in ranks)


ANY: tuple[Card, ...] = tuple(range(52))
"""Every card: what a space takes that anything may fill."""
