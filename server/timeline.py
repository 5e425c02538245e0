"""A session at one moment of its history; events carry it forward.

Nothing here waits or stores: what was dealt and what has happened decide everything, so the same deal and
events give the same views and the same bytes of every event, in whichever process and however often.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from datetime import datetime
from typing import cast

import msgspec
from msgspec import Raw

from engine import MOST_EVENTS, EventKind, Play, View, apply, head, make_game, patch, shuffle, view
from engine.record import FORMAT, sealed
from server import wire
from server.clock import elapsed_ms, rfc3339
from server.ids import id_text
from server.store.entries import Entry, SessionEnd
from server.store.events import Event
from server.store.players import Player
from server.store.sessions import Session

_BREATH = 200
"""After how many events a long replay lets others have their turn."""
_LONG_BREATH = 1_000
"""The same where nothing is made of them."""


# None of the fields can lead back to it, and one is made for every move.
class Happened(msgspec.Struct, frozen=True, gc=False):
    """One event, with all that is told of it."""

    seq: int
    kind: EventKind
    move: str | None
    at: datetime
    elapsed_ms: int
    check: str
    status: str
    patch: str
    """As JSON."""

    def change(self) -> str:
        """Encode the answer to the call that made it."""
        return f'{{"seq":{self.seq},"patch":{self.patch},"check":"{self.check}","status":"{self.status}"}}'

    def event(self, session: str) -> Raw:
        """Encode the event as subscribers see it."""
        return wire.raw(
            {
                "session": session,
                "seq": self.seq,
                "kind": self.kind,
                "move": self.move,
                "at": rfc3339(self.at),
                "elapsed_ms": self.elapsed_ms,
                "check": self.check,
                "patch": Raw(self.patch),
            }
        )


class Timeline:
    """A session's deal, and its play as far as it has come."""

    __slots__ = ("_ended", "_head", "at", "history", "play", "player", "row", "seed_known", "steps", "text")

    row: Session
    """What was dealt to whom."""

    player: wire.Player
    text: str
    """The session's id as it stands on the wire."""

    play: Play
    at: datetime
    """When the last event was, or the deal."""

    history: list[tuple[EventKind, str | None, int]]
    """Kind, move and elapsed time of every event so far."""

    steps: int
    """How many moves and undos there have been."""

    seed_known: bool
    """Whether the seed has been revealed: from the first end of a casual session on, else by a `reveal`."""

    def __init__(self, row: Session, player: wire.Player, text: str | None = None) -> None:
        """Deal a session's deal. Its id is shown as ``text``, if that is given."""
        game = make_game(row.game, row.options)
        self.row, self.player, self.text = row, player, text or id_text(row.id)
        self.play = Play(game, shuffle(row.seed, game.decks))
        self.at = row.created_at
        self.history = []
        self.seed_known = False
        self.steps = 0
        self._ended: tuple[datetime, int] | None = None
        self._head = self._look()

    async def advance(self, events: Iterable[Event]) -> AsyncGenerator[Happened]:
        """Let stored events happen one after another, now and then giving others their turn."""
        for i, event in enumerate(events):
            if i % _BREATH == _BREATH - 1:
                await asyncio.sleep(0)
            yield self.happen(cast("EventKind", event.kind), event.move, event.at)

    async def skip(self, events: Sequence[Event]) -> None:
        """Let stored events happen of which nobody has to be told, which is several times as fast."""
        play, row = self.play, self.row
        for i, (_, kind, move, at, _, _) in enumerate(events):
            if i % _LONG_BREATH == _LONG_BREATH - 1:
                await asyncio.sleep(0)
            if kind not in {"move", "undo"}:
                self._look_up()
                self.happen(cast("EventKind", kind), move, at)
                continue
            if kind == "undo" and not play.game.extra(play.table):
                # It may have been lost, and the seed has been known since.
                self._look_up()
            play.repeat(move if kind == "move" else None)
            self.at = max(at, self.at)
            self._ended = None
            self.steps += 1
            self.history.append((cast("EventKind", kind), move, elapsed_ms(row.created_at, self.at)))
        self._look_up()
        self._head = self._look()

    def _look_up(self) -> None:
        """Find out where skipped events have led."""
        self.play.look()
        self._judge(self.at)

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self.play.seq

    @property
    def last_move(self) -> str | None:
        """The last move in effect, which an undo takes back."""
        return self.play.done[-1].move if self.play.done else None

    @property
    def full(self) -> bool:
        """Whether the session takes no more moves and undos."""
        return self.steps >= MOST_EVENTS

    @property
    def resigned_at(self) -> int | None:
        """The number of the event by which it was resigned, if it was."""
        for seq, (kind, _, _) in enumerate(self.history, 1) if self.play.status == "resigned" else ():
            if kind == "resign":
                return seq
        return None

    def _look(self) -> View:
        """Return all parts of the view that may change, but the piles and the time."""
        row, play = self.row, self.play
        parts = head(play)
        parts["ranked"] = row.drawn and not play.undos and play.game.variant != "custom"
        parts["seed"] = row.seed if self.seed_known else None
        return parts

    def happen(self, kind: EventKind, move: str | None, at: datetime) -> Happened:
        """Let one event happen.

        Args:
            kind: the event's.
            move: the move made, or taken back; None for other kinds.
            at: when; an earlier time than the last event's counts as that.

        Raises:
            EngineError: the rules do not allow it; nothing has changed.
        """
        play, before = self.play, self._head
        records = apply(play, kind, move)
        status = play.status
        self.at = at = max(at, self.at)
        self._judge(at)
        if kind == "reveal":
            self.seed_known = True
        elapsed = self._ended[1] if self._ended else elapsed_ms(self.row.created_at, at)
        self.steps += kind in {"move", "undo"}
        self.history.append((kind, move, elapsed))
        self._head = after = self._look()
        operations = patch(play.game.layout, records, before, after)
        return Happened(play.seq, kind, move, at, elapsed, after["check"], status, operations)

    def _judge(self, at: datetime) -> None:
        """Note whether it has ended, and when; a casual session's seed is known from then on."""
        if self.play.status == "playing":
            self._ended = None
        elif self._ended is None:
            self._ended = at, elapsed_ms(self.row.created_at, at)
        if self._ended and self.row.mode == "casual":
            self.seed_known = True

    def elapsed(self, now: datetime) -> int:
        """Milliseconds from the deal to now, or to the end."""
        return self._ended[1] if self._ended else elapsed_ms(self.row.created_at, max(now, self.at))

    def entry(self, happened: Happened, before: str) -> Entry:
        """Return the event just happened as the journal writes it; ``before`` is the status until then."""
        play = self.play
        end: SessionEnd | None = None
        if play.status != before:
            ended_at, elapsed = self._ended or (None, None)
            end = SessionEnd(play.status, play.score, play.moves, play.undos, ended_at, elapsed)
        seq, kind, move, at = happened.seq, happened.kind, happened.move, happened.at
        return Entry(self.row.id, seq, kind, move, at, play.score, len(play.done), end)

    def view(self, elapsed: int) -> Raw:
        """Encode the view.

        Args:
            elapsed: the view's `elapsed_ms`.
        """
        row, play, parts = self.row, self.play, self._head
        seen = view(play)
        return wire.raw(
            wire.View(
                session=self.text,
                game=row.game,
                rules=row.rules,
                variant=row.variant,
                options=dict(play.game.options),
                mode=cast("wire.Mode", row.mode),
                public=row.public,
                ranked=parts["ranked"],
                player=self.player,
                commitment=row.commitment,
                seed=parts["seed"],
                elapsed_ms=elapsed,
                **seen,
            )
        )

    def record(self, now: datetime) -> Raw:
        """Encode the session's record, its seed withheld while it may not be known."""
        row, play = self.row, self.play
        document = {
            "format": FORMAT,
            "session": self.text,
            "game": row.game,
            "rules": row.rules,
            "options": dict(play.game.options),
            "mode": row.mode,
            "player": msgspec.to_builtins(self.player),
            "seed": row.seed if self.seed_known else None,
            "commitment": row.commitment,
            "status": play.status,
            "score": play.score,
            "started_at": rfc3339(row.created_at),
            "ended_at": rfc3339(self._ended[0]) if self._ended else None,
            "elapsed_ms": self.elapsed(now),
            "events": [
                {"seq": i, "kind": kind, "move": move, "elapsed_ms": elapsed}
                for i, (kind, move, elapsed) in enumerate(self.history, 1)
            ],
        }
        return wire.raw(sealed(document))


def wire_player(player: Player) -> wire.Player:
    """Return a player as others see them."""
    return wire.Player(id_text(player.id), player.name, cast("wire.PlayerKind", player.kind))
