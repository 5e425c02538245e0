"""What a store that is away means to whoever called."""

import contextlib
from collections.abc import Generator

from server.rpc.errors import Unavailable
from server.store.errors import StoreUnavailable


@contextlib.contextmanager
def storing() -> Generator[None]:
    """Answer `unavailable` where the store is away: the call may be sent again."""
    try:
        yield
    except StoreUnavailable:
        raise Unavailable from None
