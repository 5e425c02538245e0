import asyncpg
import pytest
from sqlalchemy import exc

from server.store.errors import StoreUnavailable, is_away, store_errors


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        ConnectionResetError(),
        FileNotFoundError("no such socket"),
        TimeoutError(),
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress"),
        asyncpg.AdminShutdownError("terminating connection due to administrator command"),
        asyncpg.CrashShutdownError("crash"),
        asyncpg.CannotConnectNowError("the database system is starting up"),
        asyncpg.TooManyConnectionsError("sorry, too many clients already"),
        asyncpg.QueryCanceledError("canceling statement due to statement timeout"),
        asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT in a read-only transaction"),
        asyncpg.DeadlockDetectedError("deadlock detected"),
        exc.TimeoutError("QueuePool limit reached"),
        exc.DBAPIError("SELECT 1", None, asyncpg.ConnectionFailureError("gone")),
        StoreUnavailable(),
    ],
    ids=repr,
)
def test_the_database_is_away(error: Exception) -> None:
    assert is_away(error)
    with pytest.raises(StoreUnavailable), store_errors():
        raise error


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.UndefinedTableError('relation "evnets" does not exist'),
        asyncpg.UniqueViolationError("duplicate key"),
        asyncpg.DataError("invalid input for query argument $1"),
        asyncpg.InterfaceError("cannot perform operation: another operation is in progress"),
        exc.IntegrityError("INSERT", None, asyncpg.ForeignKeyViolationError("no such player")),
        exc.NoResultFound("No row was found"),
        ValueError("not the store's at all"),
    ],
    ids=repr,
)
def test_mistakes_of_ours_are_not(error: Exception) -> None:
    assert not is_away(error)
    with pytest.raises(type(error)) as caught, store_errors():
        raise error
    assert caught.value is error
