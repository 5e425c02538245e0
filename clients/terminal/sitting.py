"""One player at one table: reads commands, shows what has become of them."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Final, Self

from clients.python import Client, ClientError, ConnectionLost, Description, Session, StaleSeq
from clients.terminal import wording
from clients.terminal.lines import Lines
from clients.terminal.options import tell_options
from clients.terminal.table import WIDTH, colored, in_full, legend, table

_WORDS: Final = {"help": "h", "quit": "q", "exit": "q", "undo": "u", "resign": "r"}
"""Commands spelled out. No move of any game is one of these words."""


class Sitting:
    """A session that is played, one line of input at a time."""

    def __init__(self, client: Client, session: Session, description: Description) -> None:
        """Sit down at a session of the game that `description` tells about."""
        self._client = client
        self._session = session
        self._description = description
        self._lines = Lines(sys.stdin.fileno())
        self._interactive = sys.stdin.isatty()
        self._in_color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self._shown = -1
        self._stirred = asyncio.Event()
        self._lost: ClientError | None = None
        self._prompted = False
        self._in_unicode = _can_encode("…", sys.stdout.encoding)
        client.on_connection(self._tell_connection)
        self.how_to_return = ""
        """What else to say to the command that takes the session up again."""

    @classmethod
    async def begin(cls, client: Client, game: str, options: Mapping[str, object], seed: str | None) -> Self:
        """Sit down at a new deal. Raises `ApiError` if there is no such game, option or seed."""
        description = await client.describe(game, options or None)
        return cls(client, await client.create(game, options or None, seed=seed), description)

    @classmethod
    async def resume(cls, client: Client, session: str) -> Self:
        """Sit down at a session that there is. Raises `ApiError` if it may not be seen."""
        opened = await client.open(session)
        return cls(client, opened, await client.describe(opened.game, opened.view.options))

    @property
    def game(self) -> str:
        """What is played."""
        return self._session.game

    async def run(self) -> None:
        """Play until the player leaves or the input ends.

        Raises:
            ConnectionLost: the server is gone for good.
        """
        self._say(f"{wording.commands(self._session.legal)}\n{legend()}\n")
        self._show()
        following = asyncio.create_task(self._follow(self._session))
        line: asyncio.Task[str | None] | None = None
        try:
            while True:
                if line is None:
                    self._prompt()
                    line = asyncio.create_task(self._lines.next())
                await self._either(line)
                if self._lost is not None:
                    raise self._lost
                if not line.done():
                    self._show_if_changed()
                    continue
                text = line.result()
                line = None
                self._prompted = False
                command = "q" if text is None else text.strip().lower()
                command = _WORDS.get(command, command)
                if command == "q":
                    break
                if command == "n":
                    following.cancel()
                    await self._deal_again()
                    following = asyncio.create_task(self._follow(self._session))
                else:
                    await self._obey(command)
        except asyncio.CancelledError:
            # An interrupt leaves the table as much as `q` does.
            self._say("")
            self._say_goodbye()
            raise
        finally:
            following.cancel()
            if line is not None:
                line.cancel()
        self._say_goodbye()

    async def _follow(self, session: Session) -> None:
        """Stir whenever something happens, made here or elsewhere."""
        try:
            async for _ in session.watch():
                self._stirred.set()
        except ConnectionLost as error:
            self._lost = error
            self._stirred.set()

    async def _either(self, line: asyncio.Task[str | None]) -> None:
        """Wait for a line or for something to happen. A person may take any time."""
        stirred = asyncio.create_task(self._stirred.wait())
        await asyncio.wait({line, stirred}, return_when=asyncio.FIRST_COMPLETED)
        stirred.cancel()
        self._stirred.clear()

    async def _obey(self, command: str) -> None:
        match command:
            case "":
                self._show()
            case "?":
                self._list_moves()
            case "h":
                self._tell_all()
            case "p":
                self._tell_piles()
            case "u":
                await self._change(self._session.undo())
            case "r":
                await self._resign()
            case move:
                await self._change(self._session.move(move), move)

    async def _resign(self) -> None:
        if self._session.status != "playing":
            self._say(wording.OVER)
        elif await self._sure("Resign? Type y for yes."):
            await self._change(self._session.resign())
        else:
            self._say("The game goes on.")

    async def _change(self, call: Awaitable[object], move: str = "") -> None:
        try:
            await call
        except ConnectionLost:
            raise
        except ClientError as error:
            self._say(wording.refusal(error, move))
            if isinstance(error, StaleSeq):
                self._show()
            return
        if self._session.status != "playing":
            # Only the server knows the exact time at the end.
            with suppress(ClientError):
                await self._session.refresh()
        self._show()

    async def _deal_again(self) -> None:
        """Leave the session as it is, and begin another one with the same options."""
        if self._session.status == "playing":
            self._say_goodbye()
        view = self._session.view
        await self._session.close()
        self._session = await self._client.create(view.game, view.options)
        self._show()

    async def _sure(self, question: str) -> bool:
        if not self._interactive:
            return True
        self._say(question)
        self._prompt()
        answer = await self._lines.next()
        self._prompted = False
        return (answer or "").strip().lower() in {"y", "yes"}

    def _show_if_changed(self) -> None:
        if self._session.seq != self._shown:
            self._say("\nThe game has gone on elsewhere.")
            self._show()
            self._prompt()

    def _show(self) -> None:
        session = self._session
        view = session.view
        self._shown = view.seq
        lines = [wording.standing(self._description.name, view, session.elapsed_ms), ""]
        lines += table(view.piles, self._description.layout)
        lines += ["", end] if (end := wording.ending(view)) else [""]
        self._say("\n".join(lines))

    def _tell_connection(self, connected: bool) -> None:
        """Say at once what a call that waits for the connection would only say much later."""
        # Nobody can be told that the output has gone; whoever writes next will meet that too.
        with suppress(BrokenPipeError):
            prompted = self._prompted
            self._say(("\n" if prompted else "") + (wording.FOUND if connected else wording.LOST))
            if prompted:
                self._prompt()

    def _tell_all(self) -> None:
        rules = wording.plain(self._description.help)
        options = tell_options(self._description.options)
        self._say(f"{rules}\n{options}\n\n{wording.commands(self._session.legal)}\n{legend()}")

    def _list_moves(self) -> None:
        legal = self._session.legal
        column = max(map(len, legal), default=0) + 2
        across = max(1, WIDTH // column)
        rows = (legal[i : i + across] for i in range(0, len(legal), across))
        text = "\n".join("".join(move.ljust(column) for move in row).rstrip() for row in rows)
        self._say(text or "There is no legal move.")

    def _tell_piles(self) -> None:
        piles = self._session.piles
        for place in self._description.layout:
            self._say("\n".join(in_full(piles[place.pile], place)))

    def _say_goodbye(self) -> None:
        session = self._session
        if session.status == "playing":
            self._say(f"The game stays as it is. To take it up again:\n{self._command()}")

    def _command(self) -> str:
        return f"    patience play {self._session.game} --session {self._session.id}{self.how_to_return}"

    def _prompt(self) -> None:
        if self._interactive:
            print("> ", end="", flush=True)
            self._prompted = True

    def _say(self, text: str) -> None:
        if not self._in_unicode:
            # One character for another, so that columns stay where they are.
            text = text.replace("…", ".")
        print(colored(text) if self._in_color else text, flush=True)


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
