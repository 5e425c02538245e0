"""`patience`: the command that serves, migrates and plays."""

import asyncio
import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Final, NoReturn, cast

import structlog
from cyclopts import App, Parameter

from server import logs
from server.app import Arena
from server.config import ConfigError, Settings
from server.embedded import EmbeddedError, EmbeddedStores
from server.serving import listen, serve
from server.store.errors import StoreError
from server.store.migrate import upgrade

app: Final = App(name="patience", help="Patience games on an authoritative server.")
_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


def _fail(reason: object) -> NoReturn:
    """End with a reason that a person can do something about."""
    print(f"patience: {reason}", file=sys.stderr)  # noqa: T201  It is meant for whoever typed the command.
    raise SystemExit(1)


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
        settings = Settings.from_env(os.environ)
        settings = replace(
            settings,
            host=settings.host if host is None else host,
            port=settings.port if port is None else port,
        )
        logs.configure(settings.log_level)
        with ExitStack() as stack:
            try:
                listener = stack.enter_context(listen(settings))
            except OSError as error:
                where = f"{settings.host}:{settings.port}"
                _fail(f"cannot listen on {where}: {error.strerror}; choose another --port")
            database_url, redis_url = settings.database_url, settings.redis_url
            if database_url is None or redis_url is None:
                stores = stack.enter_context(EmbeddedStores(settings.home))
                database_url, redis_url = stores.database_url, stores.redis_url
                upgrade(database_url)
            arena = Arena(database_url, redis_url, settings.limits)
            with asyncio.Runner(loop_factory=_loop) as runner:
                runner.run(serve(arena, settings, listener))
    except (ConfigError, EmbeddedError, StoreError) as error:
        _fail(error)


@app.command
def migrate() -> None:
    """Bring the database at DATABASE_URL to this version's schema."""
    try:
        settings = Settings.from_env(os.environ)
        logs.configure(settings.log_level)
        if settings.database_url is None:
            _fail("set DATABASE_URL and REDIS_URL; an embedded database is migrated when the server starts")
        upgrade(settings.database_url)
    except (ConfigError, StoreError) as error:
        _fail(error)


def main() -> None:
    """Run the command line."""
    app()
