"""What goes over the wire, as types: results are encoded from these, and OpenRPC describes them."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

Time: TypeAlias = Annotated[
    str,
    Meta(
        description="RFC 3339 in UTC, to the millisecond",
        examples=["2026-11-30T09:00:00.000Z"],
        extra_json_schema={"format": "date-time"},
    ),
]
Check: TypeAlias = Annotated[
    str, Meta(description="CRC-32 of the piles", extra_json_schema={"pattern": "^[0-9a-f]{8}$"})
]
Sha256: TypeAlias = Annotated[
    str, Meta(description="SHA-256 in hex", extra_json_schema={"pattern": "^[0-9a-f]{64}$"})
]
Card: TypeAlias = Annotated[
    str, Meta(description="rank and suit", extra_json_schema={"pattern": "^[A23456789TJQK][CDHS]$"})
]
Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, description="milliseconds")]
Seq: TypeAlias = Annotated[int, Meta(ge=0, description="the number of a session's event; 0 after the deal")]
Status: TypeAlias = Literal["playing", "won", "lost", "resigned", "expired"]
Mode: TypeAlias = Literal["casual", "daily", "race"]
PlayerKind: TypeAlias = Literal["guest", "account", "bot"]
Kind: TypeAlias = Literal["move", "undo", "resign", "expire", "reveal"]


class Empty(Struct):
    """Nothing more to say."""


class Player(Struct, frozen=True):
    """Somebody who plays."""

    id: str
    name: str
    kind: PlayerKind


class Login(Struct):
    """A new token, whose text is shown this once, and whom it acts for."""

    token: str
    player: Player


class Acting(Struct):
    """Whom the connection acts for from here on, and what it may do."""

    player: Player
    scopes: list[str]


class Operation(Struct):
    """One operation of RFC 6902."""

    op: Literal["add", "remove", "replace", "move"]
    path: str
    from_: str | UnsetType = msgspec.field(default=UNSET, name="from")
    value: Any | UnsetType = UNSET


class Pile(Struct):
    """One pile: how many cards lie face down at its bottom, and the others from the bottom to the top."""

    down: int
    up: list[Card]


class View(Struct):
    """What one viewer may see of a session."""

    session: str
    game: str
    rules: str
    variant: str
    options: dict[str, int | bool]
    mode: Mode
    public: bool
    ranked: bool
    player: Player
    commitment: Sha256
    seed: str | None
    seq: Seq
    status: Status
    phase: str
    score: int
    moves: int
    undos: int
    elapsed_ms: Milliseconds
    state: dict[str, Any]
    piles: dict[str, Pile]
    check: Check
    legal: list[str]


class Change(Struct):
    """The answer to a move, an undo or a resignation."""

    seq: Seq
    patch: list[Operation]
    check: Check
    status: Status


class Event(Struct):
    """One numbered change of a session."""

    session: str
    seq: Seq
    kind: Kind
    move: str | None
    at: Time
    elapsed_ms: Milliseconds
    check: Check
    patch: list[Operation]


class Subscribed(Struct):
    """The answer to a subscription: the view, or with `since` what was missed.

    While there is `more`, ask again with the last event's `seq`; live events begin after the last page.
    """

    view: View | UnsetType = UNSET
    events: list[Event] | UnsetType = UNSET
    more: bool | UnsetType = UNSET


class SessionItem(Struct):
    """A session in a list."""

    session: str
    game: str
    variant: str
    mode: Mode
    status: Status
    score: int
    moves: int
    elapsed_ms: Milliseconds
    started_at: Time
    ended_at: Time | None


class SessionPage(Struct):
    """A page of a player's sessions, newest first."""

    sessions: list[SessionItem]
    cursor: str | None


class RecordEvent(Struct):
    """An event in a record."""

    seq: Seq
    kind: Kind
    move: str | None
    elapsed_ms: Milliseconds


class SessionRecord(Struct):
    """A session as a document that anybody can play again."""

    format: Literal["patience-record/1"]
    session: str
    game: str
    rules: str
    options: dict[str, int | bool]
    mode: Mode
    player: Player
    seed: str | None
    commitment: Sha256
    status: Status
    score: int
    started_at: Time
    ended_at: Time | None
    elapsed_ms: Milliseconds
    events: list[RecordEvent]
    digest: Sha256


class Verdict(Struct):
    """Whether a record is a legal attempt that ended as it says, and where it goes wrong if not."""

    valid: bool
    score: int | None
    status: Status | None
    reason: str | None
    at: int | None


class Replay(Struct):
    """A record played again: the view after the deal, and what followed."""

    view: View
    events: list[Event]
    more: bool


class Variant(Struct):
    """A named set of options."""

    variant: str
    name: str
    options: dict[str, int | bool]


class GameItem(Struct):
    """A game in a list; `options` is a JSON Schema."""

    game: str
    rules: str
    name: str
    summary: str
    decks: int
    options: dict[str, Any]
    variants: list[Variant]


class Place(Struct):
    """Where a pile may be drawn: `x` in card widths from the left, `y` in card heights from the top."""

    pile: str
    kind: Literal["stock", "waste", "foundation", "tableau", "reserve", "cell"]
    x: float
    y: float
    fan: Literal["none", "down", "right"]
    label: str
    hint: str | None


class GameDescription(GameItem):
    """A game with all that a client needs to draw it; `help` is the rules as Markdown."""

    layout: list[Place]
    help: str


class About(Struct):
    """What this server is, and what it bears."""

    name: str
    version: str
    protocol: int
    time: Time
    games: list[str]
    limits: dict[str, int]


_encode = msgspec.json.Encoder().encode


def raw(value: object) -> Raw:
    """Encode a value once, to be put into messages as it is."""
    return Raw(_encode(value))
