"""Rules of building against what they say in words."""

import pytest

from engine.building import EVERYTHING, NOTHING, Building, alternating, build, in_suit, regardless
from engine.cards import NAMES, RANKS, parse_card

PAIRS = [(top, card) for top in range(52) for card in range(52)]
RED = "DH"


def rank(card: int) -> int:
    return RANKS.index(NAMES[card][0])


def same_suit(top: int, card: int) -> bool:
    return NAMES[top][1] == NAMES[card][1]


def other_color(top: int, card: int) -> bool:
    return (NAMES[top][1] in RED) != (NAMES[card][1] in RED)


def test_up_in_suit_takes_the_next_card_of_the_suit() -> None:
    up = build(in_suit, 1)
    for top, card in PAIRS:
        assert up.fits(top, card) == (same_suit(top, card) and rank(card) == rank(top) + 1)


def test_down_in_alternate_colors_takes_the_two_next_lower_ones_of_the_other_color() -> None:
    down = build(alternating, -1)
    for top, card in PAIRS:
        assert down.fits(top, card) == (other_color(top, card) and rank(card) == rank(top) - 1)


@pytest.mark.parametrize("step", [1, -1, 2])
def test_round_the_corner_ranks_go_on_from_king_to_ace(step: int) -> None:
    wrapped = build(regardless, step, wrap=True)
    for top, card in PAIRS:
        assert wrapped.fits(top, card) == (rank(card) == (rank(top) + step) % 13)


def test_without_the_corner_nothing_follows_the_last_rank() -> None:
    up, down = build(regardless, 1), build(regardless, -1)
    for suit in "CDHS":
        assert up.cards[parse_card(f"K{suit}")] == ()
        assert down.cards[parse_card(f"A{suit}")] == ()


@pytest.mark.parametrize(
    "building",
    [build(in_suit, 1), build(alternating, -1), build(regardless, 2, wrap=True), NOTHING, EVERYTHING],
)
def test_cards_and_masks_say_the_same(building: Building) -> None:
    for top, card in PAIRS:
        assert (
            (card in building.cards[top]) == building.fits(top, card) == bool(building.masks[top] & 1 << card)
        )


def test_nothing_takes_no_card_and_everything_any() -> None:
    assert not any(NOTHING.fits(top, card) for top, card in PAIRS)
    assert all(EVERYTHING.fits(top, card) for top, card in PAIRS)
