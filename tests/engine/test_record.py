"""Records: verifying one plays it again, and any change shows."""

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import json as msgspec_json

from engine.deal import commitment
from engine.record import Verdict, begin, canonical, sealed, verify
from engine.view import view
from tests.engine.records import FIELDS, Change, changed, json_values, on_file, record_of
from tests.engine.vectors import Playthrough, playthroughs

LOST = "klondike-draw1-lost-9"
WON = "klondike-draw3-win-28"
UNFINISHED = "klondike-draw1-1"


def put(**fields: Any) -> Change:
    """Return a change that sets fields."""
    return lambda record: record.update(fields)


def put_event(index: int, **fields: Any) -> Change:
    """Return a change that sets fields of one event."""
    return lambda record: record["events"][index].update(fields)


def without_mode(record: dict[str, Any]) -> None:
    del record["mode"]


def without_move(record: dict[str, Any]) -> None:
    del record["events"][4]["move"]


def with_text_for_an_event(record: dict[str, Any]) -> None:
    record["events"][4] = "draw"


# What verifies.


@pytest.mark.parametrize("through", playthroughs(), ids=lambda through: through.name)
def test_a_record_of_a_legal_attempt_is_valid(through: Playthrough) -> None:
    final = through.content["final"]
    assert verify(record_of(through)) == Verdict(True, final["score"], final["status"], None, None)


def test_a_record_is_valid_after_a_trip_over_the_wire() -> None:
    record = on_file(WON)
    assert verify(msgspec_json.decode(msgspec_json.encode(record))).valid
    assert verify(json.loads(json.dumps(record, sort_keys=True, indent=1))).valid


def test_the_deal_of_a_record_is_dealt_again() -> None:
    through = next(through for through in playthroughs() if through.name == WON)
    assert view(begin(record_of(through))) == view(through.start())


def test_verifying_changes_nothing() -> None:
    record = on_file(LOST)
    before = canonical(record)
    assert verify(record) == verify(record)
    assert canonical(record) == before


def resigned(record: dict[str, Any]) -> None:
    last = record["events"][-1]
    record["events"].append(
        {"seq": last["seq"] + 1, "kind": "resign", "move": None, "elapsed_ms": last["elapsed_ms"]}
    )
    record.update(status="resigned", ended_at="2026-11-30T10:00:00.000Z")


def test_a_resigned_attempt_is_valid() -> None:
    verdict = verify(changed(on_file(UNFINISHED), resigned))
    assert (verdict.valid, verdict.status) == (True, "resigned")


def test_a_lost_attempt_that_an_undo_takes_up_again_is_valid() -> None:
    def taken_up(record: dict[str, Any]) -> None:
        last = record["events"][-1]
        undo = {
            "seq": last["seq"] + 1,
            "kind": "undo",
            "move": last["move"],
            "elapsed_ms": last["elapsed_ms"],
        }
        record["events"].append(undo)
        record.update(status="playing", ended_at=None)

    record = changed(on_file(LOST), taken_up)
    assert verify(record).valid
    assert verify(record).status == "playing"


def in_a_race(record: dict[str, Any]) -> None:
    """Leave the undos out, with the moves they took back, and let a reveal follow the end."""
    kept: list[dict[str, Any]] = []
    for event in record["events"]:
        if event["kind"] == "undo":
            kept.pop()
        else:
            kept.append(event)
    kept.append({"seq": 0, "kind": "reveal", "move": None, "elapsed_ms": kept[-1]["elapsed_ms"]})
    for seq, event in enumerate(kept, 1):
        event["seq"] = seq
    record.update(mode="race", events=kept)


def test_a_race_has_a_reveal_after_its_end() -> None:
    assert verify(changed(on_file(WON), in_a_race)).valid


def test_a_deal_is_revealed_once() -> None:
    record = changed(on_file(WON), in_a_race)
    record["events"].append(record["events"][-1] | {"seq": len(record["events"]) + 1})
    verdict = verify(sealed(record))
    assert (verdict.valid, verdict.at) == (False, len(record["events"]) - 1)


def test_a_casual_session_has_no_reveal_event() -> None:
    record = changed(on_file(WON), in_a_race)
    verdict = verify(changed(record, put(mode="casual")))
    assert (verdict.reason, verdict.at) == ("not_allowed", len(record["events"]) - 1)


def test_a_race_has_no_undo() -> None:
    record = changed(on_file(WON), put(mode="race"))
    first = next(index for index, event in enumerate(record["events"]) if event["kind"] == "undo")
    verdict = verify(record)
    assert (verdict.reason, verdict.at) == ("not_allowed", first)


# What does not.


def test_any_change_without_a_new_digest_shows() -> None:
    for change in (put(score=1), put(session="s-2"), put_event(3, elapsed_ms=4801), put(elapsed_ms=10**9)):
        assert verify(changed(on_file(LOST), change, seal=False)) == Verdict(
            False, None, None, "digest", None
        )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put(format="patience-record/2"), "format"),
        (put(game="freecell"), "unknown_game"),
        (put(options={"draw": 2}), "option_error"),
        (put(options={"draw": 1}), "options"),
        (put(options={}), "options"),
        (put(rules="klondike/2"), "rules"),
        (put(rules="casket/1"), "rules"),
        (put(mode="practice"), "mode"),
        (put(seed=None), "seed"),
        (put(seed="lost 9"), "seed_error"),
        (put(seed="x" * 65), "seed_error"),
        (put(seed="lost-9\n"), "seed_error"),
        (put(seed="lost-8"), "commitment"),
        (put(commitment="0" * 64), "commitment"),
        (put(started_at="yesterday"), "started_at"),
        (put(started_at="2026-11-30T09:00:00Z"), "started_at"),
        (put(started_at="2026-13-30T09:00:00.000Z"), "started_at"),
        (put(ended_at="2026-11-30 09:00:00.000Z"), "ended_at"),
        (put(score=1 << 60), "malformed"),
        (put(score=-1), "malformed"),
        (put(score=True), "malformed"),
        (put(score="1"), "malformed"),
        (put(session=7), "malformed"),
        (put(player={}), "malformed"),
        (put(player={"id": "7", "name": "Eve", "kind": "king"}), "malformed"),
        (put(player={"id": "p", "name": "n", "kind": "bot", "token": "t"}), "malformed"),
        (put(player="p"), "malformed"),
        (put(events={}), "malformed"),
        (put(events=None), "malformed"),
        (put(more=1), "malformed"),
        (without_mode, "malformed"),
    ],
)
def test_a_record_whose_head_is_at_fault_is_not_played(change: Change, reason: str) -> None:
    record = on_file(LOST)
    change(record)
    try:
        record = sealed(record)
    except ValueError:
        assert reason == "malformed"
    assert verify(record) == Verdict(False, None, None, reason, None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put_event(4, seq=4), "seq"),
        (put_event(4, seq=6), "seq"),
        (put_event(4, elapsed_ms=0), "elapsed_ms"),
        (put_event(4, move="t1-t1"), "target_locked"),
        (put_event(4, move="nonsense"), "malformed"),
        (put_event(4, move=""), "malformed"),
        (put_event(4, move=None), "malformed"),
        (put_event(4, kind="shuffle"), "malformed"),
        (put_event(4, kind="undo", move="t1-t1"), "wrong_undo"),
        (put_event(0, kind="undo", move="draw"), "nothing_to_undo"),
        (put_event(4, kind="resign"), "malformed"),
        (put_event(4, kind="reveal", move=None), "not_allowed"),
    ],
)
def test_an_event_at_fault_is_told_by_its_index(change: Change, reason: str) -> None:
    verdict = verify(changed(on_file(LOST), change))
    at = 0 if reason == "nothing_to_undo" else 4
    assert (verdict.valid, verdict.reason, verdict.at) == (False, reason, at)


@pytest.mark.parametrize(
    "change",
    [
        put_event(4, seq="5"),
        put_event(4, seq=True),
        put_event(4, elapsed_ms=-1),
        put_event(4, move=7),
        put_event(4, more=1),
        without_move,
        with_text_for_an_event,
    ],
)
def test_an_event_of_the_wrong_shape_is_told_by_its_index_and_nothing_is_played(change: Change) -> None:
    assert verify(changed(on_file(LOST), change)) == Verdict(False, None, None, "malformed", 4)


def test_nothing_follows_an_end_but_a_reveal() -> None:
    record = changed(on_file(UNFINISHED), resigned)
    record["events"].append(record["events"][-1] | {"seq": len(record["events"]) + 1})
    verdict = verify(sealed(record))
    assert (verdict.reason, verdict.at) == ("play_over", len(record["events"]) - 1)


def test_a_reveal_before_the_end_is_at_fault() -> None:
    def early(record: dict[str, Any]) -> None:
        in_a_race(record)
        record["events"][0].update(kind="reveal", move=None)

    verdict = verify(changed(on_file(WON), early))
    assert (verdict.reason, verdict.at) == ("wrong_reveal", 0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put(status="won"), "status"),
        (put(status="playing"), "status"),
        (put(score=52), "score"),
        (put(ended_at=None), "ended_at"),
        (put(elapsed_ms=0), "elapsed_ms"),
        (put(elapsed_ms=10**9), "elapsed_ms"),
    ],
)
def test_an_end_that_playing_does_not_give_is_at_fault_with_what_it_gives(
    change: Change, reason: str
) -> None:
    final = next(through for through in playthroughs() if through.name == LOST).content["final"]
    assert verify(changed(on_file(LOST), change)) == Verdict(False, final["score"], "lost", reason, None)


def test_an_attempt_that_goes_on_has_no_end() -> None:
    assert verify(changed(on_file(UNFINISHED), put(ended_at="2026-11-30T10:00:00.000Z"))).reason == "ended_at"


def test_a_session_takes_5000_moves_and_undos() -> None:
    def long(count: int) -> Change:
        def extend(record: dict[str, Any]) -> None:
            kinds = ["move", "undo"] * (count // 2 + 1)
            record["events"] = [
                {"seq": seq, "kind": kind, "move": "draw", "elapsed_ms": 0}
                for seq, kind in enumerate(kinds[:count], 1)
            ]
            record.update(status="playing", score=0, ended_at=None, elapsed_ms=0)

        return extend

    assert verify(changed(on_file(LOST), long(5000))).valid
    verdict = verify(changed(on_file(LOST), long(5001)))
    assert (verdict.reason, verdict.at) == ("not_allowed", 5000)


def judged(record: dict[str, Any]) -> Verdict:
    """Return the verdict on a sealed record; it names a reason exactly if it is not valid."""
    verdict = verify(sealed(record))
    assert verdict.valid == (verdict.reason is None)
    return verdict


options_at_random = st.dictionaries(
    st.sampled_from(["draw", "passes", "worry_back"]) | st.text(), json_values
)


@given(field=st.sampled_from(FIELDS), value=json_values | options_at_random)
def test_any_value_in_any_field_is_judged(field: str, value: Any) -> None:
    judged(on_file(LOST) | {field: value})


@given(
    index=st.integers(0, 40), field=st.sampled_from(["seq", "kind", "move", "elapsed_ms"]), value=json_values
)
def test_any_value_in_any_event_is_judged_and_shows(index: int, field: str, value: Any) -> None:
    record = on_file(LOST)
    event = record["events"][index]
    assume(value != event[field] and field != "elapsed_ms")
    event[field] = value
    verdict = judged(record)
    assert not verdict.valid
    assert verdict.at is None or verdict.at >= index


@given(document=st.dictionaries(st.sampled_from([*FIELDS, "more"]), json_values))
def test_any_object_is_judged(document: dict[str, Any]) -> None:
    assert not judged(document).valid


def test_a_verdict_never_carries_the_seed() -> None:
    secret = "do-not-tell"
    for change in (put(seed=secret), put(seed=f"{secret} "), put(seed=secret, commitment=commitment(secret))):
        assert secret not in repr(verify(changed(on_file(LOST), change)))
