"""Playing in line mode: `patience play klondike`. Works over a pipe as well as at a terminal."""

import asyncio
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

from clients.python import (
    DEFAULT_URL,
    ApiError,
    Client,
    ClientError,
    ConnectionLost,
    InvalidParams,
    NotFound,
    Unauthenticated,
    connect,
)
from clients.terminal.options import read_options, tell_options
from clients.terminal.sitting import Sitting
from clients.terminal.tokens import keep_aside, read_token, token_path, write_token

DONE: Final = 0
FAILED: Final = 1
MISUSED: Final = 2
INTERRUPTED: Final = 130


class _Misuse(Exception):
    """What was asked for cannot be had; the text says why."""


def play(
    game: str | None = None,
    *,
    url: str = DEFAULT_URL,
    seed: str | None = None,
    options: Sequence[str] = (),
    session: str | None = None,
    token_file: Path | None = None,
) -> int:
    """Play at this terminal, or as the lines of standard input say, and return the exit status.

    Args:
        game: what to play; left out with `session`, or to be told which games there are.
        url: the server's WebSocket address.
        seed: the deal to play, instead of one that the server draws; not with `session`.
        options: the game's options, each as `name=value`; not with `session`.
        session: a session to take up again, or to watch, instead of a new one.
        token_file: where the player's token is kept, instead of the user's data folder; made if missing.

    Returns:
        0 when the player has left or the input has ended, 1 if the server failed or cannot be reached, 2 for
        a game, an option or a session that there is not, 130 after an interrupt.
    """
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that lacks a character shows another one, rather than none of the table.
        cast("io.TextIOWrapper", sys.stdout).reconfigure(errors="replace")
    try:
        return asyncio.run(_play(game, url, seed, options, session, token_file))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone. Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


async def _play(
    game: str | None,
    url: str,
    seed: str | None,
    options: Sequence[str],
    session: str | None,
    token_file: Path | None,
) -> int:
    try:
        if session is not None and (seed is not None or options):
            raise _Misuse("--seed and --option are for a new deal; a session that there is keeps its own")
        try:
            chosen = read_options(options)
            client = connect(url)
        except ValueError as error:
            raise _Misuse(str(error)) from None
        async with client:
            if game is None and session is None:
                games = "\n".join(f"    {item.game}  {item.summary}" for item in await client.games())
                raise _Misuse(f"name a game, or a session with --session; the games here are:\n{games}")
            await _identify(client, url, token_file, needed=session is not None)
            sitting = await _sit_down(client, game, chosen, seed, session)
            sitting.how_to_return = _how_to_return(url, token_file)
            await sitting.run()
    except _Misuse as error:
        return _complain(str(error), MISUSED)
    except ConnectionLost as error:
        return _complain(f"{error}\nIs a server running there? `patience serve` starts one.", FAILED)
    except (ClientError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return _complain(str(error), FAILED)
    return DONE


async def _identify(client: Client, url: str, token_file: Path | None, *, needed: bool) -> None:
    """Become the player whose token is kept, or a new guest."""
    path = token_file or token_path(url)
    try:
        token = read_token(path)
    except UnicodeDecodeError:
        raise _Misuse(f"{path} holds no token") from None
    if token is not None:
        try:
            await client.use(token)
        except Unauthenticated:
            if needed or token_file is not None:
                raise _Misuse(
                    f"the token in {path} is not valid any more: it was revoked, or the server has another "
                    "database now. To play as a new guest, move that file away, or name a new one with "
                    "--token-file"
                ) from None
        else:
            return
    await client.guest()
    if client.token is not None:
        try:
            if token is not None:
                aside = keep_aside(path, token)
                print(f"The server does not know the token of before, now in {aside}; you are a new guest.")
            write_token(path, client.token)
        except OSError as error:
            print(
                f"The token cannot be kept, so this game cannot be taken up later: {error}", file=sys.stderr
            )


async def _sit_down(
    client: Client, game: str | None, options: dict[str, object], seed: str | None, session: str | None
) -> Sitting:
    try:
        if session is not None:
            sitting = await Sitting.resume(client, session)
            if game not in {None, sitting.game}:
                raise _Misuse(f"session {session} is a game of {sitting.game}")
            return sitting
        return await Sitting.begin(client, game or "", options, seed)
    except NotFound:
        if session is not None:
            raise _Misuse(f"there is no session {session}") from None
        names = ", ".join(item.game for item in await client.games())
        raise _Misuse(f"there is no game {game!r} here; there are: {names}") from None
    except InvalidParams as error:
        text = f"{error.message} ({error.path})"
        if game is not None and options and "options" in error.path:
            text += f"\n{tell_options((await client.describe(game)).options)}"
        raise _Misuse(text) from None
    except ApiError as error:
        raise _Misuse(error.message) from None


def _how_to_return(url: str, token_file: Path | None) -> str:
    """Return the words that follow `patience play GAME --session ID`."""
    words = f" --url {url}" if url != DEFAULT_URL else ""
    return words + (f" --token-file {token_file}" if token_file else "")


def _complain(text: str, status: int) -> int:
    print(f"patience: {text}", file=sys.stderr)
    return status
