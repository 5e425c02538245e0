"""The line player, run as a program with its input from a pipe."""

import asyncio
import json
import os
import re
import signal
import stat
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from clients.python import Client, connect
from tests.clients.playthroughs import playthroughs
from tests.clients.serving import SECONDS

_PROGRAM = """
import json, pathlib, sys
from clients.terminal.play import play
given = json.loads(sys.argv[1])
if "token_file" in given:
    given["token_file"] = pathlib.Path(given["token_file"])
raise SystemExit(play(**given))
"""


class Outcome(NamedTuple):
    status: int | None
    out: str
    err: str


def kept_token(home: Path) -> str:
    """Return the one token that the program has kept, in a file for its owner alone."""
    (path,) = home.rglob("*.token")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text().strip()


Run: TypeAlias = Callable[..., Coroutine[Any, Any, Outcome]]


async def start(home: Path, **given: Any) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _PROGRAM,
        json.dumps(given),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "XDG_DATA_HOME": str(home), "HOME": str(home)},
    )


@pytest.fixture
def run(arena: str, tmp_path: Path) -> Run:
    """Give a function that runs the player to its end, fed with lines."""

    async def run(*lines: str, **given: Any) -> Outcome:
        process = await start(tmp_path, **{"url": arena, **given})
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate("".join(line + "\n" for line in lines).encode())
        return Outcome(process.returncode, out.decode(), err.decode())

    return run


@pytest.fixture
async def kept(arena: str, tmp_path: Path, run: Run) -> AsyncIterator[Client]:
    """Give a client of the player whose token the program has kept."""
    await run(game="camelot")
    async with connect(arena, kept_token(tmp_path)) as client:
        yield client


@pytest.mark.parametrize("played", playthroughs("*-win-*"))
async def test_each_game_is_won_by_its_lines(run: Run, played: dict[str, Any]) -> None:
    lines = [step["move"] if step["kind"] == "move" else "u" for step in played["steps"]]
    options = [f"{name}={json.dumps(value)}" for name, value in played["options"].items()]
    outcome = await run(*lines, game=played["game"], seed=played["seed"], options=options)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.rstrip().endswith(f"You have won! Seed: {played['seed']}")
    assert f"score {played['steps'][-1]['score']} " in outcome.out.split("\n| ")[-1]


async def test_commands(run: Run) -> None:
    outcome = await run(
        "?", "draw", "u", "nonsense", "t9-t1", "h", "p", "", "R", "draw", "n", "q", game="klondike"
    )
    assert (outcome.status, outcome.err) == (0, "")
    for text in (
        "| 1 move |",
        "That is no move.",
        "There is no pile of that name.",
        "Bring all 52 cards to the foundations",
        "t1 (column 1): ",
        "Resigned. Seed: ",
        "The game is over.",
        "To take it up again:\n    patience play klondike --session ",
    ):
        assert text in outcome.out
    assert re.search(r"^draw( |$)", outcome.out, re.MULTILINE)
    assert "\033" not in outcome.out


async def test_a_session_is_taken_up_again(run: Run, arena: str, tmp_path: Path) -> None:
    first = await run("draw", game="klondike", options=["draw=3"])
    told = re.search(r"patience play klondike --session (\S+) --url (\S+)\n$", first.out)
    assert told is not None
    assert told[2] == arena
    second = await run("u", session=told[1])
    assert second.status == 0
    assert "Klondike (draw3) | score 0 | 1 move |" in second.out
    assert "| 0 moves |" in second.out
    assert kept_token(tmp_path) not in first.out + second.out
    third = await run(game="casket", session=told[1])
    assert (third.status, third.err) == (2, f"patience: session {told[1]} is a game of klondike\n")


async def test_a_token_file_of_ones_own(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    first = await run("draw", game="klondike", token_file=str(path))
    told = re.search(r"--session (\S+) .*--token-file (\S+)\n$", first.out)
    assert told is not None
    assert told[2] == str(path)
    assert (await run(session=told[1])).status == 2
    assert (await run(session=told[1], token_file=str(path))).status == 0
    path.write_text("spoilt")
    spoilt = await run(session=told[1], token_file=str(path))
    assert (spoilt.status, spoilt.err) == (2, f"patience: the token in {path} is not valid any more\n")


async def test_a_kept_token_that_is_not_valid_any_more(run: Run, kept: Client) -> None:
    await kept.logout()
    outcome = await run("draw", game="camelot")
    assert (outcome.status, outcome.err) == (0, "")


@pytest.mark.parametrize(
    ("given", "status", "text"),
    [
        ({"game": "bridge"}, 2, "there is no game 'bridge' here; there are: "),
        ({"game": "klondike", "options": ["draw=2"]}, 2, "draw"),
        ({"game": "klondike", "options": ["draw"]}, 2, "an option is written name=value, not 'draw'"),
        ({"game": "klondike", "options": ["color=red"]}, 2, "color"),
        ({"game": "klondike", "seed": "not a seed"}, 2, "seed"),
        ({"game": "klondike", "url": "http://127.0.0.1/"}, 2, "scheme"),
        ({"session": "none"}, 2, "there is no session none"),
        ({}, 2, "name a game"),
        ({"game": "klondike", "url": "ws://127.0.0.1:9/ws"}, 1, "cannot connect to ws://127.0.0.1:9/ws"),
    ],
)
async def test_what_cannot_be_had(run: Run, given: dict[str, Any], status: int, text: str) -> None:
    outcome = await run(**given)
    assert outcome.status == status
    assert outcome.err.startswith("patience: ")
    assert text in outcome.err
    assert "Traceback" not in outcome.err


async def test_a_change_made_elsewhere_is_shown(arena: str, tmp_path: Path, kept: Client) -> None:
    session = await kept.create("camelot")
    process = await start(tmp_path, url=arena, session=session.id)
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        await process.stdout.readuntil(b"| 0 moves |")
        await session.move("draw")
        shown = await process.stdout.readuntil(b"| 1 move |")
        assert b"The game has gone on elsewhere." in shown
        process.stdin.close()
        await process.communicate()
    assert process.returncode == 0


async def test_an_interrupt_is_no_accident(arena: str, tmp_path: Path) -> None:
    process = await start(tmp_path, url=arena, game="camelot")
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        await process.stdout.readuntil(b"| 0 moves |")
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, err) == (130, b"")
    assert b"To take it up again:" in out
