"""The server's settings: read once from the environment, checked, and frozen.

Everything a deployment may choose is an environment variable, and what it may not choose is a constant here.
A variable that is misspelt or out of range stops the server at start rather than being ignored.
"""

import difflib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import platformdirs

Network: TypeAlias = IPv4Network | IPv6Network
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

LIMIT_PREFIX: Final = "PATIENCE_LIMIT_"

_POSTGRES_SCHEMES: Final = ("postgresql://", "postgres://")
_REDIS_SCHEMES: Final = ("redis://", "rediss://", "unix://")
_DAY_MS: Final = 24 * 60 * 60 * 1000


class ConfigError(Exception):
    """A setting cannot be used; the text names the variable and says what to do about it."""


def _promised(value: int) -> int:
    """Return a limit that the protocol promises to clients, which no setting may change."""
    return field(default=value, init=False)


def _limit(value: int, low: int, high: int) -> int:
    """Return a limit that is `value` unless its variable sets it within `low` and `high`, both included."""
    return field(default=value, metadata={"low": low, "high": high})


@dataclass(frozen=True, slots=True)
class Limits:
    """Every bound the server puts on its clients and on itself, all finite.

    A field is set by the variable `PATIENCE_LIMIT_` and its name in capitals, except for those that the
    protocol promises. Making one with a value out of range raises `ConfigError`.
    """

    frame_bytes: int = _promised(16_384)
    """Bytes of a frame or body above which it is refused (promised by the protocol)."""
    record_bytes: int = _promised(524_288)
    """The same for a single `record.*` call (promised)."""
    hard_bytes: int = _promised(1_048_576)
    """Bytes of a frame or body above which the connection is closed (promised)."""
    depth: int = _promised(32)
    """How deep JSON may be nested (promised)."""
    batch: int = _promised(32)
    """Messages in one batch (promised)."""
    session_events: int = _promised(5_000)
    """Moves and undos that one session takes (promised)."""
    page_events: int = _promised(1_000)
    """Events in one answer to a `since` (promised)."""
    pending_calls: int = _limit(64, 1, 10_000)
    """Calls of one connection that may wait for an answer before it is read no further."""
    outbox_messages: int = _limit(1_024, 1, 1_000_000)
    """Messages that may wait for a slow reader before its connection is closed."""
    outbox_bytes: int = _limit(4_194_304, 65_536, 1_073_741_824)
    """Bytes that may wait for a slow reader before its connection is closed."""
    subscriptions: int = _limit(256, 1, 100_000)
    """Sessions that one connection may be subscribed to."""
    cached_sessions: int = _limit(10_000, 1, 10_000_000)
    """Live sessions that a process keeps in memory."""
    cached_events: int = _limit(1_000_000, 1, 1_000_000_000)
    """Events that the sessions in memory may have in all. A session takes 11 to 23 KiB, and 0.3 to 0.5 KiB
    more for each event, so with both defaults that is about half a GiB."""
    journal_rows: int = _limit(1_000, 1, 30_000)
    """Events in one commit at most."""
    journal_waiting: int = _limit(20_000, 1, 1_000_000)
    """Events that may wait for a commit; further moves are answered `unavailable`."""
    store_timeout_ms: int = _limit(5_000, 10, 600_000)
    """How long a store may take to answer before it counts as down."""
    drain_ms: int = _limit(10_000, 0, 600_000)
    """How long a stopping server waits for what is in flight."""
    notice_ms: int = _limit(5_000, 0, 600_000)
    """How long a server that is told to stop goes on as before if somebody watches `/readyz`."""
    connections: int = _limit(10_000, 1, 1_000_000)
    """Connections open at the same time in one process."""
    address_connections: int = _limit(1_000, 1, 1_000_000)
    """Connections open at the same time in one process from one address."""
    connection_rate: int = _limit(100, 1, 1_000_000)
    """Messages a second that one connection may send, in the long run."""
    connection_burst: int = _limit(400, 1, 1_000_000)
    """Messages that it may send at once."""
    player_rate: int = _limit(200, 1, 1_000_000)
    """Messages a second that one player may send to one process, on all connections."""
    player_burst: int = _limit(800, 1, 1_000_000)
    """Messages that a player may send at once."""
    address_rate: int = _limit(2_000, 1, 1_000_000)
    """Messages a second that may come to one process from one address, where a whole school may be."""
    address_burst: int = _limit(8_000, 1, 1_000_000)
    """Messages that may come from one address at once."""
    guests_hourly: int = _limit(600, 1, 1_000_000_000)
    """Guests an hour that may be made from one address, over all processes."""
    guests_burst: int = _limit(600, 1, 1_000_000)
    """Guests that may be made from one address at once."""
    sessions_hourly: int = _limit(2_000, 1, 1_000_000_000)
    """Sessions an hour that one player may create, over all processes."""
    sessions_burst: int = _limit(200, 1, 1_000_000)
    """Sessions that a player may create at once."""
    address_sessions_hourly: int = _limit(20_000, 1, 1_000_000_000)
    """Sessions an hour that may be created from one address, over all processes."""
    address_sessions_burst: int = _limit(2_000, 1, 1_000_000)
    """Sessions that may be created from one address at once."""
    open_sessions: int = _limit(1_000, 1, 1_000_000)
    """Casual sessions that a player may have going on at the same time."""
    idle_ms: int = _limit(30 * _DAY_MS, 1, 3_650 * _DAY_MS)
    """How long a casual session may go without an event before it expires."""

    def __post_init__(self) -> None:
        """Check every limit that can be set against its range."""
        for limit in fields(self):
            if limit.init:
                value: int = getattr(self, limit.name)
                _check_range(limit_variable(limit.name), value, limit.metadata["low"], limit.metadata["high"])

    def as_dict(self) -> dict[str, int]:
        """Return each limit's name with its number, as `server.info` shows them."""
        return asdict(self)


def limit_variable(name: str) -> str:
    """Return the environment variable that sets the limit called `name`."""
    return LIMIT_PREFIX + name.upper()


@dataclass(frozen=True, slots=True)
class Settings:
    """What one server process runs with.

    The addresses of the stores may hold passwords, so they are left out of the repr; do not log them either.
    """

    host: str
    """The address to listen on."""
    port: int
    """The TCP port to listen on; 0 takes any free one."""
    home: Path
    """The absolute folder of everything that the embedded stores keep; unused with stores of one's own."""
    database_url: str | None = field(repr=False)
    """A `postgresql://` address with any of libpq's parameters, or None for the embedded PostgreSQL."""
    redis_url: str | None = field(repr=False)
    """A `redis://`, `rediss://` or `unix://` address, or None for the embedded Valkey."""
    trusted_proxies: tuple[Network, ...]
    """From where a forwarded client address is believed."""
    log_level: LogLevel
    """The least severe level that is logged."""
    workers: int
    """How many processes serve behind the port; 1 is this process alone."""
    limits: Limits

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the settings from `environ`; a variable that is empty counts as not set.

        Raises `ConfigError` for a value that cannot be used, for a `PATIENCE_` variable that does not exist,
        and if only one of the two stores is given. Of the stores' addresses only the scheme is checked.
        """
        given = {name: value for name, value in environ.items() if value}
        _refuse_unknown(given)
        database_url = _address(given, "DATABASE_URL", _POSTGRES_SCHEMES)
        redis_url = _address(given, "REDIS_URL", _REDIS_SCHEMES)
        if (database_url is None) != (redis_url is None):
            raise ConfigError(
                f"only {'REDIS_URL' if database_url is None else 'DATABASE_URL'} is set: "
                "set DATABASE_URL and REDIS_URL to use your own stores, or neither to run the embedded ones"
            )
        return cls(
            host=given.get("PATIENCE_HOST", "127.0.0.1"),
            port=_port(given, "PATIENCE_PORT"),
            home=_home(given),
            database_url=database_url,
            redis_url=redis_url,
            trusted_proxies=_networks(given, "PATIENCE_TRUSTED_PROXIES"),
            log_level=_log_level(given, "PATIENCE_LOG_LEVEL"),
            workers=_workers(given, "PATIENCE_WORKERS"),
            limits=_limits(given),
        )


_VARIABLES: Final = (
    "PATIENCE_HOST",
    "PATIENCE_PORT",
    "PATIENCE_HOME",
    "PATIENCE_TRUSTED_PROXIES",
    "PATIENCE_LOG_LEVEL",
    "PATIENCE_WORKERS",
    *(limit_variable(limit.name) for limit in fields(Limits) if limit.init),
)
_PROMISED: Final = frozenset(limit_variable(limit.name) for limit in fields(Limits) if not limit.init)


def _refuse_unknown(given: Mapping[str, str]) -> None:
    """Raise `ConfigError` if there is a `PATIENCE_` variable that means nothing."""
    for name in sorted(given):
        if name in _PROMISED:
            raise ConfigError(f"{name} cannot be set: the protocol promises this limit to clients; unset it")
        if name.startswith("PATIENCE_") and name not in _VARIABLES:
            # What all names have in common is left out, or everything would look alike.
            known = {variable.removeprefix("PATIENCE_"): variable for variable in _VARIABLES}
            close = difflib.get_close_matches(name.removeprefix("PATIENCE_"), known, n=1)
            advice = f"did you mean {known[close[0]]}?" if close else "unset it"
            raise ConfigError(f"{name} is not a setting: {advice}")


def _address(given: Mapping[str, str], name: str, schemes: tuple[str, ...]) -> str | None:
    """Return the address in `name`; a wrong one is not repeated, since it may hold a password."""
    value = given.get(name)
    if value is not None and not value.startswith(schemes):
        raise ConfigError(f"{name} must begin with {' or '.join(schemes)}")
    return value


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} is {value}; give a number from {low} to {high}")


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{name} is {text!r}; give a whole number") from None


def _port(given: Mapping[str, str], name: str) -> int:
    port = _integer(name, given.get(name, "8000"))
    _check_range(name, port, 0, 65_535)
    return port


def _workers(given: Mapping[str, str], name: str) -> int:
    workers = _integer(name, given.get(name, "1"))
    _check_range(name, workers, 1, 256)
    return workers


def _home(given: Mapping[str, str]) -> Path:
    """Return where the embedded stores live: a system folder for root, otherwise the user's own."""
    if "PATIENCE_HOME" in given:
        return Path(given["PATIENCE_HOME"]).expanduser().absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/patience-arena")
    return platformdirs.user_data_path("patience-arena", appauthor=False)


def _networks(given: Mapping[str, str], name: str) -> tuple[Network, ...]:
    parts = (part.strip() for part in given.get(name, "").split(","))
    try:
        return tuple(ip_network(part) for part in parts if part)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}; give networks like 10.0.0.0/8, with commas between") from None


def _log_level(given: Mapping[str, str], name: str) -> LogLevel:
    value = given.get(name, "info").lower()
    for level in get_args(LogLevel):
        if value == level:
            return level
    raise ConfigError(f"{name} is {value!r}; give one of {', '.join(get_args(LogLevel))}")


def _limits(given: Mapping[str, str]) -> Limits:
    settable = ((limit.name, limit_variable(limit.name)) for limit in fields(Limits) if limit.init)
    return Limits(
        **{name: _integer(variable, given[variable]) for name, variable in settable if variable in given}
    )
