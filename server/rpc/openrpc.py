"""The OpenRPC document, made from the very types that decode params."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

import msgspec

from server.rpc.call import Call
from server.rpc.errors import (
    Forbidden,
    InternalError,
    InvalidParams,
    NotAllowed,
    RateLimited,
    RpcError,
    Unauthenticated,
)
from server.rpc.methods import Method, NoParams

OPENRPC: Final = "1.3.2"
"""The version of the OpenRPC specification that the document follows."""

_SCHEMAS: Final = "#/components/schemas/"

_Json = dict[str, Any]


def with_discovery(methods: Iterable[Method[Any]], version: str) -> tuple[tuple[Method[Any], ...], bytes]:
    """Return `methods` with `rpc.discover` before them, and the document that it answers with."""

    def discover(_call: Call, _params: NoParams) -> msgspec.Raw:
        """List all methods, as an OpenRPC document."""
        return msgspec.Raw(document)

    every = (Method("rpc.discover", NoParams, dict[str, Any], discover), *methods)
    document = msgspec.json.encode(_describe(every, version))
    return every, document


def _describe(methods: Sequence[Method[Any]], version: str) -> _Json:
    """Return the document; `version` is the server's."""
    types = [kind for method in methods for kind in (method.params, method.result)]
    found, schemas = msgspec.json.schema_components(types, ref_template=_SCHEMAS + "{name}")
    _type_enums(schemas)
    errors: dict[str, _Json] = {}
    described = [
        _describe_method(method, _take(schemas, params), result, errors)
        for method, params, result in zip(methods, found[::2], found[1::2], strict=True)
    ]
    for params in found[::2]:
        # The params stand in their methods, one by one.
        schemas.pop(_name(params), None)
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "Patience Arena",
            "version": version,
            "description": "Patience games over JSON-RPC 2.0, by WebSocket at /ws or by POST at /rpc.",
        },
        "methods": described,
        "components": {"schemas": schemas, "errors": errors},
    }


def _type_enums(schema: object) -> None:
    """Give every enumeration its type, which msgspec leaves out and generators of code need."""
    if isinstance(schema, dict):
        members = cast("_Json", schema)
        if "enum" in members and all(isinstance(value, str) for value in members["enum"]):
            members.setdefault("type", "string")
        for member in members.values():
            _type_enums(member)
    elif isinstance(schema, list):
        for item in cast("list[object]", schema):
            _type_enums(item)


def _describe_method(method: Method[Any], params: _Json, result: _Json, errors: dict[str, _Json]) -> _Json:
    """Return one method of the document, and add to `errors` those it refers to."""
    needed: list[str] = params.get("required", [])
    properties: dict[str, _Json] = params["properties"]
    return {
        "name": method.name,
        "summary": method.summary,
        "paramStructure": "either",
        "params": [
            {"name": name, "required": name in needed, "schema": schema}
            for name, schema in properties.items()
        ],
        "result": {"name": "result", "schema": result},
        "errors": [_refer(error, errors) for error in _errors(method)],
        "x-scope": method.scope or None,
        "x-socket-only": method.socket_only,
    }


def _errors(method: Method[Any]) -> list[type[RpcError]]:
    """Return what a method may answer, in order of the codes, without repetition."""
    errors: set[type[RpcError]] = {InvalidParams, InternalError, RateLimited, *method.errors}
    if method.scope is not None:
        errors.add(Unauthenticated)
    if method.scope:
        errors.add(Forbidden)
    if method.socket_only:
        errors.add(NotAllowed)
    return sorted(errors, key=lambda error: error.code)


def _refer(error: type[RpcError], errors: dict[str, _Json]) -> _Json:
    errors[error.kind] = {"code": error.code, "message": error.default, "data": {"kind": error.kind}}
    return {"$ref": f"#/components/errors/{error.kind}"}


def _name(reference: _Json) -> str:
    return cast("str", reference["$ref"]).removeprefix(_SCHEMAS)


def _take(schemas: dict[str, _Json], reference: _Json) -> _Json:
    return schemas[_name(reference)]
