"""Cards as numbers and as text."""
# pysol_cards, the other library, has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysol_cards.cards import CardRenderer, createCards

from engine.cards import (
    ACE,
    ANY,
    JACK,
    KING,
    NAMES,
    QUEEN,
    RANKS,
    SUITS,
    TEN,
    cards_of,
    is_red,
    parse_card,
    rank_of,
    suit_of,
)


def test_the_deck_goes_by_suit_from_ace_to_king() -> None:
    assert [rank + suit for suit, rank in product("CDHS", "A23456789TJQK")] == list(NAMES)
    assert (NAMES[0], NAMES[12], NAMES[13], NAMES[51]) == ("AC", "KC", "AD", "KS")


@pytest.mark.parametrize("card", range(52))
def test_a_cards_name_is_its_rank_then_its_suit(card: int) -> None:
    assert NAMES[card] == RANKS[rank_of(card)] + SUITS[suit_of(card)]
    assert parse_card(NAMES[card]) == card


def test_hearts_and_diamonds_are_red() -> None:
    assert {name for name in NAMES if is_red(parse_card(name))} == {name for name in NAMES if name[1] in "DH"}


def test_another_library_names_the_same_52_cards() -> None:
    theirs = CardRenderer(print_ts=True).render_l(createCards(1))
    assert set(theirs) == set(NAMES)


def test_another_library_ranks_cards_alike() -> None:
    renderer = CardRenderer(print_ts=True)
    for card in createCards(2):
        ours = parse_card(renderer.to_s(card))
        assert rank_of(ours) == card.rank - 1
        assert SUITS[suit_of(ours)] == card.suit_s()
        assert (rank_of(ours) == ACE, rank_of(ours) == KING) == (card.is_ace(), card.is_king())


@pytest.mark.parametrize(
    "text", ["", "A", "C", "ac", "Ac", "CA", "1C", "10C", "0C", "AX", "A C", " AC", "AC\n", "??", "A♣"]
)
def test_any_other_text_is_no_card(text: str) -> None:
    with pytest.raises(ValueError, match="not a card"):
        parse_card(text)


@given(text=st.text(max_size=3))
def test_text_at_random_is_a_card_exactly_if_it_is_the_name_of_one(text: str) -> None:
    if text in NAMES:
        assert NAMES[parse_card(text)] == text
    else:
        with pytest.raises(ValueError, match="not a card"):
            parse_card(text)


def test_cards_of_some_ranks_are_those_of_every_suit() -> None:
    assert [NAMES[card] for card in cards_of(TEN, KING)] == ["TC", "KC", "TD", "KD", "TH", "KH", "TS", "KS"]
    assert cards_of() == ()
    assert {rank_of(card) for card in cards_of(JACK, QUEEN)} == {10, 11}


def test_any_card_is_all_of_them() -> None:
    assert list(ANY) == list(range(52))
