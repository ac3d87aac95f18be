"""Turns counts into Prometheus' families, and these into a page. The only module that imports prometheus-client."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from app.metrics.buckets import Buckets
from app.metrics.catalogue import ALL, MetricKind

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Value = float | Buckets | Mapping[Any, float]  # of a metric without labels, of a histogram, by the values of its labels


class _Collector:
    """Asks for the values at each scrape."""

    def __init__(self, values: Callable[[], Mapping[str, Value]]) -> None:
        self._values = values

    def collect(self) -> Iterable[Metric]:
        return [family(name, value) for name, value in self._values().items()]

    def describe(self) -> Iterable[Metric]:
        return ()  # else it would be asked for values to be registered


def family(name: str, value: Value) -> Metric:
    """A metric of the catalogue with its values. Raises KeyError for one that is not there."""
    spec = ALL[name]
    if isinstance(value, Buckets):
        return HistogramMetricFamily(name, spec.help, buckets=value.cumulated(), sum_value=value.total)
    make = CounterMetricFamily if spec.kind is MetricKind.COUNTER else GaugeMetricFamily
    made = make(name, spec.help, labels=spec.labels)
    for labels, number in value.items() if isinstance(value, Mapping) else [((), value)]:
        made.add_metric([labels] if isinstance(labels, str) else [str(label) for label in labels], number)
    return made


def registry(values: Callable[[], Mapping[str, Value]], *, of_process: bool = True) -> CollectorRegistry:
    """A registry of these values, and of the process: memory, CPU, file descriptors."""
    made = CollectorRegistry()
    made.register(_Collector(values))
    if of_process:
        ProcessCollector(registry=made)
        GCCollector(registry=made)
    return made


def page(registry: CollectorRegistry) -> bytes:
    return generate_latest(registry)
