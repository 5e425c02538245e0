"""JSON-RPC's envelope: requests in, answers and notifications out.

An id is kept as the JSON text it came as and put back unchanged, so that no number is rounded on the way.
Params stay undecoded until the method is known. Answers are put together around results encoded already.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, Union, cast

import msgspec

from server.rpc.errors import RpcError

NULL: Final = "null"
"""The id of an answer to something that had none that could be read."""

_ABSENT: Final = msgspec.Raw(b"")
_NO_PARAMS: Final = msgspec.Raw(b"{}")
_ID_BEGINS: Final = frozenset('"-0123456789n')


# Neither field can lead back to the request, so the garbage collector need not look at it.
class Request(msgspec.Struct, gc=False):
    """A request, or a notification if it has no id. What `params` and `id` are is not checked yet."""

    jsonrpc: Literal["2.0"]
    method: str
    id: msgspec.Raw = _ABSENT
    params: msgspec.Raw = _NO_PARAMS


class Swift(msgspec.Struct, gc=False):
    """A request of the usual form, decoded at once: an id, a text or whole number, and params by name."""

    jsonrpc: Literal["2.0"]
    id: int | str | float
    params: Any

    def ident(self) -> str | None:
        """Return the JSON text of the id; None if it may be another than it came as."""
        ident = self.id
        if ident.__class__ is int:
            return str(ident)
        return _encode(ident).decode() if isinstance(ident, str) else None


def swift(method: str, params: type[msgspec.Struct]) -> type[Swift]:
    """Return the type of the requests of the usual form for a method."""
    fields = [("params", params)]
    made = msgspec.defstruct("Swift", fields, bases=(Swift,), tag_field="method", tag=method, gc=False)
    return cast("type[Swift]", made)


def swift_decoder(types: Iterable[type[Swift]]) -> Callable[[str], Swift]:
    """Return what decodes any of these; it raises msgspec's errors for whatever is of no usual form."""
    decoder: msgspec.json.Decoder[Swift] = msgspec.json.Decoder(Union[tuple(types)])  # noqa: UP007  Of a tuple.
    return decoder.decode


class _Identified(msgspec.Struct):
    id: msgspec.Raw = _ABSENT


decode_message: Final = msgspec.json.Decoder(Request | list[msgspec.Raw]).decode
"""Decode a frame, a single request or the members of a batch; raises msgspec's errors."""

decode_request: Final = msgspec.json.Decoder(Request).decode
"""Decode a member of a batch; raises msgspec's errors."""

_decode_identified: Final = msgspec.json.Decoder(_Identified).decode
_encode: Final = msgspec.json.Encoder().encode


def id_text(raw: msgspec.Raw) -> str | None:
    """Return the JSON text of an id, "" where there is none, and None if it is not text, number or null."""
    text = str(raw, "utf-8")
    return text if not text or text[0] in _ID_BEGINS else None


def salvage_id(text: str | msgspec.Raw) -> str:
    """Return the id to answer something with that is JSON but no request: its own if it has a valid one."""
    try:
        return id_text(_decode_identified(text).id) or NULL
    except msgspec.ValidationError:
        return NULL


def is_json(text: str) -> bool:
    """Whether `text` is JSON; that it is not too deep is for the caller to check."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True


def result_answer(ident: str, result: object) -> str:
    """Return the answer to the request of the id text `ident`; `result` is a Raw or what msgspec encodes."""
    return json_answer(ident, _text(result))


def json_answer(ident: str, result: str) -> str:
    """Return the answer to the request of the id text `ident`; `result` is JSON already."""
    return f'{{"jsonrpc":"2.0","id":{ident},"result":{result}}}'


def error_answer(ident: str, error: RpcError) -> str:
    """Return the answer that refuses the request with the id text `ident`."""
    encoded = _encode({"code": error.code, "message": error.message, "data": error.data()})
    return f'{{"jsonrpc":"2.0","id":{ident},"error":{encoded.decode()}}}'


def notification(method: str, params: object) -> str:
    """Return an event for clients; `params` is a Raw or whatever msgspec encodes."""
    return f'{{"jsonrpc":"2.0","method":"{method}","params":{_text(params)}}}'


def _text(value: object) -> str:
    """Return the JSON of a Raw, or of anything that msgspec encodes."""
    return str(value, "utf-8") if isinstance(value, msgspec.Raw) else _encode(value).decode()
