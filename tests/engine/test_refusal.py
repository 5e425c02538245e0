"""A move is accepted if it is in the list of legal ones, and refused with a reason otherwise."""

from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import IllegalMove, Reason
from engine.game import Game
from engine.games import GAMES, make_game
from engine.moves import Move
from engine.play import Play
from engine.refusal import refusal
from engine.view import view
from tests.engine.games.freecell import FreeCell
from tests.engine.playouts import Playouts, every_game, examples
from tests.engine.positions import REASONS

STRAY = (
    *[
        "-",
        ":",
        "draw:2",
        "Draw",
        "drawx",
        "draw-redeal",
        "t1",
        "t1-",
        "-t1",
        "t1-t2:",
        "t1-t2:0",
        "t1-t2:1",
        "t1-t2:02",
        "t1-t2:-1",
        "t1-t2:+2",
        "t1-t2:2.0",
        "t1-t2:1000",
        "t1-t2-t3",
        "t1-t2+t3",
        "t٣-t2",
        "ｔ1-t2",
        "t1_t2",
        "t1x2",
        "x",
        "xx",
        "t01-t2",
        "t0-t1",
        "t99-t1",
        "t1-zz",
        "zz-t1",
        "zzx",
        "zz+t1",
        "off-t1",
        "t1-off",
        "offx",
        "step=0",
        "step=3",
        "step=01",
        "step=",
        "=1",
        "step==1",
        "phase=1",
        "base=3",
        "5H-6S",
        "t1-5H",
        "null",
        "é",
    ],
    *(
        "",
        " ",
        "redeal ",
        "step=1 ",
        "t1 - t2",
        "t1-t2\n",
        "\x00",
        "t1-t2\x00",
        "t1-t2:" + "9" * 400,
        "t" * 5000,
    ),
)
"""Texts that are no move in any game, or seldom one."""


@cache
def attempts(game: Game) -> tuple[str, ...]:
    """Return all texts of the grammar with the game's piles, and stray ones."""
    names = game.layout.names
    put = [f"{a}-{b}" for a, b in product(names, repeat=2)]
    runs = [f"{move}:{n}" for move in put for n in ((2, 3, 13) if "run" in game.forms else (2,))]
    leaving = [f"{a}x" for a in names] + [f"{a}+{b}" for a, b in product(names, repeat=2)]
    return ("draw", "redeal", "step=1", "step=2", *STRAY, *put, *runs, *leaving)


def respellings(move: str) -> set[str]:
    """Return other ways to write a move, each of which is refused."""
    head, colon, count = move.partition(":")
    spelled = {move.upper(), move.title(), move.replace("-", "–"), f"{move},{move}", f'"{move}"'}
    spelled |= {f"{move}{tail}" for tail in (" ", "\n", "\r", "\x00", ":1", ":01", ";")}
    spelled |= {f" {move}", move.replace("-", " - ")}
    if colon:
        spelled |= {f"{head}:0{count}", f"{head}:+{count}", f"{head}:{count}.0", f"{head}: {count}"}
    if "+" in move:
        first, _, second = move.partition("+")
        spelled |= {f"{second}+{first}", f"{first}+{first}", f"{first} + {second}"}
    return spelled - {move}


def refused(play: Play, text: str) -> Reason | None:
    """Try a move and return why it is refused; None if it is not."""
    try:
        play.push(text)
    except IllegalMove as error:
        return error.reason if error.move == text else None
    return None


@every_game
@examples(6)
@given(data=st.data())
def test_legal_is_exactly_what_is_accepted(playouts: Playouts, data: st.DataObject) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    for _ in playout.follow(play):
        pass
    if play.status != "playing":
        return
    for move in list(play.legal):
        play.push(move)
        if play.status != "won":
            play.pop()
            assert move in play.legal
        else:
            play = playout.deal()
            for _ in playout.follow(play):
                pass
    before = view(play)
    for text in set(attempts(playout.game)).difference(play.legal):
        assert refused(play, text) in REASONS
    assert view(play) == before


@every_game
@examples(10)
@given(data=st.data())
def test_a_legal_move_has_one_spelling(playouts: Playouts, data: st.DataObject) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    spelled: set[str] = set()
    for _ in playout.follow(play):
        spelled.update(play.legal)
    for move in spelled:
        assert Move.parse(move).text == move
        for other in respellings(move):
            assert refusal(playout.game, play.table, other) == "malformed"


@every_game
@examples(20)
@given(data=st.data())
def test_legal_is_in_ascii_order_without_repetition(playouts: Playouts, data: st.DataObject) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    for _ in playout.follow(play):
        assert play.legal == sorted(set(play.legal), key=lambda move: move.encode("ascii"))


@pytest.mark.parametrize(
    "game", [*map(make_game, [game.name for game in GAMES]), FreeCell()], ids=lambda game: game.name
)
def test_any_text_gets_a_reason_from_the_deal_on(game: Game) -> None:
    play = Play(game, list(range(52)) * game.decks)
    reasons = {
        text: refusal(play.game, play.table, text) for text in attempts(play.game) if text not in play.legal
    }
    assert set(reasons.values()) <= set(REASONS)


@given(text=st.text(max_size=60))
def test_text_at_random_is_refused_and_never_breaks_anything(text: str) -> None:
    for game in GAMES:
        play = Play(make_game(game.name), list(range(52)) * game.decks)
        if text not in play.legal:
            assert refusal(play.game, play.table, text) in REASONS
