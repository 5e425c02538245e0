"""From the text of a frame or body to its answers, whatever carried it.

A request is checked in this order: the size limits, the envelope, whether it comes too early, the method,
whether there is a caller, the params, the token's scope, the transport. What follows, from `not_found` on, is
the handler's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from types import CoroutineType
from typing import Any, Final, cast

import msgspec

from server.buckets import Now
from server.config import Limits
from server.limits import Meter, Meters
from server.rpc import frames
from server.rpc.call import LATER, Call, Tally
from server.rpc.caller import Caller
from server.rpc.connection import Connection
from server.rpc.errors import (
    InvalidRequest,
    MethodNotFound,
    NotAllowed,
    ParseError,
    RateLimited,
    RpcError,
    Unauthenticated,
)
from server.rpc.messages import (
    NULL,
    Request,
    decode_message,
    decode_request,
    error_answer,
    id_text,
    is_json,
    salvage_id,
    swift,
    swift_decoder,
)
from server.rpc.methods import Method
from server.rpc.params import ParamsDecoder

_WRONG_ID: Final = "An id is a text, a number or null."
_AWAITED: Final = (asyncio.Future, CoroutineType)


class _Entry:
    """A method with its decoder, laid out for the fast path."""

    __slots__ = ("decode", "handler", "looks_first", "name", "params", "scope", "serial", "socket_only")

    def __init__(self, method: Method[Any]) -> None:
        self.decode = ParamsDecoder(method.params).decode
        self.params: type[msgspec.Struct] = method.params
        self.handler = method.handler
        self.name = method.name
        self.scope = method.scope
        self.looks_first = method.looks_first
        self.socket_only = method.socket_only
        self.serial = method.serial


class Dispatcher:
    """Carries out requests by a fixed set of methods."""

    def __init__(self, methods: Iterable[Method[Any]], limits: Limits, now: Now = time.monotonic_ns) -> None:
        """Serve `methods`; raises ValueError if two share a name, TypeError if one has unfit params."""
        self._limits = limits
        self.meters = Meters(limits, now)
        """Who has sent how much."""
        self._entries: dict[str, _Entry] = {}
        for method in methods:
            if method.name in self._entries:
                raise ValueError(f"two methods are called {method.name}")
            self._entries[method.name] = _Entry(method)
        self.tally = Tally(self._entries)
        """What was called, for the metrics."""
        self._swift = {swift(entry.name, entry.params): entry for entry in self._entries.values()}
        self._decode = swift_decoder(self._swift)

    def receive(self, text: str, connection: Connection) -> Awaitable[None] | None:
        """Carry out a frame; the answers go into the connection's outbox as they come.

        What is returned, if anything, must be awaited before the connection's next frame is received.
        """
        if frames.is_ordinary(text):
            try:
                request = self._decode(text)
            except msgspec.DecodeError:
                # Whatever it is, what follows finds out.
                pass
            else:
                ident = request.ident()
                if ident is not None:
                    entry = self._swift[request.__class__]
                    return self._begin(connection, ident, entry, request.params)
        message = self._read(text)
        if isinstance(message, Request):
            ident = id_text(message.id)
            if ident is not None:
                return self._begin(connection, ident, self._entries.get(message.method), message.params)
            message = self._refusal(NULL, InvalidRequest(_WRONG_ID))
        elif isinstance(message, list):
            return self._receive_batch(message, connection)
        connection.send(message)
        return None if _admit_unreadable(connection.meter) else _rest(connection)

    def _begin(
        self, connection: Connection, ident: str, entry: _Entry | None, params: object
    ) -> Awaitable[None] | None:
        """Carry out a request that came by itself, as `receive` does."""
        connection.pending += 1
        call = Call(
            "", connection, connection.caller, connection.address, ident, connection.reply, self.tally
        )
        retry_after = connection.meter.admit()
        if retry_after:
            _turn_away(call, entry, params, retry_after, connection.meter)
            return _rest(connection)
        outcome = self._start(entry, call, params)
        if outcome is None:
            return None
        assert entry is not None, "or the call would have been refused"
        if entry.serial:
            return call.finish(outcome)
        if isinstance(outcome, asyncio.Future):
            outcome.add_done_callback(call.settle)
        else:
            connection.spawn(call.finish(outcome))
        return None

    async def respond(
        self,
        body: bytes,
        caller: Caller | None,
        address: str,
        meter: Meter,
        excuse: RpcError | None = None,
    ) -> str | None:
        """Carry out a message that came without a connection; return the answer, or None if it gets none.

        It counts in `meter`. With an `excuse` nothing is carried out, and every request is answered with it.
        """

        async def answer(request: Request) -> str | None:
            return await self._answer(request, None, caller, address, meter, excuse)

        try:
            message = self._read(body.decode())
        except UnicodeDecodeError:
            message = self._refusal(NULL, ParseError())
        if isinstance(message, Request):
            return await answer(message)
        if isinstance(message, list):
            return await self._answer_all(message, answer, meter)
        _admit_unreadable(meter)
        return message

    def _read(self, text: str) -> Request | list[msgspec.Raw] | str:
        """Decode a frame to a request or the members of a batch. What is neither gives the answer it gets."""
        try:
            if not frames.is_ordinary(text):
                frames.check(text, self._limits)
            message = decode_message(text)
        except RpcError as error:
            return self._refusal(NULL, error)
        except msgspec.DecodeError:
            if not is_json(text):
                return self._refusal(NULL, ParseError())
            return self._refusal(salvage_id(text), InvalidRequest())
        if isinstance(message, list) and not 0 < len(message) <= self._limits.batch:
            return self._refusal(NULL, InvalidRequest(f"A batch has 1 to {self._limits.batch} messages."))
        return message

    def _start(self, entry: _Entry | None, call: Call, params: object) -> Awaitable[object] | None:
        """Check a request and run its handler; return what is left to await, None if it answers by itself.

        Args:
            entry: its method, None if there is no such method.
            call: to be answered.
            params: what came, undecoded as a Raw, or decoded already.
        """
        try:
            if entry is None:
                raise _earlier_fault(params) or MethodNotFound()
            call.method = name = entry.name
            self.tally.calls[name] += 1
            scope, caller = entry.scope, call.caller
            if caller is not None and caller.revoked:
                call.caller = caller = None
            if scope is not None and caller is None:
                raise _earlier_fault(params) or Unauthenticated()
            if params.__class__ is msgspec.Raw:
                params = entry.decode(cast("msgspec.Raw", params))
            if scope and not entry.looks_first:
                call.require(scope)
            if entry.socket_only and call.connection is None:
                raise NotAllowed("This method needs a WebSocket; connect to /ws.")
            outcome = entry.handler(call, params)
            if outcome is LATER:
                return None
            if isinstance(outcome, _AWAITED):
                return cast("Awaitable[object]", outcome)
            call.answer(outcome)
        except Exception as error:  # noqa: BLE001 - a call is the outermost boundary, and `fail` logs
            call.fail(error)
        return None

    async def _answer(
        self,
        request: Request,
        connection: Connection | None,
        caller: Caller | None,
        address: str,
        meter: Meter,
        excuse: RpcError | None = None,
    ) -> str | None:
        """Carry out one request to its end, and return its answer instead of sending it."""
        ident = id_text(request.id)
        retry_after = meter.admit()
        if ident is None:
            if retry_after:
                meter.refused()
            return self._refusal(NULL, InvalidRequest(_WRONG_ID))
        done: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def reply(text: str | None) -> None:
            if not done.done():
                done.set_result(text)

        call = Call("", connection, caller, address, ident, reply, self.tally)
        entry = self._entries.get(request.method)
        if retry_after:
            _turn_away(call, entry, request.params, retry_after, meter)
        elif excuse is not None:
            call.refuse(excuse)
        else:
            outcome = self._start(entry, call, request.params)
            if outcome is not None:
                await call.finish(outcome)
        return await done

    async def _answer_all(
        self,
        members: list[msgspec.Raw],
        answer: Callable[[Request], Awaitable[str | None]],
        meter: Meter,
    ) -> str | None:
        """Carry out the members of a batch one after another by `answer`, and return their answers."""
        answers: list[str] = []
        for raw in members:
            try:
                request = decode_request(raw)
            except msgspec.DecodeError:
                _admit_unreadable(meter)
                text = self._refusal(salvage_id(raw), InvalidRequest())
            else:
                text = await answer(request)
            if text is not None:
                answers.append(text)
        return f"[{','.join(answers)}]" if answers else None

    async def _receive_batch(self, members: list[msgspec.Raw], connection: Connection) -> None:
        """Carry out a batch; whatever else is sent meanwhile follows its answer."""

        async def answer(request: Request) -> str | None:
            # A member may change whom the connection acts for from the next one on.
            return await self._answer(request, connection, connection.caller, connection.address, meter)

        meter = connection.meter
        connection.begin_batch()
        connection.end_batch(await self._answer_all(members, answer, meter))
        if pause := meter.pause():
            await connection.rest(pause)

    def _refusal(self, ident: str, error: RpcError) -> str:
        """Count an error that belongs to no method, and encode it."""
        self.tally.errors["", error.kind] += 1
        return error_answer(ident, error)


def _turn_away(call: Call, entry: _Entry | None, params: object, retry_after: int, meter: Meter) -> None:
    """Answer a request that came too early."""
    meter.refused()
    call.method = entry.name if entry is not None else ""
    call.refuse(_earlier_fault(params) or RateLimited(retry_after))


def _admit_unreadable(meter: Meter) -> bool:
    """Count what was no request, which is answered as such even if it comes too early."""
    admitted = not meter.admit()
    if not admitted:
        meter.refused()
    return admitted


def _rest(connection: Connection) -> Awaitable[None] | None:
    """Return what is to be awaited before more is read of one who was refused, if anything."""
    pause = connection.meter.pause()
    return connection.rest(pause) if pause else None


def _earlier_fault(params: object) -> InvalidRequest | None:
    """Return the error that comes before any other of a request's, if it has it.

    Params that are neither object nor array make it no request. This is looked at only where they are not
    decoded, since decoding finds it too.
    """
    undecoded = isinstance(params, msgspec.Raw)
    return InvalidRequest() if undecoded and bytes(params)[:1] not in {b"{", b"["} else None
