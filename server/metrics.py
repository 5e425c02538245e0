"""`GET /metrics`: numbers for Prometheus, read off the parts when they are asked for.

Labels take their values from the registry of methods and the list of errors alone, so there are finitely
many.
"""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from server.rpc.call import Tally

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics(Collector):
    """Reads counts and levels off the server's parts."""

    def __init__(self, tally: Tally) -> None:
        """Begin with the calls."""
        self._tally = tally
        self._gauges: list[tuple[str, str, Callable[[], float]]] = []
        self._counters: list[tuple[str, str, Callable[[], float]]] = []
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Show a level."""
        self._gauges.append((name, meaning, read))

    def counter(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Show a count since the start."""
        self._counters.append((name, meaning, read))

    def collect(self) -> Iterator[Metric]:
        """Read everything now."""
        calls = CounterMetricFamily("patience_calls", "Calls by method.", labels=["method"])
        for method, count in list(self._tally.calls.items()):
            calls.add_metric([method], count)
        yield calls
        errors = CounterMetricFamily(
            "patience_errors", "Errors by method and kind.", labels=["method", "kind"]
        )
        for (method, kind), count in list(self._tally.errors.items()):
            errors.add_metric([method, kind], count)
        yield errors
        for name, meaning, read in self._gauges:
            yield GaugeMetricFamily(name, meaning, value=read())
        for name, meaning, read in self._counters:
            yield CounterMetricFamily(name, meaning, value=read())

    async def respond(self, _request: Request) -> Response:
        """Answer Prometheus."""
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE)
