"""A game's options: what may be set, within which bounds, and the named sets of them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from engine.errors import OptionError

Value: TypeAlias = int | bool
Options: TypeAlias = Mapping[str, Value]


class Option(NamedTuple):
    """One option. It is a choice among a few values, or a whole number between two bounds."""

    name: str
    title: str
    default: Value | str
    """The value where none is given; a string names the option whose value it takes."""

    choices: tuple[Value, ...] = ()
    """All values; empty for a range."""

    least: int = 0
    most: int = 0

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false."""
        return isinstance(self.default, bool)

    def check(self, value: object) -> Value:
        """Return the value if the option has it.

        Raises:
            OptionError: it is of the wrong type or out of range.
        """
        if self.is_flag:
            if isinstance(value, bool):
                return value
            raise OptionError(self.name, f"option {self.name!r} is true or false")
        if isinstance(value, int) and not isinstance(value, bool):
            if self.choices and value in self.choices:
                return value
            if not self.choices and self.least <= value <= self.most:
                return value
        allowed = " or ".join(map(str, self.choices)) or f"{self.least} to {self.most}"
        raise OptionError(self.name, f"option {self.name!r} is {allowed}")

    def schema(self) -> dict[str, Any]:
        """Return the option as JSON Schema."""
        schema: dict[str, Any] = {"type": "boolean" if self.is_flag else "integer", "title": self.title}
        if self.choices and not self.is_flag:
            schema["enum"] = list(self.choices)
        elif not self.is_flag:
            schema |= {"minimum": self.least, "maximum": self.most}
        if isinstance(self.default, str):
            schema["description"] = f"Left out: the value of `{self.default}`."
        else:
            schema["default"] = self.default
        return schema


class Variant(NamedTuple):
    """A named set of options, all of them given."""

    name: str
    title: str
    options: Options


DEFAULT = (Variant("default", "Default", {}),)
"""The one variant of a game without options."""


def fill(spec: Sequence[Option], given: Mapping[str, object]) -> dict[str, Value]:
    """Return all options, those that were left out at their defaults.

    Raises:
        OptionError: an option is unknown or its value is not one that it has.
    """
    known = {option.name for option in spec}
    for name in given:
        if name not in known:
            takes = ", ".join(sorted(known)) or "none"
            raise OptionError(name, f"there is no option {name[:40]!r}; the game's options: {takes}")
    filled: dict[str, Value] = {}
    for option in spec:
        default = filled[option.default] if isinstance(option.default, str) else option.default
        filled[option.name] = option.check(given.get(option.name, default))
    return filled


def schema(spec: Sequence[Option]) -> dict[str, Any]:
    """Return the options as a JSON Schema of one object."""
    return {
        "type": "object",
        "properties": {option.name: option.schema() for option in spec},
        "additionalProperties": False,
    }
