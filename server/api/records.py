"""`record.*`: judging and showing records, which need not be ours."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Meta, Raw, Struct

from engine import Verdict, commitment, make_game, verify
from server import wire
from server.api.sessions import Seq
from server.reading import PAGE, Reading
from server.rpc.call import Call
from server.rpc.errors import InvalidParams, RateLimited, Unavailable
from server.rpc.methods import Method
from server.store.sessions import Session
from server.storing import storing
from server.timeline import Timeline

_AT_ONCE: Final = 2
"""How many records are judged at the same time; each keeps a thread busy for up to a tenth of a second."""

_WAITING: Final = 32
"""How many records may be judged or wait for it, each of half a megabyte at the most."""

_RETRY_MS: Final = 1_000

_NO_ID: Final = UUID(int=0)


RecordParam: TypeAlias = Annotated[
    Raw,
    Meta(
        description="a record, as `session.record` gives it",
        extra_json_schema={"$ref": "#/components/schemas/SessionRecord"},
    ),
]
"""Not decoded before its turn, since then it takes many times the memory; the verdict tells what is wrong."""


class VerifyParams(Struct, forbid_unknown_fields=True):
    """A record."""

    record: RecordParam


class ReplayParams(Struct, forbid_unknown_fields=True):
    """A record, and after which event to begin."""

    record: RecordParam
    since: Seq | None = None


def methods(reading: Reading) -> tuple[Method[Any], ...]:
    """Return the methods; ``reading`` tells what a record of ours does not."""
    turn = asyncio.Semaphore(_AT_ONCE)
    waiting: set[object] = set()

    @asynccontextmanager
    async def judged(raw: Raw) -> AsyncGenerator[tuple[dict[str, Any], Verdict]]:
        """Judge a record when its turn has come, which lasts until the call is done with it."""
        if len(waiting) >= _WAITING:
            raise RateLimited(_RETRY_MS)
        place = object()
        waiting.add(place)
        try:
            async with turn:
                yield await asyncio.to_thread(_judge, raw)
        finally:
            waiting.discard(place)

    async def record_verify(_call: Call, params: VerifyParams) -> wire.Verdict:
        """Play a record again from its seed, and say whether it is possible."""
        async with judged(params.record) as (_, verdict):
            return msgspec.convert(verdict._asdict(), wire.Verdict)

    async def record_replay(_call: Call, params: ReplayParams) -> Raw:
        """Play a record again and return its events, as if one had watched it."""
        async with judged(params.record) as (record, verdict):
            since = params.since or 0
            if not verdict.valid:
                raise InvalidParams("/record", f"This record does not verify: {verdict.reason}.")
            if since > len(record["events"]):
                raise InvalidParams("/since", f"The record has {len(record['events'])} events.")
            with storing():
                source = await reading.source(record["session"], record["digest"])
            return await _replay(record, since, source)

    return (
        Method("record.verify", VerifyParams, wire.Verdict, record_verify),
        Method("record.replay", ReplayParams, wire.Replay, record_replay, errors=(Unavailable,)),
    )


def _judge(raw: Raw) -> tuple[dict[str, Any], Verdict]:
    """Decode a record and judge it.

    Raises:
        InvalidParams: it is no object.
    """
    try:
        record = msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.ValidationError:
        raise InvalidParams("/record", "A record is an object.") from None
    return record, verify(record)


async def _replay(record: dict[str, Any], since: int, source: Session | None) -> Raw:
    """Show a record that verifies as its session was shown, as far as ``source``, if it is ours, tells."""
    game = make_game(record["game"], record["options"])
    started = datetime.fromisoformat(record["started_at"])
    row = Session(
        id=_NO_ID,
        player=_NO_ID,
        game=game.name,
        rules=game.rules,
        variant=game.variant,
        options=dict(game.options),
        mode=record["mode"],
        public=source is not None and source.public,
        seed=record["seed"],
        drawn=source is not None and source.drawn,
        commitment=commitment(record["seed"]),
        request_id=None,
        created_at=started,
    )
    timeline = Timeline(row, wire.Player(**record["player"]), record["session"])
    view = timeline.view(0)
    events: list[Raw] = []
    upto = min(len(record["events"]), since + PAGE)
    for i, event in enumerate(record["events"][:upto]):
        happened = timeline.happen(
            event["kind"], event["move"], started + timedelta(milliseconds=event["elapsed_ms"])
        )
        if i >= since:
            events.append(happened.event(timeline.text))
        if i % 200 == 199:
            await asyncio.sleep(0)
    return wire.raw({"view": view, "events": events, "more": upto < len(record["events"])})
