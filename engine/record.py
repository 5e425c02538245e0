"""Records: a finished attempt as a document that anybody can play again and check."""

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias, cast

from engine.deal import commitment, shuffle
from engine.errors import EngineError, IllegalMove, SeedError
from engine.events import MOST_EVENTS, apply
from engine.game import Game
from engine.games import make_game
from engine.play import Play

FORMAT = "patience-record/1"
_MOST_INT = 2**53 - 1
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)

Document: TypeAlias = Mapping[str, Any]
"""A record as JSON gives it."""

_FIELDS: dict[str, tuple[type, ...]] = {
    "format": (str,),
    "session": (str,),
    "game": (str,),
    "rules": (str,),
    "options": (dict,),
    "mode": (str,),
    "player": (dict,),
    "seed": (str, type(None)),
    "commitment": (str,),
    "status": (str,),
    "score": (int,),
    "started_at": (str,),
    "ended_at": (str, type(None)),
    "elapsed_ms": (int,),
    "events": (list,),
    "digest": (str,),
}
_EVENT_FIELDS: dict[str, tuple[type, ...]] = {
    "seq": (int,),
    "kind": (str,),
    "move": (str, type(None)),
    "elapsed_ms": (int,),
}
_PLAYER_FIELDS: dict[str, tuple[type, ...]] = {"id": (str,), "name": (str,), "kind": (str,)}


class Verdict(NamedTuple):
    """Whether a record is a legal attempt at its deal that ended as it says."""

    valid: bool
    score: int | None
    """The score that playing it gives; None if it was not played."""

    status: str | None
    reason: str | None
    """Why it is not valid: a kind of `EngineError`, a reason of `IllegalMove`, or the field at fault."""

    at: int | None
    """The index, from 0, of the first event at fault."""


class _Fault(Exception):
    """Something in a record is wrong."""

    def __init__(self, reason: str, at: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


def canonical(value: object) -> bytes:
    """Return a value's canonical JSON (RFC 8785).

    Numbers are whole ones, which is all that records have.

    Raises:
        ValueError: a number that is not whole or not exact in every language, a text that is not
            Unicode, or something that JSON does not have.
    """
    return _canonical(value).encode("utf-8")


def _canonical(value: object) -> str:
    if value is None or isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int) and abs(value) <= _MOST_INT:
        return str(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(_canonical(item) for item in cast("list[object]", value)) + "]"
    if isinstance(value, dict):
        members = cast("dict[str, object]", value).items()
        ordered = sorted(members, key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{_canonical(key)}:{_canonical(item)}" for key, item in ordered) + "}"
    raise ValueError(f"not in canonical JSON: {type(value).__name__}")


def digest(record: Document) -> str:
    """Return the digest of a record: the SHA-256 of its canonical JSON without ``digest``.

    Raises:
        ValueError: as `canonical` does.
    """
    return sha256(canonical({key: value for key, value in record.items() if key != "digest"})).hexdigest()


def sealed(record: Document) -> dict[str, Any]:
    """Return a record with its digest put in."""
    return {**record, "digest": digest(record)}


def begin(record: Document) -> Play:
    """Deal a record's deal again. That the record is in order is not checked: see `verify`."""
    game = make_game(record["game"], record["options"])
    return Play(game, shuffle(record["seed"], game.decks))


def verify(record: Document) -> Verdict:
    """Play a record again from its seed and say whether it is a legal attempt that ended so.

    It shows that the record is possible, not where it comes from.
    """
    try:
        _check_shape(record)
        game = _check_deal(record)
        play = Play(game, shuffle(record["seed"], game.decks))
    except _Fault as fault:
        return Verdict(False, None, None, fault.reason, fault.at)
    try:
        _play_events(record, play)
        _check_end(record, play)
    except _Fault as fault:
        return Verdict(False, play.score, play.status, fault.reason, fault.at)
    return Verdict(True, play.score, play.status, None, None)


def _check_fields(value: object, fields: Mapping[str, tuple[type, ...]], fault: _Fault) -> None:
    """Hold an object against the fields that it must have, and no others."""
    if not isinstance(value, dict):
        raise fault
    members = cast("dict[str, object]", value)
    if members.keys() != fields.keys():
        raise fault
    for key, types in fields.items():
        member = members[key]
        if not isinstance(member, types) or isinstance(member, bool):
            raise fault
        if isinstance(member, int) and not 0 <= member <= _MOST_INT:
            raise fault


def _check_shape(record: Document) -> None:
    """Check types, times and the digest."""
    _check_fields(record, _FIELDS, _Fault("malformed"))
    _check_fields(record["player"], _PLAYER_FIELDS, _Fault("malformed"))
    if record["player"]["kind"] not in {"guest", "account", "bot"}:
        raise _Fault("malformed")
    for i, event in enumerate(record["events"]):
        _check_fields(event, _EVENT_FIELDS, _Fault("malformed", i))
    if record["format"] != FORMAT:
        raise _Fault("format")
    try:
        if digest(record) != record["digest"]:
            raise _Fault("digest")
    except ValueError:
        raise _Fault("malformed") from None
    started = _time(record["started_at"], "started_at")
    if record["ended_at"] is not None:
        _time(record["ended_at"], "ended_at")
    try:
        _ = started + timedelta(milliseconds=record["elapsed_ms"])
    except OverflowError:
        raise _Fault("elapsed_ms") from None


def _time(text: str, field: str) -> datetime:
    """Read a time."""
    try:
        if _TIME.fullmatch(text):
            return datetime.fromisoformat(text)
    except ValueError:
        pass
    raise _Fault(field)


def _check_deal(record: Document) -> Game:
    """Check what the attempt was at."""
    try:
        game = make_game(record["game"], record["options"])
    except EngineError as error:
        raise _Fault(error.kind) from None
    if record["rules"] != game.rules:
        raise _Fault("rules")
    if record["options"] != game.options:
        raise _Fault("options")
    if record["mode"] not in {"casual", "daily", "race"}:
        raise _Fault("mode")
    seed = record["seed"]
    if seed is None:
        raise _Fault("seed")
    try:
        shuffle(seed, 1)
    except SeedError as error:
        raise _Fault(error.kind) from None
    if commitment(seed) != record["commitment"]:
        raise _Fault("commitment")
    return game


def _play_events(record: Document, play: Play) -> None:
    """Let the events happen, one after another."""
    elapsed = steps = 0
    for i, event in enumerate(record["events"]):
        kind, move = event["kind"], event["move"]
        if event["seq"] != i + 1:
            raise _Fault("seq", i)
        if kind not in {"move", "undo", "resign", "expire", "reveal"} or (move is None) == (
            kind in {"move", "undo"}
        ):
            raise _Fault("malformed", i)
        if event["elapsed_ms"] < elapsed:
            raise _Fault("elapsed_ms", i)
        elapsed = event["elapsed_ms"]
        steps += kind in {"move", "undo"}
        casual = record["mode"] == "casual"
        if (kind == "undo" and not casual) or (kind == "reveal" and casual) or steps > MOST_EVENTS:
            raise _Fault("not_allowed", i)
        try:
            apply(play, kind, move)
        except IllegalMove as error:
            raise _Fault(error.reason, i) from None
        except EngineError as error:
            raise _Fault(error.kind, i) from None


def _check_end(record: Document, play: Play) -> None:
    """Check that it ended as it says."""
    if record["status"] != play.status:
        raise _Fault("status")
    if record["score"] != play.score:
        raise _Fault("score")
    over = play.status != "playing"
    if over != (record["ended_at"] is not None):
        raise _Fault("ended_at")
    last = record["events"][-1]["elapsed_ms"] if record["events"] else 0
    if record["elapsed_ms"] < last or (over and record["elapsed_ms"] != last):
        raise _Fault("elapsed_ms")
