"""A game's options, as they are typed and as they are told."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

_NONE: Final = "The game has no options."


def read_options(texts: Sequence[str]) -> dict[str, object]:
    """Read `name=value` pairs; a value is JSON if it can be read so, else text.

    Raises:
        ValueError: one is no such pair; the message is for the player.
    """
    options: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ValueError(f"an option is written name=value, not {text!r}")
        try:
            options[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            options[name] = value
    return options


def tell_options(schema: Mapping[str, Any]) -> str:
    """Return what the JSON Schema of a game's options allows, a line for each option."""
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    if not properties:
        return _NONE
    lines = [
        f"    {name}={_values(option)}  {_words(option)}".rstrip() for name, option in properties.items()
    ]
    return "\n".join(["Options of a new deal, each given as --option name=value:", *lines])


def _values(option: Mapping[str, Any]) -> str:
    """Return the values of one option: `1|3`, `0..9`, or their type where there are no bounds."""
    if option.get("type") == "boolean":
        return "true|false"
    if "enum" in option:
        return "|".join(map(str, option["enum"]))
    if "minimum" in option and "maximum" in option:
        return f"{option['minimum']}..{option['maximum']}"
    return str(option.get("type", "value")).upper()


def _words(option: Mapping[str, Any]) -> str:
    """Return what one option is for, and what holds without it."""
    default = option.get("default")
    parts = [str(option.get("title", "")), str(option.get("description", "")).replace("`", "")]
    if default is not None:
        parts.append(f"Default: {msgspec.json.encode(default).decode()}.")
    return " ".join(part for part in parts if part)
