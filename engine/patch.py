"""Diffs for clients: RFC 6902 operations made from what was seen, not by comparing positions.

They are written as JSON at once, since every move is sent and few are looked at. All names and texts in them
are of a kind that needs no escaping.
"""

from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any, TypeAlias

from engine.cards import NAMES
from engine.effects import Flip, Record, Shift
from engine.layout import Layout

Operation: TypeAlias = str
"""One operation, as JSON."""


def pile_operations(layout: Layout, records: Iterable[Record]) -> list[Operation]:
    """Return what happened to the piles of a view, each card that moves as one operation."""
    operations: list[Operation] = []
    for record in records:
        effect = record.effect
        if isinstance(effect, Shift):
            _shifted(layout, effect, record, operations)
        elif isinstance(effect, Flip):
            _flipped(layout, effect, record, operations)
    return operations


def _replace(path: str, value: str) -> Operation:
    """Return the operation that puts a value, given as JSON, in the place of another."""
    return f'{{"op":"replace","path":"{path}","value":{value}}}'


def _shifted(layout: Layout, effect: Shift, record: Record, out: list[Operation]) -> None:
    """Move cards along, or out of play and back into it."""
    src, dst, n = effect
    off = layout.off
    if not record.cards:
        out.append(_replace(layout.down_paths[src], str(record.at)))
        out.append(_replace(layout.down_paths[dst], str(record.down)))
    elif src == off:
        _add(layout, dst, record, out)
    elif dst == off:
        out += [f'{{"op":"remove","path":"{layout.up_paths[src]}/{record.at}"}}'] * n
    else:
        source, path = layout.up_paths[src], layout.up_paths[dst]
        out += [f'{{"op":"move","from":"{source}/{record.at}","path":"{path}/-"}}'] * n


def _add(layout: Layout, dst: int, record: Record, out: list[Operation]) -> None:
    """Put cards on top of a pile, each with its name."""
    path = layout.up_paths[dst]
    out += [f'{{"op":"add","path":"{path}/-","value":"{NAMES[card]}"}}' for card in record.cards]


def _flipped(layout: Layout, effect: Flip, record: Record, out: list[Operation]) -> None:
    """Turn cards up or down."""
    src, dst, n = effect
    if record.cards:
        out.append(_replace(layout.down_paths[src], str(record.down)))
        _add(layout, dst, record, out)
        return
    if record.at == 0 and n > 1:
        out.append(_replace(layout.up_paths[src], "[]"))
    else:
        out += [f'{{"op":"remove","path":"{layout.up_paths[src]}/{record.at}"}}'] * n
    out.append(_replace(layout.down_paths[dst], str(record.down)))


def head_operations(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Operation]:
    """Return what changed beside the piles; both have the same keys.

    ``state`` is compared part by part.
    """
    operations: list[Operation] = []
    for key, value in after.items():
        old = before[key]
        if old == value:
            continue
        if key == "state":
            changed = [(part, now) for part, now in value.items() if old[part] != now]
            operations += [
                _replace(f"/state/{part}", dumps(now, separators=(",", ":"))) for part, now in changed
            ]
        elif value.__class__ is int:
            operations.append(f'{{"op":"replace","path":"/{key}","value":{value}}}')
        elif value.__class__ is str:
            operations.append(f'{{"op":"replace","path":"/{key}","value":"{value}"}}')
        elif key == "legal" and value:
            texts = '","'.join(value)
            operations.append(f'{{"op":"replace","path":"/legal","value":["{texts}"]}}')
        else:
            operations.append(_replace(f"/{key}", dumps(value)))
    return operations


def patch(
    layout: Layout, records: Iterable[Record], before: Mapping[str, Any], after: Mapping[str, Any]
) -> str:
    """Return the patch that leads from one view to the next, as JSON.

    Args:
        layout: the game's.
        records: what was seen of the change.
        before: all parts of the view but the piles, before the change.
        after: the same after it.
    """
    return f"[{','.join(pile_operations(layout, records) + head_operations(before, after))}]"
