from datetime import UTC, datetime, timedelta

from server.clock import SystemClock, elapsed_ms, rfc3339, to_milliseconds


def test_the_time_is_in_utc_and_in_whole_milliseconds() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    now = SystemClock().now()
    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC
    assert now.microsecond % 1000 == 0


def test_milliseconds_are_never_rounded_up() -> None:
    moment = datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert rfc3339(to_milliseconds(moment)) == "2026-12-31T23:59:59.999Z"


def test_times_are_written_as_the_protocol_says() -> None:
    assert rfc3339(datetime(2026, 11, 30, 9, tzinfo=UTC)) == "2026-11-30T09:00:00.000Z"
    assert rfc3339(datetime(2026, 11, 30, 9, 0, 0, 7_000, tzinfo=UTC)) == "2026-11-30T09:00:00.007Z"


def test_elapsed_is_in_milliseconds_and_never_negative() -> None:
    start = datetime(2026, 11, 30, 9, tzinfo=UTC)
    assert elapsed_ms(start, start + timedelta(days=40, milliseconds=3)) == 40 * 86_400_000 + 3
    assert elapsed_ms(start, start - timedelta(seconds=1)) == 0
