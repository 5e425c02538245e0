"""`POST /rpc`: the same calls over plain HTTP, one message or batch a request."""

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from server.config import Limits
from server.limits import Meter
from server.rpc.caller import Authenticate, Caller
from server.rpc.dispatch import Dispatcher
from server.rpc.errors import RateLimited, RpcError
from server.rpc.headers import bearer_token, client_address

BODY_SECONDS: Final = 10.0
"""How long a client may take to send its body."""

_DISCARDED: Final = 16
"""How many times the hard limit is read of a body that is too long, so that the client gets the answer."""

_MEDIA_TYPES: Final = frozenset({"", "application/json", "application/json-rpc", "application/jsonrequest"})


class _Refused(Exception):
    """The exchange is none of JSON-RPC."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class _Gone(Exception):
    """The client has gone before it sent all."""


class HttpEndpoint:
    """The ASGI application of the `/rpc` route."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        authenticate: Authenticate,
        limits: Limits,
        *,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        """Answer by `dispatcher`. A token that `authenticate` doesn't know acts for nobody."""
        self._dispatcher = dispatcher
        self._authenticate = authenticate
        self._limits = limits
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        try:
            response = await self._respond(scope, receive)
        except _Refused as refused:
            headers = {"connection": "close"} if refused.status in {408, 413} else {}
            if refused.status == 405:
                headers["allow"] = "POST"
            response = PlainTextResponse(refused.text + "\n", refused.status, headers)
        except _Gone:
            return
        await response(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "POST":
            raise _Refused(405, "Send JSON-RPC messages by POST.")
        media_type, _, parameters = Headers(scope=scope).get("content-type", "").partition(";")
        if media_type.strip().lower() not in _MEDIA_TYPES or not _is_utf8(parameters):
            raise _Refused(415, "Send application/json in UTF-8.")
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await self._read(receive)
        except TimeoutError:
            raise _Refused(408, "The body took too long to arrive.") from None
        address = client_address(scope)
        meter = self._dispatcher.meters.request(address)
        try:
            answer = await self._answer(body, bearer_token(scope), address, meter)
        finally:
            meter.close()
        if pause := meter.pause():
            await asyncio.sleep(pause)
        if answer is None:
            return Response(status_code=204)
        return Response(answer, media_type="application/json")

    async def _answer(self, body: bytes, token: str | None, address: str, meter: Meter) -> str | None:
        """Carry out what came, for whom the token stands for; return the answer, None if it gets none."""
        caller: Caller | None = None
        excuse: RpcError | None = None
        if retry_after := meter.retry_after():
            # Whose token it is need not be known.
            excuse = RateLimited(retry_after)
        elif token is not None:
            try:
                caller = await self._authenticate(token)
            except RpcError as error:
                excuse = error
        if caller is not None:
            meter.act_for(caller.key)
        return await self._dispatcher.respond(body, caller, address, meter, excuse)

    async def _read(self, receive: Receive) -> bytes:
        """Return the body; never holds more than the hard limit."""
        limit = self._limits.hard_bytes
        body = bytearray()
        size = 0
        more = True
        while more and size <= limit * _DISCARDED:
            event = await receive()
            if event["type"] == "http.disconnect":
                raise _Gone
            chunk: bytes = event.get("body", b"")
            more = event.get("more_body", False)
            size += len(chunk)
            if size <= limit:
                body += chunk
            else:
                body.clear()
        if size > limit:
            raise _Refused(413, f"The body is over {limit} bytes.")
        return bytes(body)


def _is_utf8(parameters: str) -> bool:
    """Whether the parameters of a media type name no other charset than UTF-8."""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() not in {"utf-8", "utf8"}:
            return False
    return True
