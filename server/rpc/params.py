"""Decoding the params of one method, by name or by position, and finding the one at fault."""

import re
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import DecodeError

from server.rpc.errors import InvalidParams, InvalidRequest, RpcError

P = TypeVar("P", bound=msgspec.Struct)

# How msgspec words its errors: what is wrong, then where if that is not the whole.
_WORDS: Final = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<place>[^`]*)`)?", re.DOTALL)
_FIELD: Final = re.compile(r"Object (?:missing required|contains unknown) field `(?P<field>.*)`", re.DOTALL)
_TOO_FEW: Final = re.compile(r"Expected `array` of at least length \d+, got (?P<given>\d+)")
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]")


class ParamsDecoder(Generic[P]):
    """Decodes the params of one method."""

    __slots__ = ("_decode", "_names", "_twin", "_type")

    def __init__(self, params: type[P]) -> None:
        """Prepare for `params`; raises TypeError if it is not as `Method.params` asks."""
        fields = msgspec.structs.fields(params)
        if not params.__struct_config__.forbid_unknown_fields:
            raise TypeError(f"{params.__name__} must forbid unknown fields")
        if any(not field.required and field.default is not None for field in fields):
            raise TypeError(f"{params.__name__}: the default of an optional param must be None")
        twin = msgspec.defstruct(
            params.__name__,
            [
                (field.name, field.type) if field.required else (field.name, field.type, None)
                for field in fields
            ],
            array_like=True,
            forbid_unknown_fields=True,
        )
        self._type = params
        self._names = [field.encode_name for field in fields]
        self._twin = msgspec.json.Decoder(twin)
        # A union can't hold both structs, but it can hold a list to tell that the other one is meant.
        decoder: msgspec.json.Decoder[P | list[Any]] = msgspec.json.Decoder(params | list[msgspec.Raw])
        self._decode = decoder.decode

    def decode(self, raw: msgspec.Raw) -> P:
        """Decode params, by name or by position.

        Raises:
            InvalidParams: they don't fit.
            InvalidRequest: they are neither an object nor an array.
        """
        try:
            params = self._decode(raw)
            if isinstance(params, list):
                return self._type(**msgspec.structs.asdict(self._twin.decode(raw)))
        except DecodeError as error:
            raise self._fault(raw, error) from None
        return params

    def _fault(self, raw: msgspec.Raw, error: DecodeError) -> RpcError:
        """Return what to answer where decoding `raw` raised `error`."""
        first = bytes(raw)[:1]
        if first not in {b"{", b"["}:
            return InvalidRequest()
        words = _WORDS.fullmatch(str(error))
        if words is None:
            return InvalidParams("")
        what, place = words["what"], words["place"] or ""
        # `[...]` stands for some key of a map; the pointer ends at the map then.
        steps = [step["name"] or step["index"] for step in _STEP.finditer(place.partition("[...]")[0])]
        if field := _FIELD.fullmatch(what):
            steps.append(field["field"])
        if first == b"[":
            if steps:
                steps[0] = self._names[int(steps[0])]
            elif few := _TOO_FEW.fullmatch(what):
                steps.append(self._names[int(few["given"])])
        path = "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)
        return InvalidParams(path, f"{what[:200]}, at {path or 'the params'}; rpc.discover tells what fits.")
