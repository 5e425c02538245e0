"""Buckets against a plain model, and what is left of visitors who have gone."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from server.buckets import HOUR, SECOND, Bucket, Buckets, Rate, milliseconds

RATES = st.builds(
    Rate.of, st.integers(1, 10**6), st.sampled_from([SECOND, HOUR]), st.integers(min_value=1, max_value=1_000)
)


class Model:
    """A bucket as one tells a child: so many tokens, a new one now and then, never more than it holds."""

    def __init__(self, rate: Rate) -> None:
        self.step = rate.step
        self.most = self.tokens = Fraction(rate.span, rate.step)
        self.at = 0

    def pass_time(self, now: int) -> None:
        self.tokens = min(self.most, self.tokens + Fraction(now - self.at, self.step))
        self.at = now

    def take(self) -> bool:
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@given(
    RATES, st.integers(0, 10**15), st.lists(st.tuples(st.integers(0, 2_000), st.integers(1, 9)), max_size=60)
)
def test_a_bucket_gives_what_the_model_gives(rate: Rate, start: int, arrivals: list[tuple[int, int]]) -> None:
    bucket, model = Bucket(rate), Model(rate)
    now = start
    for hundredths, count in arrivals:
        now += rate.step * hundredths // 100
        model.pass_time(now)
        for _ in range(count):
            assert bucket.left(now) == model.tokens // 1
            assert bucket.wait(now) <= 0 if model.tokens >= 1 else bucket.wait(now) > 0
            if model.take():
                bucket.take(now)
            else:
                wait = bucket.wait(now)
                assert wait == (1 - model.tokens) * rate.step
                assert bucket.left(now + wait) == 1
                assert bucket.left(now + wait - 1) == 0


@given(RATES, st.integers(1, 1_000), st.integers(0, 10**12))
def test_what_is_given_back_was_never_taken(rate: Rate, count: int, later: int) -> None:
    bucket = Bucket(rate)
    bucket.take(1, count)
    bucket.give_back(count)
    assert bucket.left(1 + later) == Bucket(rate).left(1 + later)


def test_a_wait_is_told_in_milliseconds_none_too_few() -> None:
    assert [milliseconds(wait) for wait in (-5, 0, 1, 999_999, 1_000_000, 1_000_001)] == [0, 0, 1, 1, 1, 2]


def test_a_visitor_keeps_a_bucket_until_it_is_full_again() -> None:
    buckets = Buckets(Rate.of(10, SECOND, 5))
    buckets.hold("a", 0).take(0, 5)
    buckets.release("a", 0)
    assert buckets.find("a", SECOND // 10).left(SECOND // 10) == 1
    assert buckets.find("b", 0).left(0) == 5
    held = buckets.hold("a", SECOND)
    assert buckets.hold("a", SECOND) is held
    assert buckets.holders("a") == 2
    buckets.release("a", SECOND)
    assert buckets.find("a", SECOND) is held
    buckets.release("a", SECOND)
    assert buckets.holders("a") == 0
    assert buckets.find("a", SECOND) is not held


def test_nothing_is_left_of_visitors_who_have_gone() -> None:
    buckets = Buckets(Rate.of(10, SECOND, 5))
    for visitor in range(1_000):
        buckets.hold(visitor, 0).take(0)
    for visitor in range(1_000):
        buckets.release(visitor, 0)
    assert len(buckets) == 1_000
    # Their buckets are full again, and a few are forgotten for each visitor who comes.
    for visitor in range(400):
        buckets.find(("new", visitor), SECOND)
    assert len(buckets) <= 1
    for visitor in range(1_000):
        buckets.hold(visitor, 2 * SECOND)
        buckets.release(visitor, 2 * SECOND)
    assert len(buckets) == 0


def test_no_more_are_kept_than_there_is_room_for() -> None:
    buckets = Buckets(Rate.of(1, HOUR, 5), most=100)
    for visitor in range(50):
        buckets.hold(visitor, 0).take(0)
    for visitor in range(1_000, 3_000):
        buckets.find(visitor, 0).take(0)
        assert len(buckets) <= 150
    assert [buckets.find(visitor, 0).left(0) for visitor in range(50)] == [4] * 50
    assert [buckets.find(visitor, 0).left(0) for visitor in range(2_990, 3_000)] == [4] * 10
