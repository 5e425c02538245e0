"""What can go wrong with the store, and how a database that is away is told from a mistake of ours.

StoreError
├── StoreUnavailable    the database is away or overloaded; the same call may be made again
│   └── StoreRefused    it lets nobody of our name and password in, or does not exist
└── MigrationError      the database's schema and this program don't fit together
"""

import contextlib
from collections.abc import Generator
from typing import Final

import asyncpg
from sqlalchemy import exc


class StoreError(Exception):
    """The root of the store's errors; `kind` is stable."""

    kind = "store"


class StoreUnavailable(StoreError):
    """The database could not be asked, or its answer was lost: a change may or may not have been made."""

    kind = "unavailable"

    def __init__(self, reason: str = "the database cannot be reached") -> None:
        """`reason` is for the log: it names no host, statement or value."""
        super().__init__(reason)


class StoreRefused(StoreUnavailable):
    """The database server is there, and does not let us in; the text is its own and names no password."""


class MigrationError(StoreError):
    """The schema cannot be brought to this program's version; the text says why and what to do."""

    kind = "migration"


# SQLSTATEs (PostgreSQL manual, appendix A) that tell of the server's or the network's state, not of our
# statement.
_AWAY_CLASSES: Final = (
    "08",  # connection exceptions
    "40",  # the transaction was rolled back: a deadlock, a serialization failure
    "53",  # out of memory, disk or connections
    "58",  # the server's own I/O errors
)
_AWAY_STATES: Final = frozenset(
    {
        "25006",  # read only: the primary has become a standby
        "25P03",  # idle in transaction for too long: we were stopped in the middle
        "25P04",  # transaction timeout
        "55P03",  # a lock could not be had in time
        "57014",  # cancelled, or out of time
        "57P01",  # the server is shutting down, or an administrator has ended the connection
        "57P02",  # the server is recovering from a crash
        "57P03",  # the server is starting up
        "57P05",  # idle for too long
    }
)

_DRIVER_ERRORS: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


def _cause(error: BaseException) -> BaseException | None:
    if isinstance(error, exc.DBAPIError) and error.orig is not None:
        return error.orig
    return error.__cause__


def is_away(error: BaseException) -> bool:
    """Whether an error of asyncpg, SQLAlchemy or the operating system means that the database is away.

    False for mistakes of ours: wrong statements, values that don't fit, constraints that are broken.
    """
    while True:
        if isinstance(error, StoreUnavailable | OSError | exc.TimeoutError | exc.DisconnectionError):
            # The built-in TimeoutError is an OSError.
            return True
        sqlstate: object = getattr(error, "sqlstate", None)
        if isinstance(sqlstate, str) and sqlstate:
            return sqlstate in _AWAY_STATES or sqlstate.startswith(_AWAY_CLASSES)
        if isinstance(error, asyncpg.InternalClientError):
            # The driver was given the server's last words just as it began to speak itself.
            return True
        if isinstance(error, asyncpg.InterfaceError) and "connection is closed" in str(error):
            # asyncpg has no class of its own for that.
            return True
        cause = _cause(error)
        if cause is None:
            return False
        error = cause


def _hide_details(error: BaseException | None) -> None:
    """Take away PostgreSQL's DETAIL, which quotes the row at fault, seeds included."""
    while error is not None:
        if isinstance(vars(error).get("detail"), str):
            # asyncpg's error has it, and so has the copy that SQLAlchemy makes of that.
            vars(error)["detail"] = None
        error = _cause(error)


@contextlib.contextmanager
def store_errors() -> Generator[None]:
    """Turn errors that mean "the database is away" into `StoreUnavailable`; all others pass through.

    Those lose their DETAIL on the way, so that no value of a row gets into a log.
    """
    try:
        yield
    except (*_DRIVER_ERRORS, exc.SQLAlchemyError, OSError) as error:
        if is_away(error):
            raise StoreUnavailable(type(error).__name__) from error
        _hide_details(error)
        raise
