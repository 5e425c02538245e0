"""The vectors that any implementation can be tried against, read from ``tests/vectors``."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from engine.deal import shuffle
from engine.games import make_game
from engine.play import Play

FOLDER = Path(__file__).parent.parent / "vectors"

Json: TypeAlias = dict[str, Any]


class Playthrough(NamedTuple):
    """A whole attempt, step by step."""

    name: str
    game: str
    options: Json
    content: Json
    """All that the file says."""

    def start(self) -> Play:
        """Deal its deal."""
        game = make_game(self.game, self.options)
        return Play(game, shuffle(self.content["seed"], game.decks))

    @property
    def line(self) -> tuple[str, ...]:
        """The moves that were in effect when it ended."""
        moves: list[str] = []
        for step in self.content["steps"]:
            if step["kind"] == "undo":
                moves.pop()
            else:
                moves.append(step["move"])
        return tuple(moves)


@cache
def playthroughs() -> tuple[Playthrough, ...]:
    """Return all of them."""
    found: list[Playthrough] = []
    for path in sorted(FOLDER.glob("playthroughs/*.json")):
        content = json.loads(path.read_text("utf-8"))
        found.append(Playthrough(path.stem, content["game"], content["options"], content))
    return tuple(found)


@cache
def deals() -> tuple[Json, ...]:
    """Return all shuffled decks."""
    return tuple(json.loads((FOLDER / "deals.json").read_text("utf-8"))["vectors"])
