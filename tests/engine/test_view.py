"""What is sent of a position."""

import pytest
from msgspec import json

from engine.deal import shuffle
from engine.game import Game
from engine.games import GAMES, make_game
from engine.play import Play
from engine.view import head, piles, view
from tests.engine.positions import at

KLONDIKE = make_game("klondike")
KEYS = ["seq", "status", "phase", "score", "moves", "undos", "state", "piles", "check", "legal"]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_a_view_has_one_shape_for_all_games(game: type[Game]) -> None:
    rules = make_game(game.name)
    seen = view(Play(rules, shuffle("1", rules.decks)))
    assert list(seen) == KEYS
    assert list(seen["piles"]) == list(rules.layout.names)
    assert all(list(pile) == ["down", "up"] for pile in seen["piles"].values())


def test_the_head_is_the_view_without_its_piles() -> None:
    play = Play(KLONDIKE, shuffle("1", 1))
    assert head(play) == {key: value for key, value in view(play).items() if key != "piles"}


def test_piles_tell_how_many_lie_face_down_and_name_the_others_from_the_bottom() -> None:
    play = at(KLONDIKE, "stock: ?? ??\nwaste: 5H TC\nt3: ?? ?? QS JH")
    seen = piles(play.table)
    assert seen["stock"] == {"down": 2, "up": []}
    assert seen["waste"] == {"down": 0, "up": ["5H", "TC"]}
    assert seen["t3"] == {"down": 2, "up": ["QS", "JH"]}
    assert seen["t1"] == {"down": 0, "up": []}
    assert "off" not in seen


def test_it_counts_events_moves_in_effect_and_undos() -> None:
    play = Play(KLONDIKE, shuffle("1", 1))
    counted: list[tuple[int, int, int]] = []
    for move in ("draw", "draw", None, "draw"):
        if move:
            play.push(move)
        else:
            play.pop()
        now = view(play)
        counted.append((now["seq"], now["moves"], now["undos"]))
    assert counted == [(1, 1, 0), (2, 2, 0), (3, 1, 1), (4, 2, 1)]


def test_a_view_that_was_taken_does_not_change_with_the_play() -> None:
    play = Play(KLONDIKE, shuffle("1", 1))
    before = view(play)
    encoded = json.encode(before)
    while play.legal and play.moves < 20:
        play.push(play.legal[-1])
    assert json.encode(before) == encoded


def test_an_ended_play_shows_its_table_and_phase_and_nothing_legal() -> None:
    game = make_game("plot")
    play = Play(game, shuffle("1", 2))
    before = view(play)
    play.end("resigned")
    after = view(play)
    assert {key: after[key] for key in KEYS if after[key] != before[key]} == {
        "seq": 1,
        "status": "resigned",
        "legal": [],
    }
