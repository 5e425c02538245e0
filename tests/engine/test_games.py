"""The games that there are, and what each of them says of itself."""

import re
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from engine.errors import OptionError, UnknownGame
from engine.game import Game
from engine.games import GAMES, game_class, make_game
from engine.moves import Move
from engine.options import schema
from tests.engine.games.freecell import FreeCell

every_class = pytest.mark.parametrize("game", [*GAMES, FreeCell], ids=lambda game: game.name)
every_instance = pytest.mark.parametrize(
    "game",
    [make_game(game.name, variant.options) for game in GAMES for variant in game.variants] + [FreeCell()],
    ids=lambda game: f"{game.name}-{game.variant}",
)


def test_the_registry_has_each_game_by_its_name() -> None:
    names = [game.name for game in GAMES]
    assert len(set(names)) == len(names)
    assert set(names) >= {"klondike", "casket", "plot", "stalactites", "camelot"}
    assert [game_class(name) for name in names] == list(GAMES)


@pytest.mark.parametrize("name", ["", "Klondike", "freecell", "klondike ", "klondike/1"])
def test_an_unknown_game_is_refused(name: str) -> None:
    for make in (game_class, make_game):
        with pytest.raises(UnknownGame, match="klondike, casket"):
            make(name)


def test_an_instance_is_shared_by_all_that_ask_for_the_same_options() -> None:
    assert make_game("klondike") is make_game("klondike", {"passes": 1, "draw": 1})
    assert make_game("klondike") is not make_game("klondike", {"draw": 3})
    assert make_game("klondike", {"passes": 0}).options["worry_back"] is False


@pytest.mark.parametrize(
    "game", [game for game in GAMES if not game.options_spec], ids=lambda game: game.name
)
def test_a_game_without_options_refuses_any(game: type[Game]) -> None:
    with pytest.raises(OptionError) as refused:
        make_game(game.name, {"draw": 1})
    assert refused.value.option == "draw"


@every_instance
def test_its_rules_are_its_name_and_version(game: Game) -> None:
    assert game.rules == f"{game.name}/{game.version}"
    assert re.fullmatch(r"[a-z]+", game.name)


@every_class
def test_its_variants_are_complete_and_the_first_is_the_default(game: type[Game]) -> None:
    assert game().variant == game.variants[0].name
    for variant in game.variants:
        made = game(variant.options)
        assert made.options == variant.options
        assert made.variant == variant.name
    assert len({variant.name for variant in game.variants}) == len(game.variants)


@every_class
def test_its_options_have_a_schema_that_takes_its_variants(game: type[Game]) -> None:
    found = schema(game.options_spec)
    Draft202012Validator.check_schema(found)
    validator: Any = Draft202012Validator(found)
    for variant in game.variants:
        assert validator.is_valid(variant.options)
    assert not validator.is_valid({"nonsense": 1})


@every_class
def test_it_has_a_title_a_summary_of_one_line_and_help(game: type[Game]) -> None:
    assert game.title
    assert re.fullmatch(r"[^\n]{20,120}\.", game.summary)
    assert len(game.help) > 60
    assert game.help == game.help.strip() + "\n"


@every_class
def test_its_piles_have_names_that_moves_can_be_made_of_and_places_of_their_own(game: type[Game]) -> None:
    piles = game.layout.piles
    assert len({pile.name for pile in piles}) == len(piles)
    assert len({(pile.x, pile.y) for pile in piles}) == len(piles)
    for pile in piles:
        assert Move.parse(f"{pile.name}-waste").a == pile.name
        assert Move.parse(f"{pile.name}x").a == pile.name
        assert pile.x >= 0
        assert pile.y >= 0
        assert pile.label


@every_instance
def test_its_routes_choices_and_phases_name_what_there_is(game: Game) -> None:
    for route in game.routes():
        assert game.layout.select(route.src)
        assert game.layout.select(route.dst)
        assert set(route.phases) <= set(game.phases)
    assert all(set(phases) <= set(game.phases) and phases for phases in game.forms.values())
    assert game.variables()["phase"] == 0
    assert game.wants_read <= set(game.variables())
    for name, value in game.choices:
        assert Move.parse(f"{name}={value}").form == "choose"


@every_class
def test_its_options_cannot_be_changed(game: type[Game]) -> None:
    with pytest.raises(TypeError):
        cast("dict[str, int]", game().options)["nonsense"] = 1
