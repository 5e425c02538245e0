"""`patience`: the command that serves, migrates and plays."""

import asyncio
import os
import signal
import socket
import sys
from contextlib import ExitStack
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
from server.serving import listen, serve
from server.store.errors import MigrationError, StoreError, StoreRefused, StoreUnavailable
from server.store.migrate import pending, upgrade

app: Final = App(
    name="patience", help="Patience games on an authoritative server.", version=version("patience-arena")
)
_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


def _fail(reason: object) -> NoReturn:
    """End with a reason that a person can do something about."""
    print(f"patience: {reason}", file=sys.stderr)
    raise SystemExit(1)


def _stop(*_: object) -> NoReturn:
    """End in good order when told to before there is anything to drain."""
    raise SystemExit(0)


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


@app.command(name="serve")
def serve_command(
    *,
    host: Annotated[str | None, Parameter(help="The address to listen on (PATIENCE_HOST).")] = None,
    port: Annotated[int | None, Parameter(help="The port, 0 for any free one (PATIENCE_PORT).")] = None,
) -> None:
    """Serve games, on stores of its own unless DATABASE_URL and REDIS_URL are set."""
    try:
        environ = dict(os.environ)
        if host is not None:
            environ["PATIENCE_HOST"] = host
        if port is not None:
            environ["PATIENCE_PORT"] = str(port)
        settings = Settings.from_env(environ)
        logs.configure(settings.log_level)
        signal.signal(signal.SIGTERM, _stop)
        with ExitStack() as stack:
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
            arena = Arena(database_url, redis_url, settings.limits)
            with asyncio.Runner(loop_factory=_loop) as runner:
                started = runner.run(serve(arena, settings, listener, lambda: _announce(listener)))
            if not started:
                _fail("the server could not start; the log says why")
    except StoreRefused as error:
        _fail(error)
    except StoreUnavailable as error:
        _fail(f"the database cannot be reached ({error})")
    except (ConfigError, EmbeddedError, StoreError) as error:
        _fail(error)


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
