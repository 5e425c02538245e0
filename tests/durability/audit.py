"""What a server has of players' sessions, held against what it has answered them."""

from tests.contract import Json
from tests.durability.crowd import Attempt, Playing, Spectator, checksum, hold, patched
from tests.peer import Peer


async def audit(peer: Peer, player: Playing, spectator: Spectator | None = None) -> int:
    """Hold what the server has of a player's sessions against what it has answered.

    A session that was looked at before is looked at from there on, but for its record, which tells it all.

    Returns:
        How many sessions were looked at.

    Raises:
        Violation: something is lost, doubled or broken.
    """
    looked = 0
    for attempt in player.attempts:
        if len(attempt.events) == attempt.seq and attempt.status != "playing":
            continue
        looked += 1
        await _read(peer, attempt)
        events = attempt.events
        hold(len(events) in {attempt.seq, attempt.seq + 1}, "lost or doubled:", attempt.session, attempt.seq)
        for seq, answer in attempt.answers.items():
            event = events[seq - 1]
            same = all(answer[key] == event[key] for key in ("seq", "kind", "patch", "check"))
            hold(same, "not what was answered:", answer, event)
            hold(answer["kind"] != "move" or answer["move"] == event["move"], "another move:", answer, event)
        if spectator is not None:
            seen = spectator.events.get(attempt.session, [])
            hold(seen == events[: len(seen)], "a spectator was told otherwise:", attempt.session)
        await _check_whole(peer, attempt)
    return looked


async def _read(peer: Peer, attempt: Attempt) -> None:
    """Read what has happened in a session since it was looked at, and go on from the view of then."""
    session, events = attempt.session, attempt.events
    if not attempt.view:
        attempt.view = await peer.call("session.get", session=session, seq=0)
    more = True
    while more:
        page = await peer.call("session.subscribe", session=session, since=len(events))
        for event in page["events"]:
            hold(event["seq"] == len(events) + 1, "a gap:", session, event)
            events.append(event)
            attempt.view = patched(attempt.view, event["patch"])
            hold(attempt.view["check"] == event["check"], "a patch leads astray:", session, event)
        more = page["more"]
    await peer.call("session.unsubscribe", session=session)


async def _check_whole(peer: Peer, attempt: Attempt) -> None:
    """Check that the events lead to the view of now, and that the record tells them and can be played."""
    session, events = attempt.session, attempt.events
    now: Json = await peer.call("session.get", session=session)
    hold(timeless(attempt.view) == timeless(now), "the events lead elsewhere:", session)
    hold(checksum(now) == now["check"], "the check is wrong:", session)
    record: Json = await peer.call("session.record", session=session)
    told = [(event["kind"], event["move"], event["elapsed_ms"]) for event in events]
    kept = [(event["kind"], event["move"], event["elapsed_ms"]) for event in record["events"]]
    hold(told == kept, "the record tells another story:", session)
    if now["status"] != "playing":
        verdict: Json = await peer.call("record.verify", record=record)
        hold(verdict["valid"] is True, "the record does not verify:", session, verdict)


def timeless(view: Json) -> Json:
    """Return a view without the time that goes by."""
    return {key: value for key, value in view.items() if key != "elapsed_ms"}
