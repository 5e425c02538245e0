"""A server that does nothing but run embedded stores: `python -m tests.server.embedded_program HOME`.

When they run it prints one line of JSON, and it stops them when its input ends. An error is printed as such.
"""

import json
import sys
from pathlib import Path

import structlog

from server.embedded import EmbeddedError, EmbeddedStores


def main(home: Path) -> None:
    """Run stores on `home` until the input ends."""
    try:
        with EmbeddedStores(home, durable=False) as stores:
            facts = {
                "database_url": stores.database_url,
                "postgres": stores.postgres.pid,
                "valkey": stores.valkey.pid,
            }
            print(json.dumps(facts), flush=True)
            sys.stdin.read()
    except EmbeddedError as error:
        print(json.dumps({"error": str(error)}), flush=True)


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    main(Path(sys.argv[1]))
