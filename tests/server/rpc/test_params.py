import json
from typing import Annotated, Any

import msgspec
import pytest

from server.rpc.errors import InvalidParams, InvalidRequest
from server.rpc.methods import NoParams
from server.rpc.params import ParamsDecoder


class Place(msgspec.Struct, forbid_unknown_fields=True):
    pile: str
    depth: int | None = None


class Params(msgspec.Struct, forbid_unknown_fields=True):
    game: str
    seq: Annotated[int, msgspec.Meta(ge=0)]
    places: list[Place] | None = None
    options: dict[str, int] | None = None


DECODER = ParamsDecoder(Params)


def decode(params: object) -> Params:
    return DECODER.decode(msgspec.Raw(json.dumps(params).encode()))


def path(params: object) -> str:
    with pytest.raises(InvalidParams) as caught:
        decode(params)
    assert caught.value.message
    return caught.value.path


def test_by_name_and_by_position_are_the_same() -> None:
    whole = {"game": "plot", "seq": 3, "places": [{"pile": "t1"}], "options": {"draw": 1}}
    assert decode(whole) == decode(list(whole.values())) == Params("plot", 3, [Place("t1")], {"draw": 1})


def test_null_means_absent() -> None:
    assert decode(["plot", 3, None, None]) == decode(["plot", 3]) == Params("plot", 3)
    assert decode({"game": "plot", "seq": 3, "options": None}) == Params("plot", 3)


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"game": 7}, "/game"),
    ({"game": None}, "/game"),
    ({"seq": -1}, "/seq"),
    ({"seq": 1.5}, "/seq"),
    ({"places": {}}, "/places"),
    ({"places": [{"pile": "t1"}, {"pile": 2}]}, "/places/1/pile"),
    ({"places": [{}]}, "/places/0/pile"),
    ({"places": [{"pile": "t1", "a/b~c": 1}]}, "/places/0/a~1b~0c"),
    ({"options": {"draw": "one"}}, "/options"),
    ({"zz": 1}, "/zz"),
    ({"z`z": 1}, "/z`z"),
    ({"": 1}, "/"),
]


@pytest.mark.parametrize(("changed", "expected"), CHANGES)
def test_the_path_to_the_fault(changed: dict[str, Any], expected: str) -> None:
    params = {"game": "plot", "seq": 3, "places": None, "options": None} | changed
    assert path(params) == expected
    if params.keys() == {"game", "seq", "places", "options"}:
        assert path(list(params.values())) == expected


def test_a_param_that_is_missing() -> None:
    assert path({"seq": 3}) == path([]) == "/game"
    assert path({"game": "plot"}) == path(["plot"]) == "/seq"


def test_too_many_positions() -> None:
    assert path(["plot", 3, None, None, None]) == ""


def test_none_are_taken_where_none_are() -> None:
    decoder = ParamsDecoder(NoParams)
    for text in (b"{}", b"[]"):
        assert decoder.decode(msgspec.Raw(text)) == NoParams()


def test_params_that_are_no_structure_make_no_request() -> None:
    for params in (3, "plot", None, True):
        with pytest.raises(InvalidRequest):
            decode(params)


class Loose(msgspec.Struct):
    game: str


class Defaulted(msgspec.Struct, forbid_unknown_fields=True):
    limit: int = 20


@pytest.mark.parametrize("params", [Loose, Defaulted])
def test_params_that_cannot_keep_the_protocols_word(params: type[msgspec.Struct]) -> None:
    with pytest.raises(TypeError):
        ParamsDecoder(params)
