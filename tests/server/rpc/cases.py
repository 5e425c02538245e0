"""The JSON-RPC cases that every transport must pass, and the judgement of an answer to one."""

import json
from pathlib import Path
from typing import Any, TypeAlias, cast

Json: TypeAlias = dict[str, Any]
"""An object of JSON."""

CASES = cast(
    "list[Json]", json.loads((Path(__file__).parents[2] / "vectors" / "jsonrpc.json").read_text("utf-8"))
)


def sent(case: Json) -> bytes:
    """What a case sends."""
    return bytes.fromhex(case["hex"]) if "hex" in case else cast("str", case["text"]).encode()


def judge(expected: Json, text: str | None) -> None:
    """Fail unless `text`, None for no answer at all, is what a case expects."""
    if expected["kind"] == "nothing":
        assert text is None
        return
    assert text is not None
    answer = json.loads(text)
    if expected["kind"] == "batch":
        assert isinstance(answer, list)
        left = cast("list[Json]", answer)
        for one in cast("list[Json]", expected["of"]):
            match = next((given for given in left if fits(one, given)), None)
            assert match is not None, (one, left)
            left.remove(match)
        assert not left
    else:
        assert fits(expected, answer), answer


def fits(expected: Json, answer: Json) -> bool:
    """Whether a single answer is well-formed and the expected one."""
    well_formed(answer)
    if "id" in expected and (
        answer["id"] != expected["id"] or type(answer["id"]) is not type(expected["id"])
    ):
        return False
    if expected["kind"] == "result":
        return "result" in answer
    if "error" not in answer:
        return False
    error = answer["error"]
    codes = expected.get("code_in", [expected.get("code")])
    return (
        error["code"] in codes and expected.get("data_kind", error["data"]["kind"]) == error["data"]["kind"]
    )


def well_formed(answer: Json) -> None:
    """Fail unless `answer` is a JSON-RPC answer."""
    assert answer["jsonrpc"] == "2.0"
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert answer["id"] is None or type(answer["id"]) in {str, int, float}
    if "error" in answer:
        error = answer["error"]
        assert set(error) == {"code", "message", "data"}
        assert type(error["code"]) is int
        assert error["message"]
        assert error["data"]["kind"]
