"""A cluster in trouble for a moment; the drill itself goes on for a minute, with two hundred players."""

import secrets

import pytest

from server.embedded import EmbeddedStores
from tests.durability.chronicle import Chronicle
from tests.durability.cluster_drill import Plan, drill
from tests.durability.crowd import Violation


@pytest.mark.timeout(240)
@pytest.mark.parametrize("valkey_stops", [0, 2])
async def test_nobody_has_to_know_what_becomes_of_processes(
    own_stores: EmbeddedStores, valkey_stops: int
) -> None:
    plan = Plan(secrets.token_hex(4), seconds=5, players=12, pause=0.2, valkey_stops=valkey_stops)
    summary = await drill(plan, own_stores)
    assert (summary.restarts, summary.kills, summary.valkey_stops) == (2, 1, valkey_stops)
    assert summary.answered > 0
    assert summary.audits == summary.sessions > 0
    assert summary.closes.keys() <= {1000, 1006, 1012}
    assert summary.violations == 0


def test_whatever_is_told_in_two_ways_is_a_violation() -> None:
    """Otherwise the drill would show nothing."""
    chronicle = Chronicle()
    event = {"session": "a", "seq": 1, "check": "00000000"}
    for _ in range(2):
        chronicle.event(event)
        chronicle.view(event | {"elapsed_ms": 1})
        chronicle.answer("a", event)
    with pytest.raises(Violation, match="an event is told in two ways"):
        chronicle.event(event | {"check": "00000001"})
    with pytest.raises(Violation, match="a view is shown in two ways"):
        chronicle.view(event | {"check": "00000001"})
    with pytest.raises(Violation, match="a change is answered in two ways"):
        chronicle.answer("a", event | {"check": "00000001"})
    chronicle.carry("a", 1)
    with pytest.raises(Violation, match="a change was made by two"):
        chronicle.carry("a", 1)
