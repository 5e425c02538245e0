"""What a server promises in its OpenRPC document, held against what it answers."""

from typing import Any, Final, TypeAlias

from jsonschema import Draft202012Validator

Json: TypeAlias = dict[str, Any]
"""An object of JSON."""

CODES: Final = {
    "parse_error": -32700,
    "invalid_request": -32600,
    "method_not_found": -32601,
    "invalid_params": -32602,
    "internal_error": -32603,
    "unauthenticated": 1001,
    "forbidden": 1002,
    "not_found": 1003,
    "illegal_move": 1004,
    "stale_seq": 1005,
    "session_over": 1006,
    "not_allowed": 1007,
    "name_taken": 1008,
    "rate_limited": 1009,
    "unavailable": 1010,
    "conflict": 1011,
}
"""The protocol page's table of errors."""

_DATA: Final = {
    "invalid_params": {"path"},
    "internal_error": {"incident"},
    "illegal_move": {"reason", "seq"},
    "stale_seq": {"seq"},
    "session_over": {"status"},
    "rate_limited": {"retry_after_ms"},
}
"""What `data` holds beside `kind`."""


class Contract:
    """The judge of answers, made from the document of `rpc.discover`."""

    def __init__(self, document: Json) -> None:
        self._schemas: Json = document["components"]
        self._results: dict[str, Draft202012Validator] = {}
        self._kinds: dict[str, set[str]] = {}
        for method in document["methods"]:
            name = method["name"]
            self._results[name] = self._validator(method["result"]["schema"])
            self._kinds[name] = {error["$ref"].rpartition("/")[2] for error in method["errors"]}
        self._event = self._validator({"$ref": "#/components/schemas/Event"})

    def _validator(self, schema: Json) -> Draft202012Validator:
        return Draft202012Validator({**schema, "components": self._schemas})

    def check_result(self, method: str, result: object) -> None:
        """Fail unless the document allows this result of the method."""
        self._results[method].validate(result)  # pyright: ignore[reportUnknownMemberType]  It is not fully typed.

    def check_event(self, params: object) -> None:
        """Fail unless these are the params of a `session.event`."""
        self._event.validate(params)  # pyright: ignore[reportUnknownMemberType]  It is not fully typed.

    def check_error(self, method: str, error: Json) -> None:
        """Fail unless the protocol has this error and the document announces it for the method."""
        data = error["data"]
        kind = data["kind"]
        assert error["code"] == CODES[kind]
        assert error["message"]
        assert set(data) == {"kind"} | _DATA.get(kind, set())
        if method in self._kinds and kind != "invalid_request":
            assert kind in self._kinds[method], f"{method} does not announce {kind}"
