"""`games.*`: what can be played, described well enough to draw and explain it."""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from engine import Game, OptionError, UnknownGame, game_class, make_game
from engine.games import GAMES
from engine.options import schema
from server import wire
from server.rpc.call import Call
from server.rpc.errors import InvalidParams, NotFound
from server.rpc.methods import Method

Lang: TypeAlias = Annotated[
    str, Meta(min_length=2, max_length=35, description="a language tag, such as `en`")
]
Options: TypeAlias = Annotated[
    dict[str, Any], Meta(description="the game's options; those left out are at their defaults")
]


class ListParams(Struct, forbid_unknown_fields=True):
    """A language; English where there is no other."""

    lang: Lang | None = None


class DescribeParams(Struct, forbid_unknown_fields=True):
    """A game, under some options."""

    game: str
    options: Options | None = None
    lang: Lang | None = None


def _item(game: type[Game]) -> dict[str, Any]:
    """Return what a list says of a game."""
    return {
        "game": game.name,
        "rules": f"{game.name}/{game.version}",
        "name": game.title,
        "summary": game.summary,
        "decks": game.decks,
        "options": schema(game.options_spec),
        "variants": [
            wire.Variant(variant.name, variant.title, dict(variant.options)) for variant in game.variants
        ],
    }


_ITEMS = [wire.GameItem(**_item(game)) for game in GAMES]


def find_game(name: str, options: dict[str, Any] | None) -> Game:
    """Return a game that a call names.

    Raises:
        NotFound: there is none of that name.
        InvalidParams: an option is unknown or out of range.
    """
    try:
        return make_game(name, options)
    except UnknownGame as error:
        raise NotFound(f"{error}.") from None
    except OptionError as error:
        raise InvalidParams(_pointer(error.option), f"{error}.") from None


def _pointer(option: str) -> str:
    """Return the JSON Pointer of an option among the params."""
    return "/options/" + option.replace("~", "~0").replace("/", "~1")


def list_games(_call: Call, _params: ListParams) -> list[wire.GameItem]:
    """List the games with their options and variants."""
    return _ITEMS


def describe(_call: Call, params: DescribeParams) -> wire.GameDescription:
    """Describe a game: its layout for drawing and its rules as Markdown."""
    game = find_game(params.game, params.options)
    layout = [
        wire.Place(pile.name, pile.kind, round(pile.x, 2), round(pile.y, 2), pile.fan, pile.label, pile.hint)
        for pile in game.layout.piles
    ]
    return wire.GameDescription(**_item(game_class(game.name)), layout=layout, help=game.help)


METHODS: tuple[Method[Any], ...] = (
    Method("games.list", ListParams, list[wire.GameItem], list_games),
    Method("games.describe", DescribeParams, wire.GameDescription, describe, errors=(NotFound,)),
)
