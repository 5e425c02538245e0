"""The page on adding a game: its example is a game, and its example of a test passes."""

import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import engine.games
from engine.deal import shuffle
from engine.game import Game
from engine.play import Play
from engine.view import view

PAGE = Path(engine.games.__file__).with_name("README.md").read_text("utf-8")


@cache
def examples() -> dict[str, Any]:
    """Run the page's examples, one after another, and return what they define."""
    defined: dict[str, Any] = {"__name__": "readme"}
    for source in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(source, "README.md", "exec"), defined)  # The page is part of the project.
    return defined


def test_the_example_of_a_test_passes() -> None:
    examples()["test_a_space_is_filled_only_where_the_option_says_so"]()


@pytest.mark.parametrize("spaces", [True, False])
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_the_example_of_a_game_can_be_played_and_taken_back(seed: str, *, spaces: bool) -> None:
    game: Game = examples()["Ramparts"]({"spaces": spaces})
    assert game.variant == ("open" if spaces else "walled")
    play, random = Play(game, shuffle(seed, 1)), Random(seed)
    dealt = view(play)
    while play.legal and play.moves < 60:
        play.push(random.choice(play.legal))
    assert play.moves > 10
    while play.done:
        play.pop()
    assert {**view(play), "seq": 0, "undos": 0} == dealt


def test_every_attribute_and_hook_that_the_page_names_is_there() -> None:
    rows = re.findall(r"^\| ((?:`[a-z_]+(?:\([^)]*\))?`(?:, )?)+) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)", row)}
    assert named >= {"layout", "takes", "routes", "settle", "won"}
    assert named <= set(dir(Game)) | set(Game.__annotations__)
