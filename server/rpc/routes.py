"""The addresses of the RPC layer: `/ws`, `/rpc` and `/openrpc.json`."""

from typing import Final

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from server.rpc.http import HttpEndpoint
from server.rpc.socket import SocketEndpoint

# Any web page may call, since nothing here is authenticated by what a browser sends on its own.
_ANY_ORIGIN: Final = Middleware(
    CORSMiddleware,
    allow_origins=("*",),
    allow_methods=("GET", "HEAD", "POST"),
    allow_headers=("Authorization", "Content-Type"),
)


def rpc_routes(socket: SocketEndpoint, http: HttpEndpoint, document: bytes) -> list[BaseRoute]:
    """Return the routes of both endpoints and of the OpenRPC `document`."""
    return [
        WebSocketRoute("/ws", socket),
        Route("/rpc", http, middleware=[_ANY_ORIGIN]),
        Route("/openrpc.json", _Document(document), middleware=[_ANY_ORIGIN]),
    ]


class _Document:
    """An ASGI application that answers every GET with the same JSON.

    A class, because Starlette would keep a function's route from seeing the preflights meant for CORS.
    """

    def __init__(self, document: bytes) -> None:
        self._document = document

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in {"GET", "HEAD"}:
            response = Response(self._document, media_type="application/json")
        else:
            response = PlainTextResponse("Get it by GET.\n", 405, {"allow": "GET, HEAD"})
        await response(scope, receive, send)
