"""What every process has of the sessions that were played, held against all that anybody was told."""

from collections.abc import Sequence
from itertools import pairwise

from tests.contract import Json
from tests.durability.audit import audit, timeless
from tests.durability.chronicle import Story
from tests.durability.crowd import Attempt, Playing, hold
from tests.peer import Peer


async def audit_everywhere(
    fresh: Peer, others: Sequence[Peer], player: Playing, stories: dict[str, Story]
) -> int:
    """Look at all sessions of a player, which must be over.

    Args:
        fresh: a connection to a process that has nothing in memory, and so replays everything.
        others: connections to the processes that it was played on.
        player: whose sessions they are.
        stories: what was told of them.

    Returns:
        How many sessions were looked at.

    Raises:
        Violation: something is lost, doubled, broken, or not the same everywhere.
    """
    looked = await audit(fresh, player)
    for attempt in player.attempts:
        story = stories[attempt.session]
        hold(len(attempt.events) == attempt.seq, "more was made than was answered:", attempt.session)
        _check_order(attempt.events)
        _check_story(attempt, story)
        await _check_views(fresh, attempt, story)
        record = await fresh.call("session.record", session=attempt.session)
        for peer in others:
            view = await peer.call("session.get", session=attempt.session)
            hold(timeless(view) == timeless(attempt.view), "another view elsewhere:", attempt.session)
            again = await peer.call("session.record", session=attempt.session)
            hold(record == again, "another record elsewhere:", attempt.session)
    return looked


async def audit_list(peer: Peer, player: Playing) -> None:
    """Check that exactly those sessions were made of which the player knows; `peer` acts for the player."""
    listed: list[str] = []
    cursor: str | None = None
    while True:
        page = await peer.call("session.list", limit=100, cursor=cursor)
        listed += [item["session"] for item in page["sessions"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    known = [attempt.session for attempt in reversed(player.attempts)]
    hold(listed == known, "other sessions than were dealt:", listed, known)


def _check_order(events: Sequence[Json]) -> None:
    """Check that time never runs backwards."""
    for before, after in pairwise(events):
        forward = before["at"] <= after["at"] and before["elapsed_ms"] <= after["elapsed_ms"]
        hold(forward, "time runs backwards:", before, after)


def _check_story(attempt: Attempt, story: Story) -> None:
    """Check that what was told is what is there."""
    for seq, event in story.events.items():
        hold(0 < seq <= attempt.seq, "an event was told that is not there:", event)
        hold(event == attempt.events[seq - 1], "another event was told:", event, attempt.events[seq - 1])
    for seq, answer in story.answers.items():
        event = attempt.events[seq - 1]
        same = all(answer[key] == event[key] for key in ("seq", "patch", "check"))
        hold(same, "another change was answered:", answer, event)


async def _check_views(peer: Peer, attempt: Attempt, story: Story) -> None:
    """Check that what was shown is what it was."""
    for seq, view in story.views.items():
        then = await peer.call("session.get", session=attempt.session, seq=seq)
        hold(timeless(then) == view, "another view was shown:", view, then)
