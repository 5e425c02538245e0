"""Every error a call can be answered with.

RpcError
├── of JSON-RPC itself
│   ├── ParseError         -32700  parse_error
│   ├── InvalidRequest     -32600  invalid_request
│   ├── MethodNotFound     -32601  method_not_found
│   ├── InvalidParams      -32602  invalid_params    path
│   └── InternalError      -32603  internal_error    incident
└── of this protocol
    ├── Unauthenticated      1001  unauthenticated
    ├── Forbidden            1002  forbidden
    ├── NotFound             1003  not_found
    ├── IllegalMove          1004  illegal_move      reason, seq
    ├── StaleSeq             1005  stale_seq         seq
    ├── SessionOver          1006  session_over      status
    ├── NotAllowed           1007  not_allowed
    ├── NameTaken            1008  name_taken
    ├── RateLimited          1009  rate_limited      retry_after_ms
    ├── Unavailable          1010  unavailable
    └── Conflict             1011  conflict

Handlers raise them; the dispatcher turns them into answers. Codes and kinds are promised to clients.
"""

from typing import ClassVar


class RpcError(Exception):
    """The root: a call that is answered with an error.

    The message is for people and goes to the client as it is, so it must hold no secret.
    """

    code: ClassVar[int]
    """The number in the answer's `code`."""
    kind: ClassVar[str]
    """The word in the answer's `data.kind`, which programs switch on."""
    default: ClassVar[str]
    """The message where the raiser has nothing more exact to say."""

    def __init__(self, message: str | None = None) -> None:
        """Say `message` instead of the default one."""
        self.message = self.default if message is None else message
        super().__init__(self.message)

    def data(self) -> dict[str, object]:
        """Return the answer's `data`: `kind`, and what else the protocol lists for it."""
        return {"kind": self.kind}


class ParseError(RpcError):
    """The text is not JSON, or not UTF-8."""

    code = -32700
    kind = "parse_error"
    default = "This is not JSON in UTF-8; send one JSON-RPC 2.0 message or batch."


class InvalidRequest(RpcError):
    """The JSON is not a JSON-RPC request, or it is over one of the size limits."""

    code = -32600
    kind = "invalid_request"
    default = (
        'This is no JSON-RPC 2.0 request; it needs "jsonrpc": "2.0", a method, and params as object or array.'
    )


class MethodNotFound(RpcError):
    """There is no method of that name."""

    code = -32601
    kind = "method_not_found"
    default = "There is no such method; rpc.discover lists those there are."


class InvalidParams(RpcError):
    """The params don't fit; `path` is a JSON Pointer to the one at fault, or "" for all of them."""

    code = -32602
    kind = "invalid_params"
    default = "The params don't fit; rpc.discover tells which ones the method takes."

    def __init__(self, path: str, message: str | None = None) -> None:
        """Blame the param at `path`."""
        super().__init__(message)
        self.path = path

    def data(self) -> dict[str, object]:
        """Return `kind` and `path`."""
        return {"kind": self.kind, "path": self.path}


class InternalError(RpcError):
    """The server is at fault; its log tells more under the same `incident`."""

    code = -32603
    kind = "internal_error"
    default = "The server failed on this call; whoever runs it finds the cause in its log under the incident."

    def __init__(self, incident: str) -> None:
        """Refer to the log line that carries `incident`."""
        super().__init__()
        self.incident = incident

    def data(self) -> dict[str, object]:
        """Return `kind` and `incident`."""
        return {"kind": self.kind, "incident": self.incident}


class Unauthenticated(RpcError):
    """There is no token, or it is unknown, expired or revoked."""

    code = 1001
    kind = "unauthenticated"
    default = "This needs a valid token; send it as Authorization: Bearer, or with auth.use."


class Forbidden(RpcError):
    """The token lacks the scope, or the thing belongs to somebody else."""

    code = 1002
    kind = "forbidden"
    default = "This token may not do that; use one with the scope, or of the player it belongs to."


class NotFound(RpcError):
    """The thing that a param names does not exist, or not for this caller."""

    code = 1003
    kind = "not_found"
    default = "There is no such thing; check the id or the name."


class IllegalMove(RpcError):
    """The rules refuse the move, for one of the protocol's reasons; nothing has changed."""

    code = 1004
    kind = "illegal_move"
    default = "The rules don't allow this move; the view lists the legal ones."

    def __init__(self, reason: str, seq: int) -> None:
        """Give the protocol's word for the reason, and the `seq` that the session is at."""
        super().__init__(f"The rules don't allow this move ({reason}); the view lists the legal ones.")
        self.reason = reason
        self.seq = seq

    def data(self) -> dict[str, object]:
        """Return `kind`, `reason` and `seq`."""
        return {"kind": self.kind, "reason": self.reason, "seq": self.seq}


class StaleSeq(RpcError):
    """The caller moved from another `seq` than the session is at."""

    code = 1005
    kind = "stale_seq"
    default = "The session is at another seq; get its view and decide anew."

    def __init__(self, seq: int) -> None:
        """Give the `seq` that the session is at."""
        super().__init__()
        self.seq = seq

    def data(self) -> dict[str, object]:
        """Return `kind` and `seq`."""
        return {"kind": self.kind, "seq": self.seq}


class SessionOver(RpcError):
    """The session has ended."""

    code = 1006
    kind = "session_over"
    default = "The session has ended; create another one to go on playing."

    def __init__(self, status: str) -> None:
        """Give the `status` that the session ended with."""
        super().__init__()
        self.status = status

    def data(self) -> dict[str, object]:
        """Return `kind` and `status`."""
        return {"kind": self.kind, "status": self.status}


class NotAllowed(RpcError):
    """This mode or transport does not have it, or a session's limit is reached."""

    code = 1007
    kind = "not_allowed"
    default = "This is not to be had here."


class NameTaken(RpcError):
    """Another account has the name."""

    code = 1008
    kind = "name_taken"
    default = "Another account has this name; choose a different one."


class RateLimited(RpcError):
    """The caller sends too much; the call has not been carried out."""

    code = 1009
    kind = "rate_limited"
    default = "Too many calls; wait for retry_after_ms, then send it again."

    def __init__(self, retry_after_ms: int, message: str | None = None) -> None:
        """Say after how many milliseconds the call may be sent again."""
        super().__init__(message)
        self.retry_after_ms = retry_after_ms

    def data(self) -> dict[str, object]:
        """Return `kind` and `retry_after_ms`."""
        return {"kind": self.kind, "retry_after_ms": self.retry_after_ms}


class Unavailable(RpcError):
    """A store is down; whether the change was made is unknown, and sending the call again is safe."""

    code = 1010
    kind = "unavailable"
    default = "A store is down and the change may or may not have been made; send the same call again."


class Conflict(RpcError):
    """The thing is no longer in a state that allows this."""

    code = 1011
    kind = "conflict"
    default = "The state of things no longer allows this; read it again."
