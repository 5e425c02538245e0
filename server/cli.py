"""`patience`: the command that serves, migrates and plays."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final, NoReturn, cast

import structlog
from cyclopts import App, Parameter

from clients.python import DEFAULT_URL
from clients.terminal.play import play
from server import logs
from server.app import Arena
from server.config import ConfigError, Settings
from server.embedded import EmbeddedError, EmbeddedStores
from server.serving import listen, serve, stop_seconds
from server.store.errors import MigrationError, StoreError, StoreRefused, StoreUnavailable
from server.store.migrate import PATIENCE_SECONDS, pending, upgrade
from server.terminal import Terminal
from server.workers import Channel, Crew, Pace, serve_on_duty, worker_command

app: Final = App(
    name="patience", help="Patience games on an authoritative server.", version=version("patience-arena")
)
_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)

_START_SECONDS: Final = 60.0
"""How long a worker may take to be ready."""
_EMBEDDED_WORKERS: Final = 10
"""How many workers the 100 connections of the embedded PostgreSQL are enough for, and one more that comes for
one that goes."""


def _fail(reason: object) -> NoReturn:
    """End with a reason that a person can do something about."""
    print(f"patience: {reason}", file=sys.stderr)
    raise SystemExit(1)


def _stop(*_: object) -> NoReturn:
    """End in good order when told to before there is anything to drain."""
    raise SystemExit(0)


def _hang_up(terminal: Terminal) -> Callable[..., None]:
    """Return what does the same if the terminal was closed, and nothing otherwise."""

    def hang_up(*_: object) -> None:
        if terminal.gone:
            _stop()

    return hang_up


def _announce(listener: socket.socket) -> None:
    """Say where the server is to be found, now that it is there."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(f"Patience Arena serves at http://{shown}:{port} (WebSocket: ws://{shown}:{port}/ws)", flush=True)


def _check_schema(database_url: str) -> None:
    """End unless the database is at this version's schema, or at a newer one, which is made to bear this one.

    Raises:
        StoreUnavailable: it cannot be reached.
    """
    try:
        behind = pending(database_url)
    except MigrationError:
        return
    if behind:
        _fail("the database at DATABASE_URL is not at this version's schema; run patience migrate first")


def _loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop's where there is one, which is everywhere but on Windows."""
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    return cast("asyncio.AbstractEventLoop", import_module("uvloop").new_event_loop())


def _run(settings: Settings, listener: socket.socket, database_url: str, redis_url: str) -> None:
    """Serve in this process until told to stop."""
    arena = Arena(database_url, redis_url, settings.limits)
    with asyncio.Runner(loop_factory=_loop) as runner:
        if not runner.run(serve(arena, settings, listener, lambda: _announce(listener))):
            _fail("the server could not start; the log says why")


def _run_workers(
    settings: Settings, listener: socket.socket, environ: Mapping[str, str], *options: str
) -> None:
    """Serve in several processes, started with these options, until told to stop."""
    notice = settings.limits.notice_ms / 1000
    # A new worker may have to migrate the embedded database first.
    start = _START_SECONDS + (PATIENCE_SECONDS if settings.database_url is None else 0)
    pace = Pace(notice=notice, stop=stop_seconds(settings.limits) - notice, start=start)

    async def run() -> bool:
        crew = Crew(listener, settings.workers, [*worker_command(), *options], environ, pace)
        return await crew.run(lambda: _announce(listener))

    with asyncio.Runner(loop_factory=_loop) as runner:
        if not runner.run(run()):
            _fail("the workers could not start; the lines above say why")


@contextmanager
def _complaints() -> Generator[None]:
    """End with a line about what is in the way of serving."""
    try:
        yield
    except StoreRefused as error:
        _fail(error)
    except StoreUnavailable as error:
        _fail(f"the database cannot be reached ({error})")
    except (ConfigError, EmbeddedError, StoreError) as error:
        _fail(error)


@app.command(name="serve")
def serve_command(
    *,
    host: Annotated[str | None, Parameter(help="The address to listen on (PATIENCE_HOST).")] = None,
    port: Annotated[int | None, Parameter(help="The port, 0 for any free one (PATIENCE_PORT).")] = None,
    workers: Annotated[
        int | None, Parameter(help="How many processes serve behind the port (PATIENCE_WORKERS).")
    ] = None,
) -> None:
    """Serve games, on stores of its own unless DATABASE_URL and REDIS_URL are set."""
    options = {"PATIENCE_HOST": host, "PATIENCE_PORT": port, "PATIENCE_WORKERS": workers}
    environ = dict(os.environ) | {name: str(value) for name, value in options.items() if value is not None}
    with _complaints(), ExitStack() as stack:
        settings = Settings.from_env(environ)
        logs.configure(settings.log_level)
        signal.signal(signal.SIGTERM, _stop)
        signal.signal(signal.SIGHUP, _hang_up(Terminal()))
        embedded = settings.database_url is None
        if embedded and settings.workers > _EMBEDDED_WORKERS:
            _fail(
                f"the embedded PostgreSQL has connections for {_EMBEDDED_WORKERS} workers: "
                "take fewer, or set DATABASE_URL and REDIS_URL to use your own stores"
            )
        try:
            listener = stack.enter_context(listen(settings))
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            _fail(f"cannot listen on {where}: {error.strerror}; choose another --host or --port")
        database_url, redis_url = settings.database_url, settings.redis_url
        if database_url is None or redis_url is None:
            _log.info("embedded stores start", home=str(settings.home))
            stores = stack.enter_context(EmbeddedStores(settings.home))
            database_url, redis_url = stores.database_url, stores.redis_url
            upgrade(database_url)
        else:
            _check_schema(database_url)
        if settings.workers == 1:
            _run(settings, listener, database_url, redis_url)
        else:
            environ |= {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
            _run_workers(settings, listener, environ, *(["--migrate"] if embedded else []))


@app.command(name="worker", show=False)
def worker(*, number: int, channel: int, migrate: bool = False) -> None:
    """Serve what the parent sends, on the stores that it names. It is the parent that runs this."""
    with _complaints():
        settings = Settings.from_env(os.environ)
        logs.configure(settings.log_level, number)
        database_url, redis_url = settings.database_url, settings.redis_url
        if database_url is None or redis_url is None:
            _fail("a worker is run by patience serve alone")
        # The code may be newer than that of the parent, which has seen to the schema at its start.
        if migrate:
            upgrade(database_url)
        else:
            _check_schema(database_url)
        arena = Arena(database_url, redis_url, settings.limits)
        with asyncio.Runner(loop_factory=_loop) as runner:
            if not runner.run(serve_on_duty(arena, settings, Channel.inherited(channel))):
                _fail(f"worker {number} could not start; the log says why")


@app.command(name="play")
def play_command(
    game: Annotated[str | None, Parameter(help="What to play, such as klondike.")] = None,
    *,
    url: Annotated[str, Parameter(help="The server's WebSocket address.")] = DEFAULT_URL,
    seed: Annotated[str | None, Parameter(help="The deal to play; it is not ranked then.")] = None,
    option: Annotated[
        list[str] | None, Parameter(help="An option of the game as name=value.", negative="")
    ] = None,
    session: Annotated[str | None, Parameter(help="A session to take up again.")] = None,
    token_file: Annotated[Path | None, Parameter(help="Where the player's token is kept.")] = None,
) -> None:
    """Play in line mode, at a terminal or through a pipe."""
    raise SystemExit(
        play(game, url=url, seed=seed, options=option or (), session=session, token_file=token_file)
    )


@app.command
def migrate() -> None:
    """Bring the database at DATABASE_URL to this version's schema."""
    try:
        # Redis has no part in this, so its address may be missing.
        environ = {"REDIS_URL": "redis://"} | os.environ if "DATABASE_URL" in os.environ else os.environ
        settings = Settings.from_env(environ)
        logs.configure(settings.log_level)
        if settings.database_url is None:
            _fail("set DATABASE_URL; an embedded database is migrated when the server starts")
        upgrade(settings.database_url)
        print("The database is at this version's schema.")
    except StoreRefused as error:
        _fail(error)
    except StoreUnavailable as error:
        _fail(f"the database at DATABASE_URL cannot be reached ({error})")
    except (ConfigError, StoreError) as error:
        _fail(error)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
