"""One attempt at one deal, from its beginning to its end."""

from typing import Literal

import pytest

from engine.deal import shuffle
from engine.errors import IllegalMove, NothingToUndo, PlayOver
from engine.games import make_game
from engine.play import Play
from engine.view import view
from tests.engine.positions import at
from tests.engine.vectors import playthroughs

KLONDIKE = make_game("klondike")
LOST = "stock: ??\nt1: KS\nt2: KH"
"""The draw loses."""


def dealt() -> Play:
    return Play(KLONDIKE, shuffle("1", 1))


def won() -> Play:
    through = next(through for through in playthroughs() if through.name == "klondike-draw1-win-64")
    play = through.start()
    for move in through.line:
        play.push(move)
    return play


def test_a_deal_is_no_event() -> None:
    play = dealt()
    assert (play.seq, play.moves, play.undos, play.done, play.status) == (0, 0, 0, [], "playing")


def test_a_move_and_an_undo_are_an_event_each() -> None:
    play = dealt()
    play.push("draw")
    assert (play.seq, play.moves, play.undos) == (1, 1, 0)
    assert [played.move for played in play.done] == ["draw"]
    move, _ = play.pop()
    assert move == "draw"
    assert (play.seq, play.moves, play.undos) == (2, 0, 1)


@pytest.mark.parametrize("move", ["", "t1-t1", "redeal", "t9-t1", "nonsense", "draw "])
def test_a_refused_move_says_itself_and_changes_nothing(move: str) -> None:
    play = dealt()
    play.push("draw")
    before = view(play)
    with pytest.raises(IllegalMove) as refused:
        play.push(move)
    assert refused.value.move == move
    assert refused.value.kind == "illegal_move"
    assert view(play) == before
    assert play.pop()[0] == "draw"


def test_without_a_move_in_effect_there_is_nothing_to_undo() -> None:
    play = dealt()
    with pytest.raises(NothingToUndo):
        play.pop()
    play.push("draw")
    play.pop()
    with pytest.raises(NothingToUndo):
        play.pop()
    assert (play.seq, play.undos) == (2, 1)


def test_an_undo_of_a_lost_attempt_goes_on() -> None:
    play = at(KLONDIKE, LOST, "9C")
    play.push("draw")
    assert (play.status, play.legal) == ("lost", [])
    with pytest.raises(PlayOver) as over:
        play.push("draw")
    assert over.value.status == "lost"
    play.pop()
    assert (play.status, play.legal) == ("playing", ["draw"])


def test_a_won_attempt_is_final() -> None:
    play = won()
    assert (play.status, play.score, play.legal) == ("won", 52, [])
    before = view(play)
    for refused in (play.pop, lambda: play.push("draw"), lambda: play.end("resigned")):
        with pytest.raises(PlayOver) as over:
            refused()
        assert over.value.status == "won"
    assert view(play) == before


@pytest.mark.parametrize("status", ["resigned", "expired"])
def test_an_attempt_ended_from_outside_is_final(status: Literal["resigned", "expired"]) -> None:
    play = dealt()
    play.push("draw")
    piles = view(play)["piles"]
    play.end(status)
    assert (play.status, play.seq, play.legal, play.moves) == (status, 2, [], 1)
    assert view(play)["piles"] == piles
    for refused in (
        play.pop,
        lambda: play.push("draw"),
        lambda: play.push("nonsense"),
        lambda: play.end("expired"),
    ):
        with pytest.raises(PlayOver) as over:
            refused()
        assert over.value.status == status
    assert play.seq == 2


def test_a_lost_attempt_is_not_ended_again_from_outside() -> None:
    play = at(KLONDIKE, LOST, "9C")
    play.push("draw")
    with pytest.raises(PlayOver):
        play.end("resigned")
    assert play.status == "lost"


def test_a_reveal_counts_and_changes_nothing_else() -> None:
    play = won()
    before = view(play)
    play.reveal()
    assert view(play) == before | {"seq": before["seq"] + 1}


def test_a_position_is_taken_up_with_its_variables_or_those_of_the_deal() -> None:
    assert at(KLONDIKE, "stock: ??\npass = 3").state == {"pass": 3}
    assert at(KLONDIKE, "stock: ??").state == {"pass": 1}


def test_a_position_that_is_over_is_taken_up_as_over() -> None:
    assert at(KLONDIKE, "t1: KS").status == "lost"


def test_plays_of_one_game_do_not_share_anything_that_changes() -> None:
    one, other = dealt(), dealt()
    before = view(other)
    for _ in range(30):
        if one.legal:
            one.push(one.legal[0])
    assert view(other) == before


def test_a_score_falls_with_a_card_that_is_worried_back() -> None:
    play = at(make_game("klondike", {"worry_back": True}), "stock: ??\nf1: AH 2H\nt1: 3S")
    play.push("f1-t1")
    assert play.score == 1
    play.pop()
    assert play.score == 2
