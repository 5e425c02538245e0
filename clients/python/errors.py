"""Everything that can go wrong between a program and the server.

ClientError
├── ApiError               the server refused the call: kind, code, message, data
│   ├── ParseError           parse_error
│   ├── InvalidRequest       invalid_request
│   ├── MethodNotFound       method_not_found
│   ├── InvalidParams        invalid_params     path
│   ├── InternalError        internal_error     incident
│   ├── Unauthenticated      unauthenticated
│   ├── Forbidden            forbidden
│   ├── NotFound             not_found
│   ├── IllegalMove          illegal_move       reason, seq
│   ├── StaleSeq             stale_seq          seq
│   ├── SessionOver          session_over       status
│   ├── NotAllowed           not_allowed
│   ├── NameTaken            name_taken
│   ├── RateLimited          rate_limited       retry_after_ms
│   ├── Unavailable          unavailable
│   └── Conflict             conflict
├── ConnectionLost         what was under way may or may not have happened
├── CallTimeout            no answer in time; likewise (also a TimeoutError)
├── MessageTooLong         the server would refuse the message, so it was not sent (also a ValueError)
├── BadAnswer              what came is not of the protocol
├── PatchError             a patch does not fit its document
└── Lagged                 a watcher did not keep up with the events
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from clients.python.json_data import Json


class ClientError(Exception):
    """The root of all errors that this package raises by itself."""


class ApiError(ClientError):
    """The server refused a call, which changed nothing (`Unavailable` and `InternalError` apart).

    A kind that this version does not know is raised as a plain `ApiError`.
    """

    known_kind: ClassVar[str] = ""
    """The kind that is raised as this class."""

    def __init__(self, kind: str, code: int, message: str, data: Mapping[str, Json]) -> None:
        """Keep what the server answered."""
        super().__init__(message)
        self.kind = kind
        """The stable word to switch on."""
        self.code = code
        self.message = message
        """What to tell people."""
        self.data = data
        """All that the answer says beside code and message, `kind` included."""

    def _text(self, key: str) -> str:
        value = self.data.get(key)
        return value if isinstance(value, str) else ""

    def _number(self, key: str) -> int:
        value = self.data.get(key)
        return value if isinstance(value, int) else 0


class ParseError(ApiError):
    """The server could not read the message as JSON."""

    known_kind = "parse_error"


class InvalidRequest(ApiError):
    """The message was no JSON-RPC request, or over a size limit."""

    known_kind = "invalid_request"


class MethodNotFound(ApiError):
    """This server has no such method."""

    known_kind = "method_not_found"


class InvalidParams(ApiError):
    """A param is unknown, missing or of a wrong value."""

    known_kind = "invalid_params"

    @property
    def path(self) -> str:
        """A JSON Pointer to the param at fault."""
        return self._text("path")


class InternalError(ApiError):
    """The server is at fault."""

    known_kind = "internal_error"

    @property
    def incident(self) -> str:
        """What the server's log knows it by."""
        return self._text("incident")


class Unauthenticated(ApiError):
    """There is no token, or it is unknown, expired or revoked."""

    known_kind = "unauthenticated"


class Forbidden(ApiError):
    """The token lacks the scope, or the session is somebody else's."""

    known_kind = "forbidden"


class NotFound(ApiError):
    """There is no such game, session or player."""

    known_kind = "not_found"


class IllegalMove(ApiError):
    """The rules don't allow the move."""

    known_kind = "illegal_move"

    @property
    def reason(self) -> str:
        """One of the protocol's eleven words for why."""
        return self._text("reason")

    @property
    def seq(self) -> int:
        """What the session is at."""
        return self._number("seq")


class StaleSeq(ApiError):
    """The session has changed since the view that the move was meant for."""

    known_kind = "stale_seq"

    @property
    def seq(self) -> int:
        """What the session is at."""
        return self._number("seq")


class SessionOver(ApiError):
    """The session has ended."""

    known_kind = "session_over"

    @property
    def status(self) -> str:
        """How it ended."""
        return self._text("status")


class NotAllowed(ApiError):
    """This mode or transport does not have it, or a session's limit is reached."""

    known_kind = "not_allowed"


class NameTaken(ApiError):
    """Another account has the name."""

    known_kind = "name_taken"


class RateLimited(ApiError):
    """Too many calls; raised only where the time for the call would be over before it may be sent again."""

    known_kind = "rate_limited"

    @property
    def retry_after_ms(self) -> int:
        """After how many milliseconds another attempt makes sense."""
        return self._number("retry_after_ms")


class Unavailable(ApiError):
    """A store of the server is down; raised only when several attempts did not help.

    The change may or may not have been made. The same call may be sent again and is never carried out twice.
    """

    known_kind = "unavailable"


class Conflict(ApiError):
    """The thing is no longer in a state that allows this, as with nothing left to undo."""

    known_kind = "conflict"


_KINDS: Final = {
    error.known_kind: error
    for error in (
        ParseError,
        InvalidRequest,
        MethodNotFound,
        InvalidParams,
        InternalError,
        Unauthenticated,
        Forbidden,
        NotFound,
        IllegalMove,
        StaleSeq,
        SessionOver,
        NotAllowed,
        NameTaken,
        RateLimited,
        Unavailable,
        Conflict,
    )
}


def api_error(code: int, message: str, data: Json) -> ApiError:
    """Return the error that an answer's `error` object stands for."""
    fields = data if isinstance(data, dict) else {}
    kind = fields.get("kind")
    kind = kind if isinstance(kind, str) else ""
    return _KINDS.get(kind, ApiError)(kind, code, message, fields)


class ConnectionLost(ClientError):
    """There is no connection, and what was under way may or may not have been carried out."""


class CallTimeout(ClientError, TimeoutError):
    """A call was not answered in time; it may or may not have been carried out."""


class MessageTooLong(ClientError, ValueError):
    """The server would refuse a message of this size. Nothing was sent."""


class BadAnswer(ClientError):
    """What the server sent is not of the protocol."""


class PatchError(ClientError):
    """An operation of a patch is malformed, or does not fit the document."""


class Lagged(ClientError):
    """A watcher left more events unread than are kept for it, and has missed some.

    The session itself has missed nothing: its view is right.
    """
