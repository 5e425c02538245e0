"""Klondike's rules page, line by line; options and passes have a file of their own."""

import pytest

from engine.cards import NAMES
from engine.errors import Reason
from engine.games import make_game
from engine.play import Play
from tests.engine import inside
from tests.engine.positions import at, offers, pile, piles, reason, refusals

ONE = make_game("klondike")
THREE = make_game("klondike", {"draw": 3})
BACK = make_game("klondike", {"worry_back": True})

SUIT = {suit: " ".join(rank + suit for rank in "A23456789TJQK") for suit in "CDHS"}


# The deal.


def test_the_deal_lays_seven_rows_with_the_first_card_of_each_face_up() -> None:
    play = Play(ONE, range(52))
    columns = [
        "AC",
        "?? 8C",
        "?? ?? AD",
        "?? ?? ?? 6D",
        "?? ?? ?? ?? TD",
        "?? ?? ?? ?? ?? KD",
        "?? ?? ?? ?? ?? ?? 2H",
    ]
    assert piles(play, "t1 t2 t3 t4 t5 t6 t7") == columns
    assert piles(play, "waste f1 f2 f3 f4") == [""] * 5
    assert pile(play, "stock").split() == ["??"] * 24


def test_the_deal_goes_from_column_to_column_row_by_row() -> None:
    names = inside.names(Play(ONE, range(52)))
    last = [NAMES[card] for card in names[ONE.layout.by_name["t7"]]]
    assert last == ["7C", "KC", "5D", "9D", "QD", "AH"]


def test_the_first_card_that_was_not_dealt_is_the_first_drawn() -> None:
    play = Play(ONE, range(52))
    play.push("draw")
    assert pile(play, "waste") == "3H"


# Onto the foundations.


def test_an_ace_goes_onto_any_empty_foundation() -> None:
    play = at(ONE, "waste: AS\nf2: AH\nt1: AD")
    onto = {f"{src}-{dst}" for src in ("waste", "t1") for dst in ("f1", "f3", "f4")}
    assert set(play.legal) == onto


def test_foundations_are_built_up_in_suit() -> None:
    play = at(ONE, "waste: 2H\nf1: AH\nf2: AD\nf3: AC\nt1: 3H\nt2: 2C\nt3: 2S\nt4: 4C")
    assert {move for move in play.legal if "-f" in move} == {"waste-f1", "t2-f3"}
    play.push("waste-f1")
    play.push("t1-f1")
    assert pile(play, "f1") == "AH 2H 3H"


# Onto the columns.


def test_columns_are_built_down_in_alternate_colors() -> None:
    play = at(ONE, "waste: 6H\nt1: 7S\nt2: 7C\nt3: 7D\nt4: 7H\nt5: 8S\nt6: 5S\nt7: 6D")
    assert offers(play, *(f"waste-t{i}" for i in range(1, 8))) == {"waste-t1", "waste-t2"}


def test_nothing_goes_on_an_ace_and_no_ace_under_a_king() -> None:
    play = at(ONE, "waste: KH\nt1: AS\nt2: KC\nt3: AD\nf1: AC\nf2: AH 2H\nt4: 2S")
    assert offers(play, "waste-t1", "t3-t2", "waste-t2") == set()
    assert "t3-t4" in play.legal


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_face_up_run_moves_whole_or_from_any_card_down(n: int) -> None:
    play = at(ONE, f"t1: ?? 9S 8D 7C 6H\nt2: {['TH', '9C', '8H', '7S'][4 - n]}")
    move = f"t1-t2:{n}"
    assert offers(play, *(f"t1-t2:{m}" for m in (2, 3, 4))) == {move}
    play.push(move)
    assert pile(play, "t2").split()[1:] == ["9S", "8D", "7C", "6H"][4 - n :]


def test_a_run_is_only_cards_that_fit_each_other() -> None:
    play = at(ONE, "t1: 9S 8D 7D 6C\nt2: 9C\nt3: TH\nt4: 8S")
    assert offers(play, "t1-t2:3", "t1-t3:4", "t1-t4:2") == {"t1-t4:2"}


def test_a_run_of_one_color_is_no_run() -> None:
    assert reason(at(ONE, "stock: ??\nt1: 9S 8C\nt2: TH"), "t1-t2:2") == "not_a_run"


def test_only_a_king_goes_to_an_empty_column() -> None:
    play = at(ONE, "waste: KH\nt1: ?? KS QH\nt2: ?? QC\nt3: 5D\nt4: 4D\nt5: 3D\nt6: 2D")
    assert set(play.legal) == {"waste-t7", "t1-t7:2"}


def test_of_the_waste_only_the_top_is_available_and_all_are_visible() -> None:
    play = at(ONE, "waste: 6H 5S\nt1: 7S\nt2: KS")
    assert pile(play, "waste") == "6H 5S"
    assert play.status == "lost"


def test_a_face_down_card_under_a_run_never_moves_with_it() -> None:
    play = at(ONE, "t1: ?? 7C\nt2: 9S\nt3: 8D", "8H")
    assert offers(play, "t1-t3", "t1-t2", "t1-t2:2") == {"t1-t3"}
    assert reason(play, "t1-t2:2") == "face_down"


# What follows by itself.


@pytest.mark.parametrize("move", ["t1-t2", "t1-f1"])
def test_a_column_whose_top_is_face_down_has_it_turned_up(move: str) -> None:
    play = at(ONE, "f1: AH 2H\nt1: ?? ?? 3H\nt2: 4S", "KC 9D")
    play.push(move)
    assert pile(play, "t1") == "?? 9D"
    play.pop()
    assert pile(play, "t1") == "?? ?? 3H"


def test_a_run_that_leaves_a_face_up_card_turns_nothing() -> None:
    play = at(ONE, "t1: ?? 9S 8D\nt2: 9C", "KC")
    play.push("t1-t2")
    assert pile(play, "t1") == "?? 9S"


def test_the_stock_is_not_turned_up_by_itself() -> None:
    play = at(ONE, "stock: ?? ??", "2C 3C")
    play.push("draw")
    assert piles(play, "stock waste") == ["??", "3C"]


# No effect.


@pytest.mark.parametrize(("column", "move"), [("KS", "t1-t2"), ("KS QH", "t1-t2:2"), ("KS QH JC", "t1-t2:3")])
def test_a_whole_column_onto_an_empty_one_has_no_effect(column: str, move: str) -> None:
    assert reason(at(ONE, f"stock: ??\nt1: {column}"), move) == "no_effect"


def test_a_king_with_face_down_cards_under_it_may_go_to_an_empty_column() -> None:
    play = at(ONE, "t1: ?? KS QH", "2C")
    assert play.legal == [f"t1-t{i}:2" for i in range(2, 8)]


# Worrying back.


def test_foundations_are_final_unless_worrying_back_is_allowed() -> None:
    text = "stock: ??\nf1: AH 2H\nt1: 3S\nt2: 3D"
    assert reason(at(ONE, text), "f1-t1") == "source_locked"
    play = at(BACK, text)
    assert offers(play, "f1-t1", "f1-t2", "f1-t3", "f1-f2") == {"f1-t1"}
    play.push("f1-t1")
    assert piles(play, "f1 t1") == ["AH", "3S 2H"]
    assert play.score == 1


def test_a_king_may_be_worried_back_to_an_empty_column() -> None:
    others = "\n".join(f"t{i}: 9S" for i in range(2, 8))
    assert at(BACK, f"f1: {SUIT['H']}\n{others}").legal == ["f1-t1"]


def test_worried_back_cards_move_one_at_a_time() -> None:
    assert reason(at(BACK, "stock: ??\nf1: AH 2H\nt1: 3S"), "f1-t1:2") == "not_a_run"


# Goal, score and the end.


def test_it_is_won_with_52_cards_on_the_foundations() -> None:
    play = at(ONE, f"f1: {SUIT['C']}\nf2: {SUIT['D']}\nf3: {SUIT['H']}\nf4: {SUIT['S'][:-3]}\nt1: KS")
    assert (play.status, play.score) == ("playing", 51)
    play.push("t1-f4")
    assert (play.status, play.score, play.legal) == ("won", 52, [])


def test_it_is_lost_with_the_move_after_which_none_is_legal() -> None:
    play = at(ONE, "stock: ??\nt1: KS\nt2: KH", "9C")
    play.push("draw")
    assert (play.status, play.legal) == ("lost", [])


def test_the_score_is_the_cards_on_the_foundations() -> None:
    play = at(ONE, "waste: 3H\nf1: AH 2H\nf2: AS\nt1: 2S")
    assert play.score == 3
    play.push("waste-f1")
    play.push("t1-f2")
    assert play.score == 5
    play.pop()
    assert play.score == 4


def test_the_state_is_the_pass_under_way() -> None:
    assert Play(ONE, range(52)).state == {"pass": 1}


# Reasons.

TABLE = """
stock: ?? ??
waste: 5H 9C
f1: AH 2H
t1: ?? KS QH
t2: ?? 7S
t3: 9S 7H
t4: 8D
t5: 8H
t6: KD
"""


@refusals(
    """
        malformed: t1-t2:1 t1-t2:02 T1-T2 t1x t1+t2 step=1 t1-t2-t3
        no_such_pile: t8-t1 t1-t0 c1-t1 off-t1 t7-c1 t01-t2
        empty_source: t7-t1 f2-t1 t7-t7 t7-stock t7-t1:3
        face_down: stock-t1 stock-waste t1-t2:3 t1-t2:99
        source_locked: f1-t1 f1-f2 f1-f1 f1-t1:2 redeal
        not_a_run: t3-t4:2 t3-t4:3 t3-t4:99 waste-t4:2 t1-f1:2 t3-waste:2 t3-t3:2
        target_locked: t1-t1 t1-waste t1-stock waste-stock waste-waste t1-waste:2
        wrong_card: t3-t2 t4-t5 waste-t1 t3-f1 t4-f2 t4-t7 t1-t6:2
        no_effect: t6-t7
    """
)
def test_a_refused_move_has_the_first_reason_that_holds(move: str, expected: Reason) -> None:
    assert reason(at(ONE, TABLE), move) == expected


@pytest.mark.parametrize(
    ("text", "move", "expected"),
    [
        ("waste: 2C\nt1: KS\nt2: QH", "draw", "empty_source"),
        ("t1: KS\nt2: QH", "redeal", "empty_source"),
        ("stock: ??\nt1: KS", "redeal", "empty_source"),
        ("stock: ??\nwaste: 2C", "redeal", "source_locked"),
        ("waste: 2C\nt1: KS\nt2: QH", "redeal", "source_locked"),
    ],
)
def test_draw_and_redeal_are_refused_with_the_first_reason_that_holds(
    text: str, move: str, expected: Reason
) -> None:
    assert reason(at(ONE, text), move) == expected


def test_a_redeal_with_stock_left_and_a_pass_left_has_a_full_target() -> None:
    assert reason(at(THREE, "stock: ??\nwaste: 2C\nt1: KS"), "redeal") == "target_full"
