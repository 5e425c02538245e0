"""What came of a load, as JSON and as a table made from it."""

from typing import Any, Final

from tests.bench.crowd import Outcome
from tests.bench.spread import Spread
from tests.contract import Json

_QUANTILES: Final = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99}
_MOVES: Final = ("session.move", "session.undo")
_BUSY: Final = 85
"""Percent of a core above which a client measures itself."""


def document(outcome: Outcome) -> Json:
    """Return everything as JSON. All of it is of the measured time, but `checks` and `in_all`."""
    plan, tally, checks, seconds = outcome.plan, outcome.tally, outcome.checks, outcome.seconds
    methods = {method: _spread(one, one.count, seconds) for method, one in sorted(tally.results.items())}
    moves = sum(one.count for method, one in tally.results.items() if method in _MOVES)
    return {
        "urls": [place.url for place in plan.places],
        "players": plan.players,
        "watchers": plan.watchers,
        "games": list(plan.games),
        "rate": plan.rate,
        "undo": plan.undo,
        "churn": plan.churn,
        "seconds": round(seconds, 3),
        "calls": _rate(sum(one.count for one in tally.results.values()), seconds),
        "moves": _rate(moves, seconds),
        "events": _spread(tally.events, tally.heard, seconds),
        "methods": methods,
        "errors": [
            {"method": method, "kind": kind, "count": count}
            for (method, kind), count in sorted(tally.errors.items())
        ],
        "rate_limited": {
            "count": sum(count for (_, kind), count in tally.errors.items() if kind == "rate_limited"),
            "waited_ms": round(1000 * tally.waited),
        },
        "reconnects": dict(sorted(tally.reconnects.items())),
        "sessions_ended": dict(sorted(tally.ended.items())),
        "checks": {
            "sessions": checks.sessions,
            "patches": checks.changes,
            "failed": checks.failed,
            "failures": checks.failures,
        },
        "in_all": {
            "sent": dict(sorted(tally.sent.items())),
            "answered": dict(sorted(tally.answered.items())),
        },
        "client_cpu_percent": round(100 * outcome.cpu / seconds, 1),
    }


def _rate(count: int, seconds: float) -> dict[str, float]:
    return {"count": count, "a_second": round(count / seconds, 1)}


def _spread(spread: Spread, count: int, seconds: float) -> dict[str, float | None]:
    quantiles = {name: _ms(spread.quantile(share), spread) for name, share in _QUANTILES.items()}
    return {**_rate(count, seconds), **quantiles, "max_ms": _ms(spread.longest, spread)}


def _ms(seconds: float, spread: Spread) -> float | None:
    return round(1000 * seconds, 2) if spread.count else None


def table(document: Json) -> str:
    """Return the report as people read it."""
    lines = [_title(document), ""]
    rows = [
        ["", "count", "a second", "p50 ms", "p90 ms", "p99 ms", "max ms"],
        *(_cells(method, one) for method, one in document["methods"].items()),
    ]
    if document["watchers"]:
        rows.append(_cells("events at watchers", document["events"]))
    rows += [_cells("all calls", document["calls"]), _cells("moves and undos", document["moves"])]
    lines += [*_aligned(rows), ""]
    for error in document["errors"]:
        lines.append(f"error {error['kind']} {error['method'] or '(no call)'}: {error['count']}")
    limited = document["rate_limited"]
    if limited["count"]:
        lines.append(f"rate limited {limited['count']} times, waited {limited['waited_ms']} ms in all")
    lines.append(_counts("reconnects by close code", document["reconnects"]))
    lines.append(_counts("sessions ended", document["sessions_ended"]))
    checks = document["checks"]
    lines.append(
        f"checks: {checks['patches']} patches in {checks['sessions']} sessions, {checks['failed']} failed"
    )
    lines += [f"FAILED {failure}" for failure in checks["failures"]]
    in_all = document["in_all"]
    lines.append(_counts("calls sent in all, those before and after included", in_all["sent"]))
    lines.append(_counts("of them answered with a result", in_all["answered"]))
    busy = document["client_cpu_percent"]
    lines.append(f"this program took {busy} percent of a core")
    if busy > _BUSY:
        lines.append("so it may be what was measured: take fewer players, or run several of it side by side")
    return "\n".join(lines)


def _title(document: Json) -> str:
    rate = document["rate"]
    pace = "as fast as answers come" if rate is None else f"at {rate} moves a second"
    return (
        f"{document['players']} players and {document['watchers']} watchers at {', '.join(document['urls'])} "
        f"for {document['seconds']} s, {pace}\n"
        f"playing {', '.join(document['games'])}; "
        f"share of undos {document['undo']}, of connections cut {document['churn']}"
    )


def _cells(name: str, numbers: dict[str, Any]) -> list[str]:
    keys = ("count", "a_second", *_QUANTILES, "max_ms")
    return [name, *("" if numbers.get(key) is None else str(numbers[key]) for key in keys)]


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]


def _counts(name: str, counts: dict[str, int]) -> str:
    return f"{name}: {', '.join(f'{key} {count}' for key, count in counts.items()) or 'none'}"
