"""The line player, run as a program with its input from a pipe."""

import asyncio
import json
import os
import pty
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
from tests.clients.relay import Relay
from tests.clients.serving import SECONDS

_PROGRAM = """
import json, pathlib, signal, sys
from clients.terminal.play import play
# Whoever runs the tests in the background passes on that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
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


def token_aside(home: Path) -> Path:
    """Return the one file in which a former token is kept."""
    (path,) = home.rglob("*.token.old")
    return path


Run: TypeAlias = Callable[..., Coroutine[Any, Any, Outcome]]


async def start(
    home: Path, stdin: int = asyncio.subprocess.PIPE, *, encoding: str = "utf-8", **given: Any
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _PROGRAM,
        json.dumps(given),
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            **os.environ,
            "XDG_DATA_HOME": str(home),
            "HOME": str(home),
            "PYTHONIOENCODING": encoding,
        },
    )


@pytest.fixture
def run(arena: str, tmp_path: Path) -> Run:
    """Give a function that runs the player to its end, fed with lines."""

    async def run(*lines: str, **given: Any) -> Outcome:
        given.setdefault("url", arena)
        process = await start(tmp_path, **given)
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
    assert spoilt.status == 2
    assert spoilt.err.startswith(f"patience: the token in {path} is not valid any more: ")
    assert "--token-file" in spoilt.err
    assert path.read_text() == "spoilt"


async def test_a_kept_token_that_is_not_valid_any_more(run: Run, kept: Client, tmp_path: Path) -> None:
    before = kept_token(tmp_path)
    await kept.logout()
    outcome = await run("draw", game="camelot")
    assert (outcome.status, outcome.err) == (0, "")
    aside = token_aside(tmp_path)
    assert aside.read_text().strip() == before != kept_token(tmp_path)
    (told,) = [line for line in outcome.out.splitlines() if str(aside) in line]
    assert "new guest" in told
    assert before not in outcome.out


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
        ({}, 2, "\n    klondike  "),
        ({"game": "klondike", "options": ["color=red"]}, 2, "\n    draw=1|3  "),
        ({"session": "none", "seed": "x"}, 2, "--seed and --option are for a new deal"),
        ({"session": "none", "options": ["draw=3"]}, 2, "--seed and --option are for a new deal"),
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


async def test_words_for_commands(run: Run) -> None:
    outcome = await run("HELP", "draw", "undo", "resign", "r", "exit", "draw", game="klondike")
    assert (outcome.status, outcome.err) == (0, "")
    assert "Bring all 52 cards to the foundations" in outcome.out
    assert "- Columns are built down" in outcome.out
    assert "\n    draw=1|3  " in outcome.out
    assert outcome.out.count("| 0 moves |") == 3
    assert outcome.out.count("Resigned. Seed: ") == 1
    assert outcome.out.count("The game is over.") == 1
    assert (await run("quit", "draw", game="klondike")).out.count("| 1 move |") == 0


async def test_refused_moves(run: Run) -> None:
    # This variant has one pass, so that no redeal is left when the stock is empty.
    outcome = await run("t3-t3", *["draw"] * 24, "redeal", game="klondike", seed="patience")
    assert outcome.status == 0
    assert "That is the same pile twice" in outcome.out
    assert outcome.out.count("No pass through the stock is left.") == 1


async def test_a_terminal_without_unicode(run: Run, arena: str, tmp_path: Path) -> None:
    # A waste of so many cards is cut, which is shown by a sign that ASCII lacks.
    whole = await run(*["draw"] * 24, game="klondike", seed="patience")
    assert "\u2026" in whole.out
    process = await start(tmp_path, encoding="ascii", url=arena, game="klondike", seed="patience")
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate(b"draw\n" * 24)
    assert (process.returncode, err) == (0, b"")
    assert out.isascii()
    assert len(out.splitlines()) == len(whole.out.splitlines())


async def test_a_resignation_is_asked_for_once(arena: str, tmp_path: Path) -> None:
    terminal, stdin = pty.openpty()
    process = await start(tmp_path, stdin, url=arena, game="camelot")
    os.close(stdin)
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        await process.stdout.readuntil(b"> ")
        os.write(terminal, b"r\n")
        assert b"Resign? Type y for yes." in await process.stdout.readuntil(b"> ")
        os.write(terminal, b"n\n")
        assert b"The game goes on.\n" in await process.stdout.readuntil(b"> ")
        os.write(terminal, b"r\n")
        await process.stdout.readuntil(b"> ")
        os.write(terminal, b"y\n")
        assert b"Resigned." in await process.stdout.readuntil(b"> ")
        os.write(terminal, b"r\n")
        over = await process.stdout.readuntil(b"> ")
        assert b"The game is over." in over
        assert b"Resign?" not in over
        os.write(terminal, b"q\n")
        await process.communicate()
    os.close(terminal)
    assert process.returncode == 0


async def test_a_lost_connection_is_told_at_once(relay: Relay, tmp_path: Path) -> None:
    process = await start(tmp_path, url=relay.url, game="camelot")
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        await process.stdout.readuntil(b"| 0 moves |")
        relay.open = False
        relay.break_all()
        await process.stdout.readuntil("Connection lost, trying again…\n".encode())
        process.stdin.write(b"draw\n")
        relay.open = True
        await process.stdout.readuntil(b"Connected again.\n")
        await process.stdout.readuntil(b"| 1 move |")
        await process.communicate(b"q\n")
    assert process.returncode == 0
