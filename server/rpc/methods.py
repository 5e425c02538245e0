"""What a method is. The registry is a tuple of these."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from server.rpc.call import Call
from server.rpc.errors import RpcError

P = TypeVar("P", bound=msgspec.Struct)


class NoParams(msgspec.Struct, forbid_unknown_fields=True):
    """The params of a method that takes none."""


@dataclass(frozen=True, slots=True)
class Method(Generic[P]):
    """One method, as data: what it takes, gives, needs and does."""

    name: str
    """Its name on the wire, such as `session.move`."""
    params: type[P]
    """A Struct with `forbid_unknown_fields` whose optional fields are all `T | None = None`.

    The order of the fields is that of params by position."""
    result: object
    """The type of the result, anything that msgspec describes; the OpenRPC document shows it."""
    handler: Callable[[Call, P], object]
    """Carries a call out: returns the result, or a future or coroutine of it.

    The result is of the type above, a Raw of its JSON, or `LATER`. A plain result or a future costs no task.
    An `RpcError` raised or set is the answer; any other exception is an internal error. The docstring's first
    line is the method's summary."""
    scope: str | None = None
    """What the caller's token must have, "" if any token will do, None if the method needs none."""
    errors: tuple[type[RpcError], ...] = ()
    """What it may answer besides the errors that any call may get."""
    socket_only: bool = False
    """Whether it makes no sense over HTTP, which then answers `not_allowed`."""
    serial: bool = False
    """Whether nothing of its connection that came later may begin before it is answered."""
    looks_first: bool = False
    """Whether the handler calls `Call.require` by itself, since it must say `not_found` before `forbidden`.

    Without a token it is refused beforehand all the same."""

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0]
