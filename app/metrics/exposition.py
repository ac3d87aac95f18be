"""Turns counts into Prometheus' families, and these into a page. The only module that imports prometheus-client."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from app.metrics.counts import Buckets

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


# Every metric of ours: its name, kind, labels and meaning.
#
# `python -m app.metrics.exposition` prints them for docs/metrics.md. Names follow Prometheus' conventions: base units,
# `_total` for what only grows. A label has a closed set of values: none is of the web that is crawled, nor of a crawl.


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class MetricSpec(NamedTuple):
    """A metric. name: as it is queried, a histogram's without its suffix.   labels: names"""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()


_C, _G, _H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

# Of each worker and of beat: counted since the process began.
PROCESS = (
    MetricSpec("tiptoe_fetches_total", _C, "Requests in the log, by kind and outcome.", ("kind", "outcome")),
    MetricSpec("tiptoe_fetch_failures_total", _C, "Requests without a complete answer, by cause.", ("failure",)),
    MetricSpec("tiptoe_pages_total", _C, "Documents that crawls got, unchanged ones among them."),
    MetricSpec("tiptoe_received_bytes_total", _C, "Body bytes as they came over the wire."),
    MetricSpec("tiptoe_fetch_seconds", _H, "Seconds of a request, DNS and connecting included."),
    MetricSpec("tiptoe_first_byte_seconds", _H, "Seconds to the first byte of an answer."),
    MetricSpec(
        "tiptoe_politeness_violations_total",
        _C,
        "Requests that began sooner after the one before to their host than its delay allows (gap), or before its end "
        "(concurrent), within a visit.",
        ("violation",),
    ),
    MetricSpec("tiptoe_fenced_fetches_total", _C, "Requests of visits that had lost their lease."),
    MetricSpec(
        "tiptoe_mixed_names_total",
        _C,
        "Connections to names of which some addresses may not be contacted: those are dropped.",
    ),
    MetricSpec("tiptoe_visits_ended_total", _C, "Visits that ended, by ending.", ("ending",)),
    MetricSpec("tiptoe_settle_seconds", _H, "Seconds of a settle: one transaction, of one or more visits."),
    MetricSpec("tiptoe_dispatch_seconds", _H, "Seconds of a dispatch: hosts claimed and offered."),
    MetricSpec("tiptoe_hosts_dispatched_total", _C, "Hosts that were offered to a queue."),
    MetricSpec(
        "tiptoe_dispatch_last_success_timestamp_seconds", _G, "Unix time of the process's last dispatch; 0: none yet."
    ),
    MetricSpec(
        "tiptoe_renders_total",
        _C,
        "Pages that a browser opened or gave up, by the state of their row (due: they are tried again), and by why the "
        "rendering ended (none: there is no document).",
        ("state", "ending"),
    ),
    MetricSpec("tiptoe_render_seconds", _H, "Seconds of a rendering, from opening the page to its document."),
    MetricSpec(
        "tiptoe_render_requests_total",
        _C,
        "Requests of rendered pages: answered by a request of ours, cached, refused.",
        ("verdict",),
    ),
    MetricSpec(
        "tiptoe_render_refused_total", _C, "Requests of rendered pages that were refused, by reason.", ("reason",)
    ),
    MetricSpec("tiptoe_visits_in_hand", _G, "Visits that the process has begun and not ended, parked ones included."),
    MetricSpec(
        "tiptoe_visits_in_hand_most",
        _G,
        "As many as it takes on now: fewer while they are late. Where as many are in hand, it serves all that it can.",
    ),
    MetricSpec("tiptoe_archive_stopped", _G, "1 while the process cannot write its archive, and so fetches nothing."),
    MetricSpec("tiptoe_memory_limit_bytes", _G, "Memory of the container, or of the machine where it has no limit."),
    MetricSpec("tiptoe_memory_available_bytes", _G, "What is left of it."),
)
# Of `tiptoe web`: what Postgres tells when it is asked.
FLEET = (
    MetricSpec("tiptoe_frontier_urls", _G, "Queued URLs of active crawls by lane: an estimate.", ("lane",)),
    MetricSpec(
        "tiptoe_queue_depth_urls", _G, "Of these: URLs of hosts that are due and unclaimed by any worker: an estimate."
    ),
    MetricSpec("tiptoe_hosts", _G, "Hosts by what they do; an estimate where there are more than 2,000.", ("state",)),
    MetricSpec("tiptoe_leases", _G, "Hosts that a worker visits now."),
    MetricSpec("tiptoe_dispatch_lag_seconds", _G, "Seconds that the host due for longest waits for a worker."),
    MetricSpec(
        "tiptoe_recent_violations",
        _G,
        "Politeness violations among the newest 200 requests of the last 5 minutes, visits of several workers "
        "compared.",
        ("violation",),
    ),
    MetricSpec("tiptoe_recent_requests_judged", _G, "Requests among those that had one before them to compare with."),
    MetricSpec("tiptoe_crawls", _G, "Crawls by state.", ("state",)),
    MetricSpec("tiptoe_archive_nodes", _G, "Machines that write the archive, by whether they can.", ("state",)),
    MetricSpec("tiptoe_archive_free_bytes", _G, "Free space of the fullest of their disks."),
    MetricSpec(
        "tiptoe_backlog_pages",
        _G,
        "Pages that wait to be compared (near_duplicates), indexed (search) or handled (handlers; 20,000 if there are "
        "more): about as many.",
        ("queue",),
    ),
    MetricSpec("tiptoe_renders_due", _G, "Pages of active crawls that wait for a browser; 10,000 if there are more."),
    MetricSpec("tiptoe_render_workers", _G, "Workers of queue render, by whether they have a browser.", ("state",)),
    MetricSpec("tiptoe_processes_serving", _G, "Processes in the list for Prometheus, by what they are.", ("process",)),
    MetricSpec("tiptoe_postgres_up", _G, "1 if Postgres answered; 0: the figures of the fleet are left out."),
    MetricSpec("tiptoe_fleet_read_seconds", _G, "Seconds that Postgres took for these figures."),
)
ALL = {spec.name: spec for spec in (*PROCESS, *FLEET)}


def table(specs: tuple[MetricSpec, ...]) -> str:
    """A table of the docs."""
    rows = [
        f"| `{spec.name}` | {spec.kind} | {', '.join(f'`{label}`' for label in spec.labels) or 'none'} | {spec.help} |"
        for spec in specs
    ]
    return "\n".join(["| metric | kind | labels | what it is |", "| --- | --- | --- | --- |", *rows])


if __name__ == "__main__":
    print(table(PROCESS), "", table(FLEET), sep="\n")
