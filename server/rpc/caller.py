"""What the RPC layer needs to know of whoever calls."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Protocol, TypeAlias


class Caller(Protocol):
    """The player that a valid token stands for."""

    @property
    def key(self) -> Hashable:
        """What tells the player from all others."""
        ...

    @property
    def scopes(self) -> frozenset[str]:
        """What the token may be used for: `read`, `play`, `account`."""
        ...

    @property
    def revoked(self) -> bool:
        """Whether the token is good no longer: then it stands for nobody."""
        ...


Authenticate: TypeAlias = Callable[[str], Awaitable[Caller | None]]
"""Finds whom a token stands for, None if nobody; raises `Unavailable` while the store can't tell.

It has a time limit of its own."""
