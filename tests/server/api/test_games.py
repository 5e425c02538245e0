"""What is told of the games: enough to draw and to explain them."""

import json

import pytest
from jsonschema import Draft202012Validator

from tests.peer import Peer
from tests.playthroughs import playthroughs

GAMES = ("camelot", "casket", "klondike", "plot", "stalactites")


async def test_the_list_has_every_game_with_its_variants(player: Peer) -> None:
    games = {game["game"]: game for game in await player.call("games.list")}
    assert sorted(games) == list(GAMES)
    for playthrough in playthroughs():
        content = playthrough.content
        game = games[content["game"]]
        assert game["rules"] == content["rules"]
        [variant] = [one for one in game["variants"] if one["variant"] == content["variant"]]
        assert variant["options"] == content["options"]
    assert {game["decks"] for game in games.values()} == {1, 2}


@pytest.mark.parametrize("game", GAMES)
async def test_the_options_schema_admits_what_a_deal_takes(player: Peer, game: str) -> None:
    described = await player.call("games.describe", game=game)
    Draft202012Validator.check_schema(described["options"])
    validator = Draft202012Validator(described["options"])
    for variant in described["variants"]:
        assert validator.is_valid(variant["options"])  # pyright: ignore[reportUnknownMemberType]  It is not fully typed.
        view = await player.deal(game, options=variant["options"])
        assert view["variant"] == variant["variant"]
    assert not validator.is_valid({"nonesuch": 1})  # pyright: ignore[reportUnknownMemberType]  It is not fully typed.
    if described["options"]["properties"]:
        for options in ({"draw": 2}, {"draw": "1"}, {"passes": 10}, {"worry_back": 1}):
            assert not validator.is_valid(options)  # pyright: ignore[reportUnknownMemberType]  It is not fully typed.


@pytest.mark.parametrize("game", GAMES)
async def test_a_description_lays_out_the_piles_of_the_view(player: Peer, game: str) -> None:
    described = await player.call("games.describe", game=game)
    view = await player.deal(game)
    assert [place["pile"] for place in described["layout"]] == list(view["piles"])
    for place in described["layout"]:
        assert set(place) == {"pile", "kind", "x", "y", "fan", "label", "hint"}
        assert place["fan"] in {"none", "down", "right"}
        assert place["x"] >= 0
        assert place["y"] >= 0
    assert len({(place["x"], place["y"]) for place in described["layout"]}) == len(described["layout"])
    assert described["help"].strip()
    [listed] = [one for one in await player.call("games.list") if one["game"] == game]
    assert {key: described[key] for key in listed} == listed


async def test_a_language_that_there_is_not_gives_english(player: Peer) -> None:
    plain = await player.call("games.describe", game="plot")
    assert await player.call("games.describe", game="plot", lang="de-AT") == plain
    assert await player.call("games.list", lang="de") == await player.call("games.list")


async def test_a_description_names_no_card_of_a_deal(player: Peer) -> None:
    """The layout is the same before and after a deal, whatever was dealt."""
    before = await player.call("games.describe", game="klondike")
    await player.deal("klondike", seed="1")
    assert json.dumps(await player.call("games.describe", game="klondike")) == json.dumps(before)
