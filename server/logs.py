"""Structured logs: a JSON line an event on standard error, or colored text at a terminal.

Params, tokens and seeds are never given to a logger, so there is nothing to be filtered out here.
"""

import logging
import sys
from typing import Final

import structlog
from structlog.tracebacks import ExceptionDictTransformer

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def configure(level: str, worker: int | None = None) -> None:
    """Send our own logs and those of libraries one way, from ``level`` on; each line names the ``worker``."""

    def name_worker(
        _logger: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        if worker is not None:
            event["worker"] = worker
        return event

    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        name_worker,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    terminal = sys.stderr.isatty()
    # Local variables hold seeds and tokens, so no traceback may show them.
    tracebacks = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
    finish: list[structlog.typing.Processor] = (
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if terminal
        else [tracebacks, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *finish],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS[level])
    for name, least in (
        ("uvicorn.access", logging.ERROR),
        # Its warnings tell of what clients did wrong, which they can do as often as they like.
        ("uvicorn.error", logging.ERROR),
        ("alembic", logging.WARNING),
    ):
        logging.getLogger(name).setLevel(max(least, _LEVELS[level]))
