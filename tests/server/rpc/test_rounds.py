"""Who gets a turn, and when."""

import asyncio

import pytest

from server.rpc.rounds import Rounds, rounds_of


class Member:
    """Has so many things to be taken, one a turn."""

    def __init__(self, name: str, things: int, log: list[str]) -> None:
        self.loop = asyncio.get_running_loop()
        self.name = name
        self.things = things
        self._log = log

    def take_turn(self) -> bool:
        self._log.append(self.name)
        self.things -= 1
        return self.things > 0


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one member of the line have a turn in each round."""
    monkeypatch.setattr(Rounds, "line_seconds", 0.0)


async def a_round() -> None:
    """Let the round that is scheduled end."""
    await asyncio.sleep(0)


async def test_turns_are_at_the_end_of_the_round() -> None:
    rounds, log = Rounds(), list[str]()
    for name in "ab":
        rounds.come(Member(name, 1, log))
    assert not log
    await a_round()
    assert log == ["a", "b"]
    await a_round()
    assert log == ["a", "b"]


@pytest.mark.usefixtures("hurried")
async def test_who_is_not_done_stands_in_line_behind_all_who_come() -> None:
    rounds, log = Rounds(), list[str]()
    rounds.come(Member("A", 9, log))
    rounds.come(Member("B", 9, log))
    await a_round()
    for _ in range(3):
        rounds.come(Member("c", 1, log))
        rounds.come(Member("d", 1, log))
        await a_round()
    assert "".join(log) == "AB" + "cdA" + "cdB" + "cdA"


@pytest.mark.usefixtures("hurried")
async def test_the_line_comes_to_its_end_when_nobody_comes() -> None:
    rounds, log = Rounds(), list[str]()
    rounds.stand_in_line(Member("A", 3, log))
    rounds.stand_in_line(Member("B", 1, log))
    for _ in range(9):
        await a_round()
    assert "".join(log) == "ABAA"


async def test_with_time_the_line_has_more_turns_in_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rounds, "line_seconds", 60.0)
    rounds, log = Rounds(), list[str]()
    rounds.stand_in_line(Member("A", 3, log))
    rounds.stand_in_line(Member("B", 2, log))
    await a_round()
    assert "".join(log) == "ABABA"


async def test_a_loop_has_one() -> None:
    loop = asyncio.get_running_loop()
    assert rounds_of(loop) is rounds_of(loop)
