"""Diffs for clients: RFC 6902 operations made from what was seen, not by comparing positions."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from engine.cards import NAMES
from engine.effects import Flip, Record, Shift
from engine.layout import Layout

Operation: TypeAlias = dict[str, Any]


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


def _shifted(layout: Layout, effect: Shift, record: Record, out: list[Operation]) -> None:
    """Move cards along, or out of play and back into it."""
    src, dst, n = effect
    off = layout.off
    if not record.cards:
        out.append({"op": "replace", "path": layout.down_paths[src], "value": record.at})
        out.append({"op": "replace", "path": layout.down_paths[dst], "value": record.down})
    elif src == off:
        path = f"{layout.up_paths[dst]}/-"
        out += [{"op": "add", "path": path, "value": NAMES[card]} for card in record.cards]
    elif dst == off:
        gone: Operation = {"op": "remove", "path": f"{layout.up_paths[src]}/{record.at}"}
        out += [gone] * n
    else:
        source, path = f"{layout.up_paths[src]}/{record.at}", f"{layout.up_paths[dst]}/-"
        moved: Operation = {"op": "move", "from": source, "path": path}
        out += [moved] * n


def _flipped(layout: Layout, effect: Flip, record: Record, out: list[Operation]) -> None:
    """Turn cards up or down."""
    src, dst, n = effect
    if record.cards:
        path = f"{layout.up_paths[dst]}/-"
        out.append({"op": "replace", "path": layout.down_paths[src], "value": record.down})
        out += [{"op": "add", "path": path, "value": NAMES[card]} for card in record.cards]
        return
    if record.at == 0 and n > 1:
        out.append({"op": "replace", "path": layout.up_paths[src], "value": []})
    else:
        gone: Operation = {"op": "remove", "path": f"{layout.up_paths[src]}/{record.at}"}
        out += [gone] * n
    out.append({"op": "replace", "path": layout.down_paths[dst], "value": record.down})


def head_operations(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Operation]:
    """Return what changed beside the piles; both have the same keys in the same order.

    ``state`` is compared part by part.
    """
    operations: list[Operation] = []
    for (key, value), old in zip(after.items(), before.values(), strict=True):
        if old == value:
            continue
        if key == "state":
            operations += [
                {"op": "replace", "path": f"/state/{part}", "value": now}
                for part, now in value.items()
                if old[part] != now
            ]
        else:
            operations.append({"op": "replace", "path": f"/{key}", "value": value})
    return operations


def patch(
    layout: Layout, records: Iterable[Record], before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Operation]:
    """Return the patch that leads from one view to the next.

    Args:
        layout: the game's.
        records: what was seen of the change.
        before: all parts of the view but the piles, before the change.
        after: the same after it, in the same order.
    """
    return pile_operations(layout, records) + head_operations(before, after)
