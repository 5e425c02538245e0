"""A view as text: every pile at about the place that the layout gives it.

    stock waste          f1    f2    f3    f4
    ##/23 5H             AH    (A)   (A)   (A)

A pile's name stands above it, as moves name it. `##` is a card face down, `--` an empty place, `(K)` one that
takes a king; `##/23` and `5H/4` stand for that many cards, of which the last one is on top.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from clients.python import Pile, Place

WIDTH: Final = 78

_COLUMNS: Final = 6
"""Characters of a card's width, a space to the next card included."""
_LINES: Final = 2.5
"""Lines of a card's height: its pile's name, the card, and half a line of space."""
_LEGEND: Final = "## is face down, -- empty, (K) takes a king, XX/4 four cards with XX on top"
_RED: Final = re.compile(r"\b[A2-9TJQK][DH]\b")


class _Block(NamedTuple):
    """One pile as lines of text, and the column at which they begin."""

    column: int
    lines: list[str]

    @property
    def end(self) -> int:
        return self.column + max(map(len, self.lines))


def table(piles: Mapping[str, Pile], layout: Sequence[Place], width: int = WIDTH) -> list[str]:
    """Return the lines that show all piles, in `width` characters where the layout allows it.

    Spread piles for which there is no room end with the cards that fit, and are told in full at the end.
    """
    cut: list[Place] = []
    canvas: list[str] = []
    bottoms: list[tuple[_Block, int]] = []
    for _, row in groupby(sorted(layout, key=lambda place: (place.y, place.x)), lambda place: place.y):
        blocks: list[_Block] = []
        y = 0.0
        for place in row:
            room = _room(place, layout, width)
            text, whole = _spread(piles[place.pile], place, room)
            blocks.append(_Block(round(place.x * _COLUMNS), [place.pile, *text]))
            y = place.y
            if not whole:
                cut.append(place)
        above = [bottom for old, bottom in bottoms for new in blocks if _overlap(old, new)]
        top = max([round(y * _LINES), *(bottom + 1 for bottom in above)])
        for block in blocks:
            _write(canvas, top, block)
            bottoms.append((block, top + len(block.lines)))
    lines = [line.rstrip() for line in canvas]
    for place in cut:
        lines += in_full(piles[place.pile], place, width, name=place.pile)
    return lines


def in_full(pile: Pile, place: Place, width: int = WIDTH, *, name: str | None = None) -> list[str]:
    """Return the lines that tell all cards of a pile, from the bottom to the top, by label or by `name`."""
    cards = [_face_down(pile.down)] if pile.down else []
    cards += pile.up or ([] if pile.down else ["--"])
    labelled = place.label not in {"", place.pile}
    head = name or (f"{place.pile} ({place.label})" if labelled else place.pile)
    return textwrap.wrap(f"{head}: {' '.join(cards)}", width, subsequent_indent="    ")


def legend() -> str:
    """Return what the signs mean."""
    return _LEGEND


def colored(text: str) -> str:
    """Return text with its diamonds and hearts in red, for terminals."""
    return _RED.sub("\033[31m\\g<0>\033[0m", text)


def _face_down(count: int) -> str:
    return "##" if count == 1 else f"##/{count}"


def _spread(pile: Pile, place: Place, room: int) -> tuple[list[str], bool]:
    """Return a pile's cards as lines that fit into `room` characters, and whether none had to be left out."""
    up = list(pile.up)
    total = pile.down + len(up)
    if not total:
        return [f"({place.hint})" if place.hint else "--"], True
    if place.fan == "none":
        top = up[-1] if up else "##"
        return [top if total == 1 else f"{top}/{total}"], True
    cards = ([_face_down(pile.down)] if pile.down else []) + up
    if place.fan == "down":
        return cards, True
    line = " ".join(cards)
    if len(line) <= room:
        return [line], True
    fitting = max(1, (room - 1) // 3)
    return ["…" + " ".join(cards[-fitting:])], False


def _room(place: Place, layout: Sequence[Place], width: int) -> int:
    """Return how many characters a pile has before the next one at its right."""
    right = [other.x for other in layout if other.x > place.x and abs(other.y - place.y) < 1]
    end = min([round(x * _COLUMNS) - 1 for x in right] + [width])
    return end - round(place.x * _COLUMNS)


def _overlap(a: _Block, b: _Block) -> bool:
    return a.column < b.end and b.column < a.end


def _write(canvas: list[str], top: int, block: _Block) -> None:
    """Write a block onto a canvas that grows as needed."""
    for number, text in enumerate(block.lines, top):
        while len(canvas) <= number:
            canvas.append("")
        line = canvas[number].ljust(block.column)
        canvas[number] = line[: block.column] + text + line[block.column + len(text) :]
