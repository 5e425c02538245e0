"""The operations of a patch, as a client animates them."""

import json
from typing import Any

import pytest
from jsonpatch import JsonPatch

from engine.games import make_game
from engine.patch import head_operations, patch, pile_operations
from engine.play import Play
from engine.view import head, view
from tests.engine.positions import at

KLONDIKE = make_game("klondike")
THREE = make_game("klondike", {"draw": 3})


def moved(play: Play, move: str) -> list[dict[str, Any]]:
    """Make a move and return what it does to the piles; the patch must lead to the next view."""
    return _checked(play, move)


def undone(play: Play) -> list[dict[str, Any]]:
    """Take the last move back and return the same."""
    return _checked(play, None)


def _checked(play: Play, move: str | None) -> list[dict[str, Any]]:
    layout, seen, before = play.game.layout, view(play), head(play)
    records = play.push(move) if move else play.pop()[1]
    whole = json.loads(patch(layout, records, before, head(play)))
    assert JsonPatch(whole).apply(seen) == view(play)
    operations = list(map(json.loads, pile_operations(layout, records)))
    assert whole[: len(operations)] == operations
    return operations


def test_a_card_that_moves_is_one_move_operation() -> None:
    play = at(KLONDIKE, "stock: ??\nt1: KS\nt2: 9C QH")
    assert moved(play, "t2-t1") == [{"op": "move", "from": "/piles/t2/up/1", "path": "/piles/t1/up/-"}]


def test_a_run_is_a_move_operation_a_card_that_keeps_their_order() -> None:
    play = at(KLONDIKE, "stock: ??\nt1: KS\nt2: 9C QH JS TD")
    step = {"op": "move", "from": "/piles/t2/up/1", "path": "/piles/t1/up/-"}
    assert moved(play, "t2-t1:3") == [step] * 3


def test_a_card_turned_up_is_named_when_it_is_and_not_before() -> None:
    play = at(KLONDIKE, "stock: ??\nt1: KS\nt2: ?? ?? QH", "2C 3C 4C")
    assert moved(play, "t2-t1")[1:] == [
        {"op": "replace", "path": "/piles/t2/down", "value": 1},
        {"op": "add", "path": "/piles/t2/up/-", "value": "4C"},
    ]


def test_an_undo_turns_the_card_down_before_the_other_comes_back() -> None:
    play = at(KLONDIKE, "stock: ??\nt1: KS\nt2: ?? QH", "2C 3C")
    play.push("t2-t1")
    assert undone(play) == [
        {"op": "remove", "path": "/piles/t2/up/0"},
        {"op": "replace", "path": "/piles/t2/down", "value": 1},
        {"op": "move", "from": "/piles/t1/up/1", "path": "/piles/t2/up/-"},
    ]


def test_a_draw_of_three_adds_them_one_after_another() -> None:
    play = at(THREE, "stock: ?? ?? ?? ??\nwaste: KS", "2C 3C 4C 5C")
    assert moved(play, "draw") == [
        {"op": "replace", "path": "/piles/stock/down", "value": 1},
        *({"op": "add", "path": "/piles/waste/up/-", "value": card} for card in ("5C", "4C", "3C")),
    ]
    assert undone(play) == [
        *[{"op": "remove", "path": "/piles/waste/up/1"}] * 3,
        {"op": "replace", "path": "/piles/stock/down", "value": 4},
    ]


def test_a_redeal_says_how_many_lie_face_down_and_names_none() -> None:
    play = at(THREE, "waste: 2C 3C 4C")
    assert moved(play, "redeal") == [
        {"op": "replace", "path": "/piles/waste/up", "value": []},
        {"op": "replace", "path": "/piles/stock/down", "value": 3},
    ]
    assert [operation["op"] for operation in undone(play)] == ["replace", "add", "add", "add"]


def test_cards_that_leave_play_are_removed_and_come_back_with_an_undo() -> None:
    play = at(make_game("camelot"), "phase = 1\nstock: ??\na1: 4C\nd4: 6H\nb2: TS")
    assert moved(play, "b2x") == [{"op": "remove", "path": "/piles/b2/up/0"}]
    assert moved(play, "a1+d4") == [
        {"op": "remove", "path": "/piles/a1/up/0"},
        {"op": "remove", "path": "/piles/d4/up/0"},
    ]
    assert undone(play) == [
        {"op": "add", "path": "/piles/d4/up/-", "value": "6H"},
        {"op": "add", "path": "/piles/a1/up/-", "value": "4C"},
    ]


def test_a_choice_changes_no_pile() -> None:
    assert moved(at(make_game("stalactites"), "f1: 4S\nt1: 5D"), "step=1") == []


def test_beside_the_piles_only_what_changed_is_replaced() -> None:
    before = {"seq": 3, "status": "playing", "score": 1, "legal": ["draw"], "check": "00000000"}
    after = before | {"seq": 4, "legal": ["draw", "t1-t2"]}
    assert list(map(json.loads, head_operations(before, after))) == [
        {"op": "replace", "path": "/seq", "value": 4},
        {"op": "replace", "path": "/legal", "value": ["draw", "t1-t2"]},
    ]


@pytest.mark.parametrize("value", [None, 2, {"f1": "3"}])
def test_the_state_is_replaced_part_by_part(value: object) -> None:
    before = {"state": {"step": 7, "next": 1}}
    after = {"state": {"step": value, "next": 1}}
    assert list(map(json.loads, head_operations(before, after))) == [
        {"op": "replace", "path": "/state/step", "value": value}
    ]


def test_an_event_that_changes_no_card_has_no_operation_on_piles() -> None:
    play = at(KLONDIKE, "stock: ??\nt1: KS")
    before = head(play)
    play.end("expired")
    operations = json.loads(patch(play.game.layout, [], before, head(play)))
    assert [operation["path"] for operation in operations] == ["/seq", "/status", "/legal"]
