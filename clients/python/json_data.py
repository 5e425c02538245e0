"""Plain JSON data, as it is decoded from a message."""

from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
"""Any JSON value."""

Object: TypeAlias = dict[str, Json]
"""A JSON object."""
