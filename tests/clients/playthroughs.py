"""The published playthroughs, as a client that knows no rules can play them again."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

_FOLDER: Final = Path(__file__).parents[1] / "vectors" / "playthroughs"


def playthroughs(pattern: str = "*") -> list[Any]:
    """Return those whose name fits, as parameters for pytest."""
    paths = sorted(_FOLDER.glob(f"{pattern}.json"))
    return [pytest.param(json.loads(path.read_text()), id=path.stem) for path in paths]
