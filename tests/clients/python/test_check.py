"""The checksum of a view, against the protocol's example and all published playthroughs."""

from typing import Any

import pytest

from clients.python import BadAnswer, Json, check
from tests.clients.playthroughs import playthroughs


def test_example_of_the_protocol() -> None:
    piles: Json = {"stock": {"down": 21, "up": []}, "waste": {"down": 0, "up": ["5H", "7C"]}}
    assert check(piles) == "d89ed0ac"


@pytest.mark.parametrize("played", playthroughs())
def test_first_view_of_a_playthrough(played: dict[str, Any]) -> None:
    initial = played["initial"]
    assert check(initial["piles"]) == initial["check"]


@pytest.mark.parametrize("piles", [None, [], {"t1": 3}, {"t1": {"down": 1}}, {"t1": {"down": "1", "up": []}}])
def test_refuses_what_are_no_piles(piles: Json) -> None:
    with pytest.raises(BadAnswer):
        check(piles)
