"""What the server answers, typed. Fields that this version does not know are ignored.

Sequences are tuples and everything is frozen, so that a value can be kept and compared. Times are RFC 3339
texts in UTC, durations whole milliseconds, as on the wire.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self, TypeAlias

from msgspec import Struct, convert

Status: TypeAlias = Literal["playing", "won", "lost", "resigned", "expired"]
EventKind: TypeAlias = Literal["move", "undo", "resign", "expire", "reveal"]


class Player(Struct, frozen=True):
    """Who plays."""

    id: str
    name: str
    kind: str
    """`guest`, `account` or `bot`."""


class Login(Struct, frozen=True):
    """A player and a token that acts for them."""

    token: str
    player: Player

    def __repr__(self) -> str:
        """Leave the token out, since representations end up in logs."""
        return f"Login(player={self.player!r})"


class Identity(Struct, frozen=True):
    """Whom a connection acts for, and what it may do."""

    player: Player
    scopes: tuple[str, ...]


class Pile(Struct, frozen=True):
    """One pile of a view."""

    down: int
    """How many cards lie face down, at the bottom."""
    up: tuple[str, ...]
    """The face-up cards from the bottom to the top, each as rank and suit: `TH`."""


class View(Struct, frozen=True):
    """All that one viewer may see of a session."""

    session: str
    game: str
    rules: str
    variant: str
    options: dict[str, Any]
    mode: str
    public: bool
    ranked: bool
    player: Player
    commitment: str
    seed: str | None
    seq: int
    """How many events the session has had."""
    status: Status
    phase: str
    score: int
    moves: int
    undos: int
    elapsed_ms: int
    state: dict[str, Any]
    """What else a player may know and the piles don't show."""
    piles: dict[str, Pile]
    """Every pile, in layout order."""
    check: str
    legal: tuple[str, ...]
    """Every legal move, in ASCII order."""


class Event(Struct, frozen=True):
    """One change of a session."""

    session: str
    seq: int
    kind: EventKind
    move: str | None
    """The move made, or the one taken back; None otherwise."""
    check: str
    patch: tuple[dict[str, Any], ...]
    at: str | None = None
    """When it happened. None if this very connection made the change: such an answer tells no times."""
    elapsed_ms: int | None = None
    """None in the same case."""


class Answer(Struct, frozen=True):
    """What a change of one's own led to."""

    seq: int
    check: str
    status: Status
    patch: tuple[dict[str, Any], ...]


class EventPage(Struct, frozen=True):
    """Events in order of `seq`, and whether there are more after the last one."""

    events: tuple[Event, ...]
    more: bool


class Variant(Struct, frozen=True):
    """A named set of options."""

    variant: str
    name: str
    options: dict[str, Any]


class Game(Struct, frozen=True):
    """A game that the server has."""

    game: str
    rules: str
    name: str
    summary: str
    decks: int
    options: dict[str, Any]
    """A JSON Schema."""
    variants: tuple[Variant, ...]


class Place(Struct, frozen=True):
    """Where a pile lies, in card widths and heights from the top left."""

    pile: str
    kind: str
    x: float
    y: float
    fan: str
    """How its cards are spread: `none`, `down` or `right`."""
    label: str
    """What to call it in words."""
    hint: str | None
    """The ranks that the empty place takes, if something is to be said."""


class Description(Game, frozen=True):
    """A game with what it takes to show and to explain it."""

    layout: tuple[Place, ...]
    help: str
    """The rules as Markdown."""


class ServerInfo(Struct, frozen=True):
    """What the server says of itself."""

    name: str
    version: str
    protocol: int
    time: str
    games: tuple[str, ...]
    limits: dict[str, int]


class SessionItem(Struct, frozen=True):
    """A session as a line of a list."""

    session: str
    game: str
    variant: str
    mode: str
    status: Status
    score: int
    moves: int
    elapsed_ms: int
    started_at: str
    ended_at: str | None


class SessionPage(Struct, frozen=True):
    """One page of a list, newest first; `cursor` asks for the next one and is None on the last."""

    sessions: tuple[SessionItem, ...]
    cursor: str | None


class RecordEvent(Struct, frozen=True):
    """One event of a record."""

    seq: int
    kind: EventKind
    move: str | None
    elapsed_ms: int


class Record(Struct, frozen=True):
    """What is needed to play a session again.

    To keep a record, or to have it verified, use the plain data as they came: see `Client.record`.
    """

    format: str
    session: str
    game: str
    rules: str
    options: dict[str, Any]
    mode: str
    player: Player
    seed: str | None
    commitment: str
    status: Status
    score: int
    started_at: str
    ended_at: str | None
    elapsed_ms: int
    events: tuple[RecordEvent, ...]
    digest: str

    @classmethod
    def of(cls, data: Mapping[str, object]) -> Self:
        """Read a record's plain data.

        Raises:
            msgspec.ValidationError: it is no record.
        """
        return convert(data, cls)


class Verdict(Struct, frozen=True):
    """Whether a record holds when it is played again."""

    valid: bool
    score: int | None
    status: str | None
    reason: str | None
    at: int | None
    """The index, from 0, of the first event at fault."""


class Replay(Struct, frozen=True):
    """A record as it would have been watched: the view at `seq` 0 and what followed."""

    view: View
    events: tuple[Event, ...]
    more: bool
