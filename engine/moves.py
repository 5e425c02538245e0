"""Moves as text. A move names places, never cards, and can be read without a board."""

import re
from typing import Literal, NamedTuple, Self, TypeAlias

Form: TypeAlias = Literal["draw", "redeal", "put", "run", "leave", "pair", "choose"]
"""The rows of the grammar: ``draw``, ``redeal``, ``a-b``, ``a-b:3``, ``ax``, ``a+b``, ``name=value``."""

_GRAMMAR = re.compile(
    r"(?P<word>draw|redeal)"
    r"|(?P<a>[a-z]+[0-9]*)(?:-(?P<b>[a-z]+[0-9]*)(?::(?P<n>[2-9]|[1-9][0-9]{1,2}))?"
    r"|\+(?P<with>[a-z]+[0-9]*)|(?P<leaves>x)|=(?P<value>[a-z0-9]+))",
    re.ASCII,
)
_LONGEST = 40


class Move(NamedTuple):
    """One decision of a player."""

    form: Form
    a: str = ""
    """The source pile, the first pile of a pair, or what is chosen about."""

    b: str = ""
    """The target pile, the second pile of a pair, or what is chosen."""

    n: int = 1
    """How many cards move as one unit."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a move in its one spelling.

        Whether piles of these names exist, and stand in the right order in a pair, is for the game to say.

        Raises:
            ValueError: the text is not of the grammar.
        """
        match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            raise ValueError(f"not a move: {text[:_LONGEST]!r}")
        word, a, b, n, other, leaves, value = match.groups()
        if word:
            return cls("draw" if word == "draw" else "redeal")
        if b:
            return cls("run", a, b, int(n)) if n else cls("put", a, b)
        if other:
            if other == a:
                raise ValueError("a pair takes two piles")
            return cls("pair", a, other)
        return cls("leave", a) if leaves else cls("choose", a, value)

    @property
    def text(self) -> str:
        """The move's one spelling."""
        form, a, b, n = self
        match form:
            case "put":
                return f"{a}-{b}"
            case "run":
                return f"{a}-{b}:{n}"
            case "leave":
                return f"{a}x"
            case "pair":
                return f"{a}+{b}"
            case "choose":
                return f"{a}={b}"
            case _:
                return form
