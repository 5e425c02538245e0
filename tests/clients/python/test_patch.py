"""JSON Patch: every operation, every way to fail, and an outside judge."""

import copy
from typing import cast

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.python import Json, PatchError, apply
from clients.python.patch import Operation


def op(name: str, path: str, **more: Json) -> dict[str, Json]:
    return {"op": name, "path": path, **more}


FITS: list[tuple[Json, list[Operation], Json]] = [
    ({}, [], {}),
    ({"a": 1}, [op("add", "/b", value=2)], {"a": 1, "b": 2}),
    ({"a": 1}, [op("add", "/a", value=None)], {"a": None}),
    ([1, 3], [op("add", "/1", value=2)], [1, 2, 3]),
    ([1], [op("add", "/1", value=2)], [1, 2]),
    ([1], [op("add", "/-", value=[2])], [1, [2]]),
    ({"a": 1, "b": 2}, [op("remove", "/a")], {"b": 2}),
    ([1, 2, 3], [op("remove", "/1")], [1, 3]),
    ({"a": {"b": [0, 1]}}, [op("replace", "/a/b/1", value="x")], {"a": {"b": [0, "x"]}}),
    ({"a": 1}, [op("replace", "", value=[])], []),
    ({"a": 1}, [op("remove", "")], None),
    ({"a": [1, 2], "b": []}, [op("move", "/b/-", **{"from": "/a/0"})], {"a": [2], "b": [1]}),
    ([1, 2, 3], [op("move", "/2", **{"from": "/0"})], [2, 3, 1]),
    ({"a": 1}, [op("move", "/a", **{"from": "/a"})], {"a": 1}),
    ({"a": {"b": 1}}, [op("move", "", **{"from": "/a"})], {"b": 1}),
    ({"a": [1]}, [op("copy", "/b", **{"from": "/a"}), op("add", "/b/-", value=2)], {"a": [1], "b": [1, 2]}),
    ({"a": {"x": [1.0]}}, [op("test", "/a", value={"x": [1]})], {"a": {"x": [1.0]}}),
    ({"/": 1, "~": 2, "": 3}, [op("remove", "/~1"), op("remove", "/~0"), op("remove", "/")], {}),
    ({"-": 1, "0": 2}, [op("remove", "/-"), op("remove", "/0")], {}),
    ({"ab": 1, "a": {}}, [op("move", "/a/x", **{"from": "/ab"})], {"a": {"x": 1}}),
]

FAILS: list[tuple[Json, Operation]] = [
    ({}, {"path": "/a"}),
    ({}, op("increase", "/a")),
    ({}, {"op": "add", "value": 1}),
    ({}, op("add", "/a")),
    ({}, op("add", "a", value=1)),
    ({}, op("add", "/a~", value=1)),
    ({}, op("add", "/a~2", value=1)),
    ({}, op("add", "/a/b", value=1)),
    ({"a": "text"}, op("add", "/a/0", value=1)),
    ([1], op("add", "/2", value=1)),
    ([1], op("add", "/01", value=1)),
    ([1], op("add", "/-1", value=1)),
    ([1], op("add", "/١", value=1)),
    ([1], op("add", "/9999999999999999999999", value=1)),
    ([1], op("remove", "/1")),
    ([1], op("remove", "/-")),
    ({}, op("remove", "/a")),
    ([1], op("replace", "/1", value=1)),
    ({}, op("replace", "/a", value=1)),
    ({}, op("move", "/a", **{"from": "/b"})),
    ({}, op("move", "/a")),
    ({"a": {}}, op("move", "/a/b", **{"from": "/a"})),
    ({}, op("copy", "/a", **{"from": "/b"})),
    ({"a": 1}, op("test", "/a", value=2)),
    ({"a": 1}, op("test", "/a", value=True)),
    ({"a": [0]}, op("test", "/a", value=[False])),
    ({"a": {"b": 1}}, op("test", "/a", value={"b": 1, "c": 2})),
    ({"a": [1]}, op("test", "/a", value=[1, 1])),
    ({}, op("test", "/a", value=None)),
]


@pytest.mark.parametrize(("document", "patch", "outcome"), FITS)
def test_applies(document: Json, patch: list[Operation], outcome: Json) -> None:
    before = copy.deepcopy(document)
    assert apply(document, patch) == outcome
    assert document == before


@pytest.mark.parametrize(("document", "operation"), FAILS)
def test_refuses_and_leaves_the_document_alone(document: Json, operation: Operation) -> None:
    before = copy.deepcopy(document)
    harmless = op("test", "", value=document)
    with pytest.raises(PatchError):
        apply(document, [harmless, operation])
    assert document == before


def test_shares_what_it_does_not_touch() -> None:
    document: dict[str, Json] = {"a": {"x": [1]}, "b": {"y": [2]}}
    after = cast("dict[str, Json]", apply(document, [op("add", "/a/x/-", value=3)]))
    assert after["b"] is document["b"]
    assert after["a"] == {"x": [1, 3]}


KEYS = st.sampled_from(["a", "b", "0", "~", "x/y", ""])
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_follows_what_another_library_finds_different(before: Json, after: Json) -> None:
    patch = cast("list[Operation]", jsonpatch.make_patch(before, after).patch)
    assert apply(before, patch) == after
