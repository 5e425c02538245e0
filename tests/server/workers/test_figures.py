"""The metrics of all workers as one text, which Prometheus's own parser judges."""

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from server.workers.figures import Figures, merged


def figures(number: int, calls: dict[str, int], connections: int) -> Figures:
    """Return what a worker says of itself."""
    registry = CollectorRegistry()
    counter = Counter("patience_calls", "Calls by method.", ["method"], registry=registry)
    for method, count in calls.items():
        counter.labels(method).inc(count)
    Gauge("patience_connections", "Open WebSockets.", registry=registry).set(connections)
    text = generate_latest(registry).decode()
    return Figures(number, ready=True, text=text)


def test_each_line_tells_whose_it_is_and_those_of_a_metric_stand_together() -> None:
    text = merged([figures(1, {"a": 1, "b": 2}, 10), figures(2, {"a": 4}, 20)])
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    by_name = {family.name: family for family in families}
    assert by_name["patience_calls"].documentation == "Calls by method."
    calls = {
        (sample.labels["worker"], sample.labels["method"]): sample.value
        for sample in by_name["patience_calls"].samples
        if sample.name == "patience_calls_total"
    }
    assert calls == {("1", "a"): 1, ("1", "b"): 2, ("2", "a"): 4}
    assert by_name["patience_connections"].type == "gauge"
    connections = by_name["patience_connections"].samples
    assert [(sample.labels, sample.value) for sample in connections] == [
        ({"worker": "1"}, 10),
        ({"worker": "2"}, 20),
    ]


def test_a_worker_that_says_nothing_is_shown_as_not_ready() -> None:
    text = merged([figures(1, {"a": 1}, 10), Figures(2, ready=False, text="")])
    families = {family.name: family for family in text_string_to_metric_families(text)}
    ready = families["patience_worker_ready"].samples
    assert {sample.labels["worker"]: sample.value for sample in ready} == {"1": 1, "2": 0}
    assert [sample.labels for sample in families["patience_connections"].samples] == [{"worker": "1"}]
