"""The playthrough files, as a client goes through them."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.contract import Json

_FOLDER = Path(__file__).parent / "vectors" / "playthroughs"


class Playthrough(NamedTuple):
    """A whole attempt, step by step."""

    name: str
    content: Json
    """All that the file says."""

    @property
    def steps(self) -> list[Json]:
        """What was done, and what came of it."""
        return self.content["steps"]

    @property
    def deal(self) -> Json:
        """The params of the `session.create` that begins it."""
        return {key: self.content[key] for key in ("game", "options", "seed")}

    @property
    def line(self) -> list[str]:
        """The moves that were in effect when it ended."""
        moves: list[str] = []
        for step in self.steps:
            if step["kind"] == "undo":
                moves.pop()
            else:
                moves.append(step["move"])
        return moves


@cache
def playthroughs() -> tuple[Playthrough, ...]:
    """Return all of them."""
    paths = sorted(_FOLDER.glob("*.json"))
    return tuple(Playthrough(path.stem, json.loads(path.read_text("utf-8"))) for path in paths)


def named(name: str) -> Playthrough:
    """Return the one of that name."""
    return next(one for one in playthroughs() if one.name == name)


WON = named("stalactites-default-win-140")
LOST = named("stalactites-default-lost-0")
"""The shortest of their kind."""
