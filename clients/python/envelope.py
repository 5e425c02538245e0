"""JSON-RPC 2.0 as a client writes and reads it: requests out, answers and notifications in."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from clients.python.errors import ApiError, BadAnswer, MessageTooLong, api_error

_FRAME_BYTES: Final = 16_384
_RECORD_BYTES: Final = 524_288
_NOTHING: Final = msgspec.Raw(b"")


class _Refusal(msgspec.Struct):
    code: int
    message: str
    data: Any = None


class Message(msgspec.Struct):
    """One message from the server: a notification if it has a method, else an answer."""

    method: str | None = None
    params: msgspec.Raw = _NOTHING
    id: int | str | None = None
    result: msgspec.Raw = _NOTHING
    error: _Refusal | None = None

    def refusal(self) -> ApiError | None:
        """Return the error that an answer carries, if it does."""
        error = self.error
        return api_error(error.code, error.message, error.data) if error else None


_decoder: Final = msgspec.json.Decoder(Message)


def request(ident: int, method: str, params: Mapping[str, object]) -> str:
    """Return a request as text; params that are None are left out, as absent.

    Raises:
        MessageTooLong: it is over what the protocol allows such a call.
    """
    given = {name: value for name, value in params.items() if value is not None}
    encoded = msgspec.json.encode({"jsonrpc": "2.0", "id": ident, "method": method, "params": given})
    most = _RECORD_BYTES if method.startswith("record.") else _FRAME_BYTES
    if len(encoded) > most:
        raise MessageTooLong(f"a call of {method} of {len(encoded)} bytes; the server takes {most}")
    return encoded.decode()


def read(frame: bytes) -> Message:
    """Return the message in a frame.

    Raises:
        BadAnswer: it is no JSON-RPC message.
    """
    try:
        return _decoder.decode(frame)
    except msgspec.DecodeError as error:
        raise BadAnswer(f"the server sent what is no JSON-RPC message: {error}") from error
