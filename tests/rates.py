"""Limits that a test does not run into, for it plays faster than anybody, and all from one address."""

from dataclasses import fields, replace
from typing import Final

from server.config import Limits, limit_variable

_HIGH: Final = {
    limit.name: int(limit.metadata["high"])
    for limit in fields(Limits)
    if limit.name.endswith(("_rate", "_burst", "_hourly"))
    or limit.name in {"address_connections", "open_sessions"}
}

UNHURRIED: Final = {limit_variable(name): str(high) for name, high in _HIGH.items()}
"""The settings of a server process that let everybody send as much as they like."""


def unhurried(limits: Limits | None = None) -> Limits:
    """Return limits that are otherwise these, or the defaults."""
    return replace(limits or Limits(), **_HIGH)
