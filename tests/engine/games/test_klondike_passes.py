"""Klondike's options, drawing and redealing."""

import pytest

from engine.errors import OptionError
from engine.games import make_game
from tests.engine.positions import at, part, pile, piles, reason

ONE = make_game("klondike")
THREE = make_game("klondike", {"draw": 3})


# Options.


def test_options_left_out_are_one_card_one_pass_and_no_worrying_back() -> None:
    assert ONE.options == {"draw": 1, "passes": 1, "worry_back": False}
    assert ONE.variant == "draw1"


def test_passes_left_out_are_as_many_as_a_draw_turns_cards() -> None:
    assert THREE.options == {"draw": 3, "passes": 3, "worry_back": False}
    assert THREE.variant == "draw3"


@pytest.mark.parametrize(
    ("options", "variant"),
    [
        ({"draw": 1, "passes": 1, "worry_back": False}, "draw1"),
        ({"draw": 3, "passes": 3, "worry_back": False}, "draw3"),
        ({"draw": 1, "passes": 0, "worry_back": True}, "relaxed1"),
        ({"draw": 3, "passes": 0, "worry_back": True}, "relaxed3"),
        ({"draw": 3, "passes": 1}, "custom"),
        ({"worry_back": True}, "custom"),
    ],
)
def test_a_set_of_options_has_its_variants_name(options: dict[str, object], variant: str) -> None:
    assert make_game("klondike", options).variant == variant


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("draw", 0), ("draw", 2), ("draw", 4), ("draw", True), ("draw", "1"), ("draw", 1.0), ("draw", None),
        ("passes", -1), ("passes", 10), ("passes", False), ("passes", 2**70), ("worry_back", 1),
        ("worry_back", "true"), ("worry_back", None), ("redeals", 1), ("", 0),
    ],
)  # fmt: skip
def test_an_option_out_of_range_or_unknown_is_refused_by_name(option: str, value: object) -> None:
    with pytest.raises(OptionError) as refused:
        make_game("klondike", {option: value})
    assert refused.value.option == option


# Drawing and redealing.


def test_draw_turns_one_card_onto_the_waste() -> None:
    play = at(ONE, "stock: ?? ?? ??\nt1: KS", "2C 3C 4C")
    play.push("draw")
    assert piles(play, "stock waste") == ["?? ??", "4C"]


def test_draw_three_turns_cards_one_after_another_the_last_on_top() -> None:
    play = at(THREE, "stock: ?? ?? ?? ??\nwaste: 9H", "2C 3C 4C 5C")
    play.push("draw")
    assert piles(play, "stock waste") == ["??", "9H 5C 4C 3C"]


@pytest.mark.parametrize(("stock", "hidden", "waste"), [("?? ??", "2C 3C", "3C 2C"), ("??", "2C", "2C")])
def test_draw_three_turns_what_is_left(stock: str, hidden: str, waste: str) -> None:
    play = at(THREE, f"stock: {stock}", hidden)
    play.push("draw")
    assert piles(play, "stock waste") == ["", waste]


def test_redeal_turns_the_waste_over_so_that_cards_come_in_the_same_order() -> None:
    play = at(THREE, "stock: ?? ?? ?? ?? ??", "2C 3C 4C 5C 6C")
    seen: list[str] = []
    for move in ("draw", "draw", "redeal", "draw", "draw"):
        play.push(move)
        seen.append(pile(play, "waste"))
    assert seen == ["6C 5C 4C", "6C 5C 4C 3C 2C", "", "6C 5C 4C", "6C 5C 4C 3C 2C"]


def test_redeal_takes_an_empty_stock_and_a_waste() -> None:
    game = make_game("klondike", {"passes": 0})
    assert at(game, "stock: ??\nwaste: 2C").legal == ["draw"]
    assert at(game, "waste: 2C").legal == ["redeal"]
    assert at(game, "t1: 2C").status == "lost"


@pytest.mark.parametrize("passes", range(1, 10))
def test_so_many_passes_are_possible_and_no_more(passes: int) -> None:
    play = at(make_game("klondike", {"passes": passes}), "stock: ??\nt1: KC QD\nt2: 9C", "9H")
    for number in range(1, passes):
        play.push("draw")
        assert part(play, "pass") == number
        play.push("redeal")
    play.push("draw")
    assert part(play, "pass") == passes
    assert play.status == "lost"
    play.pop()
    assert (play.status, part(play, "pass")) == ("playing", passes)


def test_no_pass_left_is_the_reason_while_other_moves_are_legal() -> None:
    assert reason(at(ONE, "waste: 9H\nt1: QD\nt2: KC"), "redeal") == "source_locked"


def test_without_a_limit_there_is_always_another_pass() -> None:
    play = at(make_game("klondike", {"passes": 0}), "stock: ??\nt2: 9C", "9H")
    for _ in range(30):
        play.push("draw")
        play.push("redeal")
    assert part(play, "pass") == 31


def test_undo_of_a_redeal_gives_the_pass_and_the_waste_back() -> None:
    play = at(THREE, "stock: ??\nwaste: 5C 6C\npass = 2", "9H")
    for move in ("draw", "redeal"):
        play.push(move)
    assert part(play, "pass") == 3
    play.pop()
    assert part(play, "pass") == 2
    assert piles(play, "stock waste") == ["", "5C 6C 9H"]
