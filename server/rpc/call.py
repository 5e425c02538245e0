"""One request from its arrival to its answer."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec
import structlog

from server.rpc.caller import Caller
from server.rpc.connection import Connection
from server.rpc.errors import Forbidden, InternalError, InvalidRequest, RpcError, Unauthenticated, Unavailable
from server.rpc.messages import NULL, error_answer, json_answer, result_answer

log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


LATER: Final = object()
"""What a handler returns that answers by itself in the end, by `Call.answer` or `Call.fail`."""


class Tally:
    """How often each method was called, and how often which of them was answered with which kind of error.

    Names come from the registry alone, so both are bounded; what names no method counts under "".
    """

    __slots__ = ("calls", "errors")

    def __init__(self, methods: Iterable[str]) -> None:
        """Start all of `methods` from nothing."""
        self.calls = dict.fromkeys(methods, 0)
        self.errors: Counter[tuple[str, str]] = Counter()


# A Struct is made in half the time of a class with `__init__`, and one is made for every request.
class Call(msgspec.Struct, eq=False):
    """A request or notification that is being carried out. It is answered at most once."""

    method: str
    """Its method's name, or "" as long as that is not known to exist."""
    connection: Connection | None
    """The WebSocket it came by, None over HTTP."""
    caller: Caller | None
    """Whom it acts for."""
    address: str
    """The client's address as text, "" if unknown."""
    ident: str
    """The JSON text of its id, "" for a notification."""
    reply: Callable[[str | None], None] | None
    """Takes the encoded answer, or None where there is none to send; becomes None itself with that."""
    tally: Tally
    """Where errors are counted."""

    def answer(self, result: object) -> None:
        """Send `result`, a Raw or what msgspec encodes, at once. Only the first answer counts.

        A handler that calls this by itself may go on, and what it returns is ignored. Raises what msgspec
        does for a result that can't be encoded.
        """
        reply = self.reply
        if reply is not None:
            text = result_answer(self.ident, result) if self.ident else None
            self.reply = None
            reply(text)

    def answer_json(self, result: str) -> None:
        """Send a result that is JSON already, as `answer` does."""
        reply = self.reply
        if reply is not None:
            self.reply = None
            reply(json_answer(self.ident, result) if self.ident else None)

    def refuse(self, error: RpcError) -> None:
        """Answer with `error`, unless it is answered already."""
        reply = self.reply
        if reply is not None:
            self.reply = None
            self.tally.errors[self.method, error.kind] += 1
            # What is no valid request is no notification either.
            ident = NULL if not self.ident and isinstance(error, InvalidRequest) else self.ident
            reply(error_answer(ident, error) if ident else None)

    def fail(self, error: Exception) -> None:
        """Answer with what a handler raised; what is no `RpcError` is told to the log alone."""
        if isinstance(error, RpcError):
            self.refuse(error)
        else:
            incident = secrets.token_hex(8)
            log.error("call failed", incident=incident, method=self.method, exc_info=error)
            self.refuse(InternalError(incident))

    def settle(self, outcome: asyncio.Future[object]) -> None:
        """Answer with what became of a future; made to be its done callback."""
        try:
            self.answer(outcome.result())
        except asyncio.CancelledError:
            self.refuse(Unavailable())
        except Exception as error:  # noqa: BLE001 - a call is the outermost boundary, and `fail` logs
            self.fail(error)

    async def finish(self, outcome: Awaitable[object]) -> None:
        """Await what a handler left to be done, and answer with it; if cancelled, don't answer."""
        if isinstance(outcome, asyncio.Future):
            # Awaiting it would cancel it along with us. A change on its way to the store is not called back
            # because nobody waits for the answer any more.
            await asyncio.wait((outcome,))
            self.settle(outcome)
            return
        try:
            self.answer(await outcome)
        except Exception as error:  # noqa: BLE001 - a call is the outermost boundary, and `fail` logs
            self.fail(error)

    def require(self, scope: str) -> Caller:
        """Return the caller, for handlers that must look for `not_found` before they refuse.

        Raises `Unauthenticated` without a caller, and `Forbidden` if its token lacks `scope`.
        """
        if self.caller is None:
            raise Unauthenticated
        if scope not in self.caller.scopes:
            raise Forbidden(f"This token lacks the scope {scope}; use one that has it.")
        return self.caller
