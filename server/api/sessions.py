"""`session.*`: making, playing and reading sessions."""

from typing import Annotated, Any, Literal, TypeAlias, cast

from msgspec import Meta, Raw, Struct

from engine import SeedError, check_seed
from server import wire
from server.api.games import Options, find_game
from server.auth import Caller
from server.reading import Reading
from server.rpc.call import LATER, Call
from server.rpc.errors import (
    Conflict,
    Forbidden,
    IllegalMove,
    InvalidParams,
    NotAllowed,
    NotFound,
    SessionOver,
    StaleSeq,
    Unauthenticated,
    Unavailable,
)
from server.rpc.methods import Method
from server.sessions import Act, Sessions
from server.storing import storing

Seq: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
# Python's `$` would let a line end pass; JSON Schema has no `\Z`.
RequestId: TypeAlias = Annotated[str, Meta(pattern=r"^[!-~]{1,64}(?![\s\S])")]
Seed: TypeAlias = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9._-]{1,64}$"})]
"""Checked by the engine, which says what is wrong with one."""

Status: TypeAlias = Literal["playing", "won", "lost", "resigned", "expired"]
Mode: TypeAlias = Literal["casual", "daily", "race"]


class CreateParams(Struct, forbid_unknown_fields=True):
    """A game to deal. With a `request_id` the call may be sent again and deals once."""

    game: str
    options: Options | None = None
    seed: Seed | None = None
    public: bool | None = None
    request_id: RequestId | None = None


class GetParams(Struct, forbid_unknown_fields=True):
    """A session, and the event after which to see it; none for now."""

    session: str
    seq: Seq | None = None


class ListParams(Struct, forbid_unknown_fields=True):
    """Which of the caller's sessions to list."""

    status: Status | None = None
    game: str | None = None
    mode: Mode | None = None
    cursor: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] | None = None


class MoveParams(Struct, forbid_unknown_fields=True):
    """A move, and the `seq` that the player saw when making it."""

    session: str
    move: str
    seq: Seq


class UndoParams(Struct, forbid_unknown_fields=True):
    """A session, and the `seq` that the player saw."""

    session: str
    seq: Seq


class SessionParams(Struct, forbid_unknown_fields=True):
    """A session."""

    session: str


class SubscribeParams(Struct, forbid_unknown_fields=True):
    """A session, and the last event that the client has; none to begin with its view."""

    session: str
    since: Seq | None = None


def player_of(call: Call) -> Caller:
    """Return whom a call of a method with a scope acts for."""
    return cast("Caller", call.caller)


_ENDS = (NotFound, Forbidden, SessionOver, Unavailable)


def methods(sessions: Sessions, reading: Reading) -> tuple[Method[Any], ...]:
    """Return the methods."""

    async def create(call: Call, params: CreateParams) -> Raw:
        """Deal a new session."""
        if params.seed is not None:
            try:
                check_seed(params.seed)
            except SeedError as error:
                raise InvalidParams("/seed", f"{error}.") from None
        game = find_game(params.game, params.options)
        with storing():
            return await sessions.create(
                player_of(call).player,
                game,
                seed=params.seed,
                public=bool(params.public),
                request_id=params.request_id,
                address=call.address,
            )

    def get(call: Call, params: GetParams) -> object:
        """Return a session's view, as it is or as it was after an event."""
        return reading.view(call, params.session, params.seq)

    async def list_(call: Call, params: ListParams) -> wire.SessionPage:
        """List the caller's sessions, newest first."""
        with storing():
            return await reading.list(
                player_of(call).player,
                status=params.status,
                game=params.game,
                mode=params.mode,
                cursor=params.cursor,
                limit=params.limit or 20,
            )

    def move(call: Call, params: MoveParams) -> object:
        """Make a move. Sent again with the same `seq` it gives the same answer and changes nothing."""
        sessions.act(params.session, Act(call, "move", params.move, params.seq))
        return LATER

    def undo(call: Call, params: UndoParams) -> object:
        """Take back the last move that is in effect."""
        sessions.act(params.session, Act(call, "undo", None, params.seq))
        return LATER

    def resign(call: Call, params: SessionParams) -> object:
        """Give a session up."""
        sessions.act(params.session, Act(call, "resign", None, None))
        return LATER

    def subscribe(call: Call, params: SubscribeParams) -> object:
        """Be told of a session's events as they come."""
        return reading.subscribe(call, params.session, params.since)

    def unsubscribe(call: Call, params: SessionParams) -> object:
        """Be told of a session's events no longer."""
        return reading.unsubscribe(call, params.session)

    def record(call: Call, params: SessionParams) -> object:
        """Return a session as a record, which anybody can play again."""
        return reading.record(call, params.session)

    play, seen = "play", (Unauthenticated, NotFound, Forbidden, Unavailable)
    moved = (*_ENDS, IllegalMove, StaleSeq, NotAllowed)
    undone = (*_ENDS, StaleSeq, NotAllowed, Conflict)
    return (
        Method("session.create", CreateParams, wire.View, create, play, (NotFound, NotAllowed, Unavailable)),
        Method("session.get", GetParams, wire.View, get, errors=seen),
        Method("session.list", ListParams, wire.SessionPage, list_, "read", (Unavailable,)),
        Method("session.move", MoveParams, wire.Change, move, play, moved, looks_first=True),
        Method("session.undo", UndoParams, wire.Change, undo, play, undone, looks_first=True),
        Method("session.resign", SessionParams, wire.Change, resign, play, _ENDS, looks_first=True),
        Method(
            "session.subscribe", SubscribeParams, wire.Subscribed, subscribe, errors=seen, socket_only=True
        ),
        Method(
            "session.unsubscribe",
            SessionParams,
            wire.Empty,
            unsubscribe,
            errors=(Unavailable,),
            socket_only=True,
        ),
        Method("session.record", SessionParams, wire.SessionRecord, record, errors=seen),
    )
