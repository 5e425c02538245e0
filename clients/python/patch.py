"""JSON Patch (RFC 6902), the whole of it, on plain data.

Written out here rather than taken from a library because a client applies one to every event: this shares
what a patch leaves alone with the document before, where libraries copy all of it or change it in place. So
a patch that fails leaves nothing half done, and a view that somebody still holds never changes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from clients.python.errors import PatchError
from clients.python.json_data import Json

Operation: TypeAlias = Mapping[str, Json]
"""One operation: `op`, `path`, and `value` or `from`."""

_Container: TypeAlias = "dict[str, Json] | list[Json]"

_INDEX: Final = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")


def apply(document: Json, patch: Sequence[Operation]) -> Json:
    """Return `document` with all operations of `patch` carried out; `document` itself stays as it is.

    The two share all parts that the patch does not touch, so neither may be changed in place.

    Raises:
        PatchError: an operation is malformed, does not fit, or is a `test` that fails.
    """
    for operation in patch:
        document = _carry_out(document, operation)
    return document


def _carry_out(document: Json, operation: Operation) -> Json:
    path = _pointer(operation, "path")
    match operation.get("op"):
        case "add":
            return _add(document, path, _value(operation))
        case "remove":
            return _remove(document, path)
        case "replace":
            return _replace(document, path, _value(operation))
        case "move":
            source = _pointer(operation, "from")
            if len(source) < len(path) and path[: len(source)] == source:
                raise PatchError("a value cannot be moved into itself")
            value = _get(document, source)
            return document if source == path else _add(_remove(document, source), path, value)
        case "copy":
            return _add(document, path, _get(document, _pointer(operation, "from")))
        case "test":
            if not _same(_get(document, path), _value(operation)):
                raise PatchError(f"the value at {operation['path']!r} is another one")
            return document
        case other:
            raise PatchError(f"there is no operation {other!r}")


def _value(operation: Operation) -> Json:
    if "value" not in operation:
        raise PatchError("the operation has no value")
    return operation["value"]


def _pointer(operation: Operation, member: str) -> list[str]:
    """Return the reference tokens of a JSON Pointer (RFC 6901)."""
    text = operation.get(member)
    if not isinstance(text, str) or (text and not text.startswith("/")) or _BAD_ESCAPE.search(text):
        raise PatchError(f"{member!r} is no JSON Pointer: {text!r}")
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


def _index(array: list[Json], key: str, *, end: bool = False) -> int:
    """Return the place in `array` that `key` names; with `end` also the one after the last."""
    if end and key == "-":
        return len(array)
    if not _INDEX.fullmatch(key) or len(key) > 9 or int(key) >= len(array) + end:
        raise PatchError(f"an array of {len(array)} has no place {key!r}")
    return int(key)


def _child(container: Json, key: str) -> Json:
    if isinstance(container, list):
        return container[_index(container, key)]
    if isinstance(container, dict) and key in container:
        return container[key]
    raise PatchError(f"there is nothing at {key!r}")


def _get(document: Json, path: list[str]) -> Json:
    for key in path:
        document = _child(document, key)
    return document


def _change(node: Json, path: list[str], change: Callable[[_Container, str], None]) -> Json:
    """Return a copy of `node` in which `change` was done to what contains the end of `path`."""
    if isinstance(node, list):
        copy: _Container = list(node)
    elif isinstance(node, dict):
        copy = dict(node)
    else:
        raise PatchError(f"there is nothing at {path[0]!r}")
    key = path[0]
    if len(path) == 1:
        change(copy, key)
    elif isinstance(copy, list):
        place = _index(copy, key)
        copy[place] = _change(copy[place], path[1:], change)
    else:
        copy[key] = _change(_child(copy, key), path[1:], change)
    return copy


def _add(document: Json, path: list[str], value: Json) -> Json:
    def change(container: _Container, key: str) -> None:
        if isinstance(container, list):
            container.insert(_index(container, key, end=True), value)
        else:
            container[key] = value

    return _change(document, path, change) if path else value


def _remove(document: Json, path: list[str]) -> Json:
    def change(container: _Container, key: str) -> None:
        _child(container, key)
        if isinstance(container, list):
            del container[int(key)]
        else:
            del container[key]

    return _change(document, path, change) if path else None


def _replace(document: Json, path: list[str], value: Json) -> Json:
    def change(container: _Container, key: str) -> None:
        _child(container, key)
        if isinstance(container, list):
            container[int(key)] = value
        else:
            container[key] = value

    return _change(document, path, change) if path else value


def _same(a: Json, b: Json) -> bool:
    """Tell whether two values are equal as JSON, where true is not 1."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return isinstance(a, bool) == isinstance(b, bool) and a == b
