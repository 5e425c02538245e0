import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from server.rpc.openrpc import with_discovery
from tests.server.rpc.service import Service

METHODS, TEXT = with_discovery(Service().methods(), "1.2.3")
DOCUMENT: dict[str, Any] = json.loads(TEXT)
DESCRIBED: dict[str, dict[str, Any]] = {method["name"]: method for method in DOCUMENT["methods"]}


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Whether a value is what a schema of the document asks for, with what the schema refers to."""
    validator: Any = Draft202012Validator({"components": DOCUMENT["components"], **schema})
    return validator.is_valid(value)


def resolve(reference: str) -> dict[str, Any]:
    found = DOCUMENT
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found


def test_the_head() -> None:
    assert DOCUMENT["openrpc"].startswith("1.")
    assert DOCUMENT["info"]["title"] == "Patience Arena"
    assert DOCUMENT["info"]["version"] == "1.2.3"


def test_every_method_is_there_and_discovery_itself() -> None:
    assert [method["name"] for method in DOCUMENT["methods"]] == [method.name for method in METHODS]
    assert METHODS[0].name == "rpc.discover"
    for method in METHODS:
        assert DESCRIBED[method.name]["summary"] == method.summary != ""
        assert DESCRIBED[method.name]["paramStructure"] == "either"


def test_params_are_in_order_of_position() -> None:
    params = DESCRIBED["games.describe"]["params"]
    assert [(param["name"], param["required"]) for param in params] == [
        ("game", True),
        ("options", False),
        ("lang", False),
    ]


@pytest.mark.parametrize("name", DESCRIBED)
def test_all_schemas_are_schemas(name: str) -> None:
    method = DESCRIBED[name]
    for part in (*method["params"], method["result"]):
        Draft202012Validator.check_schema(part["schema"])


@pytest.mark.parametrize(
    ("method", "position", "good", "bad"),
    [
        ("games.describe", 0, "klondike", 7),
        ("games.describe", 1, {"draw": 1}, {"draw": "one"}),
        ("games.describe", 1, None, 1),
        ("record.verify", 1, [{"rank": 1}, {"rank": 2, "suit": "H"}], [{"suit": "H"}]),
    ],
)
def test_schemas_tell_good_from_bad(method: str, position: int, good: object, bad: object) -> None:
    schema = DESCRIBED[method]["params"][position]["schema"]
    assert fits(good, schema)
    assert not fits(bad, schema)


def test_a_result_that_is_shared() -> None:
    schema = DESCRIBED["games.describe"]["result"]["schema"]
    assert schema == {"$ref": "#/components/schemas/Description"}
    assert fits({"game": "klondike", "options": {}}, schema)
    assert not fits({"game": "klondike"}, schema)


def test_components_hold_what_is_referred_to_and_no_params() -> None:
    assert DOCUMENT["components"]["schemas"].keys() == {"Card", "Description", "Moved"}


def test_errors() -> None:
    def codes(method: str) -> list[int]:
        return [resolve(error["$ref"])["code"] for error in DESCRIBED[method]["errors"]]

    assert codes("server.info") == [-32603, -32602, 1009]
    assert codes("session.move") == [-32603, -32602, 1001, 1002, 1004, 1009]
    assert codes("session.subscribe") == [-32603, -32602, 1001, 1002, 1007, 1009]
    assert resolve("#/components/errors/not_found")["data"] == {"kind": "not_found"}


def test_what_a_call_needs() -> None:
    assert DESCRIBED["session.move"]["x-scope"] == "play"
    assert DESCRIBED["server.info"]["x-scope"] is None
    assert DESCRIBED["auth.use"]["x-socket-only"] is True
