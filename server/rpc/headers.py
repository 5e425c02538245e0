"""What the RPC endpoints read from the head of a request or handshake."""

from starlette.datastructures import Headers
from starlette.types import Scope


def bearer_token(scope: Scope) -> str | None:
    """Return the token of `Authorization: Bearer`, None without one. Whether it is valid is not checked."""
    scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
    return (token.strip() or None) if scheme.lower() == "bearer" else None


def client_address(scope: Scope) -> str:
    """Return the client's address as text, "" if unknown. Proxies are accounted for before, if at all."""
    client = scope.get("client")
    return client[0] if client else ""
