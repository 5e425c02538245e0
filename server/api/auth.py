"""`auth.*`: whom calls act for."""

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, Struct

from server import wire
from server.auth import Auth, Caller
from server.quotas import Quotas
from server.rpc.call import Call
from server.rpc.connection import Connection
from server.rpc.errors import InvalidParams, Unauthenticated, Unavailable
from server.rpc.methods import Method, NoParams
from server.storing import storing
from server.timeline import wire_player


class GuestParams(Struct, forbid_unknown_fields=True):
    """A name for the guest; one is found where none is given. It need not be unique."""

    name: Annotated[str, Meta(min_length=1, max_length=32)] | None = None


class UseParams(Struct, forbid_unknown_fields=True):
    """A token."""

    token: str


def methods(
    auth: Auth, quotas: Quotas, revoked: Callable[[Caller], None], parted: Callable[[Connection], None]
) -> tuple[Method[Any], ...]:
    """Return the methods.

    Args:
        auth: where tokens are kept.
        quotas: counts the guests that are made.
        revoked: is told of whoever's token is no longer good.
        parted: is told of a connection that acts for another player from now on.
    """

    async def guest(call: Call, params: GuestParams) -> wire.Login:
        """Make a guest, who plays as anyone does, and a token for it."""
        name = params.name
        if name is not None and (not name.isprintable() or name != name.strip()):
            raise InvalidParams("/name", "A name is 1 to 32 printable characters, with no space around it.")
        await quotas.guest(call.address)
        with storing():
            token, player = await auth.guest(name)
        return wire.Login(token, wire_player(player))

    async def use(call: Call, params: UseParams) -> wire.Acting:
        """Let the connection act for a token's player from here on.

        What it subscribed to for another player ends, since the new one may not be allowed to see it.
        """
        caller = await auth.find(params.token)
        if caller is None:
            raise Unauthenticated("This token is unknown, expired or revoked; get another one by auth.guest.")
        assert call.connection is not None, "the method is for sockets only"
        former = call.connection.caller
        call.connection.caller = caller
        call.connection.meter.act_for(caller.key)
        if isinstance(former, Caller) and former.player.id != caller.player.id:
            parted(call.connection)
        return wire.Acting(wire_player(caller.player), sorted(caller.scopes))

    async def logout(call: Call, _params: NoParams) -> wire.Empty:
        """Revoke the token that the call is made with, whatever its scopes are."""
        caller = call.caller
        assert isinstance(caller, Caller), "the method has a scope"
        with storing():
            await auth.revoke(caller)
        revoked(caller)
        return wire.Empty()

    known = (Unauthenticated, Unavailable)
    return (
        Method("auth.guest", GuestParams, wire.Login, guest, errors=(Unavailable,)),
        Method("auth.use", UseParams, wire.Acting, use, errors=known, socket_only=True, serial=True),
        Method("auth.logout", NoParams, wire.Empty, logout, "", (Unavailable,), serial=True),
    )
