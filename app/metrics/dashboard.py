"""The Grafana dashboard. `python -m app.metrics.dashboard` prints it, for ship/grafana/tiptoe.json.

A row of PANELS a panel, in the order in which an operator looks: is it well, what comes in, what waits, what runs.
"""

import json
from typing import Any, NamedTuple

from app.model import Outcome

ERRORS = "|".join(outcome for outcome in Outcome if outcome.is_error)
WIDTH = 24


class Panel(NamedTuple):
    """A panel.

    width     of 24
    queries   (legend, PromQL)
    is_stat   one number, not a chart
    red_from  it is red from there on
    """

    title: str
    unit: str
    width: int
    queries: tuple[tuple[str, str], ...]
    is_stat: bool = False
    red_from: float | None = None


def _quantiles(metric: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"{share:.0%} take at most", f"histogram_quantile({share}, sum by (le) (rate({metric}_bucket[5m])))")
        for share in (0.5, 0.95, 0.99)
    )


_FAILED = f'(sum(rate(tiptoe_fetches_total{{outcome=~"{ERRORS}"}}[5m])) or vector(0))'
_ALL = 'sum(rate(tiptoe_fetches_total{outcome!="unsent"}[5m]))'
ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Is it well?",
        (
            Panel("Pages a second", "reqps", 4, (("", "sum(rate(tiptoe_pages_total[1m]))"),), True),
            Panel("Errors", "percentunit", 4, (("", f"{_FAILED} / {_ALL}"),), True, 0.05),
            Panel("URLs due and unclaimed", "short", 4, (("", "max(tiptoe_queue_depth_urls)"),), True, 100_000),
            Panel("Longest wait for a worker", "s", 4, (("", "max(tiptoe_dispatch_lag_seconds)"),), True, 60),
            Panel(
                "Politeness violations, 24 h",
                "short",
                4,
                (
                    (
                        "",
                        "sum(increase(tiptoe_politeness_violations_total[24h])) + sum(tiptoe_recent_violations)",
                    ),
                ),
                True,
                1,
            ),
            Panel("Workers that answer", "short", 4, (("", 'count(up{job="tiptoe", role="worker"} == 1)'),), True),
        ),
    ),
    (
        "What comes in",
        (
            Panel(
                "Requests a second, by outcome",
                "reqps",
                12,
                (("{{outcome}}", "sum by (outcome) (rate(tiptoe_fetches_total[1m]))"),),
            ),
            Panel(
                "Failures a second, by cause",
                "reqps",
                12,
                (("{{failure}}", "sum by (failure) (rate(tiptoe_fetch_failures_total[1m]))"),),
            ),
            Panel("Received", "Bps", 8, (("bytes a second", "sum(rate(tiptoe_received_bytes_total[1m]))"),)),
            Panel("Seconds of a request", "s", 8, _quantiles("tiptoe_fetch_seconds")),
            Panel("Seconds to the first byte", "s", 8, _quantiles("tiptoe_first_byte_seconds")),
        ),
    ),
    (
        "What waits",
        (
            Panel("Queued URLs by lane", "short", 8, (("lane {{lane}}", "max by (lane) (tiptoe_frontier_urls)"),)),
            Panel("Hosts by what they do", "short", 8, (("{{state}}", "max by (state) (tiptoe_hosts)"),)),
            Panel(
                "Crawls, and hosts visited now",
                "short",
                8,
                (
                    ("crawls {{state}}", "max by (state) (tiptoe_crawls)"),
                    ("hosts visited", "max(tiptoe_leases)"),
                ),
            ),
            Panel(
                "Visits in hand, and as many as workers keep up with",
                "short",
                8,
                (
                    ("in hand", 'sum(tiptoe_visits_in_hand{role="worker"})'),
                    ("at most", 'sum(tiptoe_visits_in_hand_most{role="worker"})'),
                ),
            ),
            Panel(
                "Visits that end, by ending",
                "reqps",
                8,
                (("{{ending}}", "sum by (ending) (rate(tiptoe_visits_ended_total[5m]))"),),
            ),
            Panel(
                "Hosts offered a second",
                "reqps",
                8,
                (("by {{role}}", "sum by (role) (rate(tiptoe_hosts_dispatched_total[1m]))"),),
            ),
            Panel(
                "Pages that wait to be compared, indexed, handled",
                "short",
                8,
                (("{{queue}}", "max by (queue) (tiptoe_backlog_pages)"),),
            ),
        ),
    ),
    (
        "What runs",
        (
            Panel(
                "Memory of each process",
                "bytes",
                8,
                (("{{role}} {{instance}}", 'process_resident_memory_bytes{job=~"tiptoe.*"}'),),
            ),
            Panel(
                "Memory in use, of what there is",
                "percentunit",
                8,
                (("{{role}} {{instance}}", "1 - tiptoe_memory_available_bytes / tiptoe_memory_limit_bytes"),),
            ),
            Panel(
                "Cores in use",
                "short",
                8,
                (("{{role}} {{instance}}", 'rate(process_cpu_seconds_total{job=~"tiptoe.*"}[1m])'),),
            ),
            Panel("Seconds of a settle", "s", 8, _quantiles("tiptoe_settle_seconds")),
            Panel("Seconds of a dispatch", "s", 8, _quantiles("tiptoe_dispatch_seconds")),
            Panel(
                "Since the last dispatch of beat",
                "s",
                8,
                (("", 'time() - max(tiptoe_dispatch_last_success_timestamp_seconds{role="beat"})'),),
            ),
            Panel(
                "Archive",
                "bytes",
                8,
                (("free on the fullest disk", "min(tiptoe_archive_free_bytes)"),),
            ),
            Panel(
                "Machines that write the archive",
                "short",
                8,
                (
                    ("{{state}}", "max by (state) (tiptoe_archive_nodes)"),
                    ("stopped processes", "sum(tiptoe_archive_stopped)"),
                ),
            ),
            Panel(
                "Pages that wait for a browser",
                "short",
                8,
                (("pages", "max(tiptoe_renders_due)"),),
            ),
            Panel(
                "Browsers",
                "short",
                8,
                (("workers {{state}}", "max by (state) (tiptoe_render_workers)"),),
            ),
            Panel(
                "Pages rendered a second",
                "reqps",
                8,
                (
                    (
                        "{{state}} {{ending}}",
                        "sum by (state, ending) (rate(tiptoe_renders_total[5m]))",
                    ),
                ),
            ),
            Panel("Seconds of a rendering", "s", 8, _quantiles("tiptoe_render_seconds")),
            Panel(
                "Requests of rendered pages a second",
                "reqps",
                12,
                (("{{verdict}}", "sum by (verdict) (rate(tiptoe_render_requests_total[5m]))"),),
            ),
            Panel(
                "Of these refused, by reason",
                "reqps",
                12,
                (("{{reason}}", "sum by (reason) (rate(tiptoe_render_refused_total[5m]))"),),
            ),
            Panel(
                "Postgres",
                "s",
                8,
                (
                    ("seconds of the fleet's figures", "max(tiptoe_fleet_read_seconds)"),
                    ("answers (1) or not (0)", "max(tiptoe_postgres_up)"),
                ),
            ),
        ),
    ),
)


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana reads it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS:
        panels.append({"type": "row", "title": title, "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1}})
        top, left = top + 1, 0
        for panel in row:
            height = 4 if panel.is_stat else 7
            panels.append(_panel(panel) | {"gridPos": {"x": left, "y": top, "w": panel.width, "h": height}})
            left += panel.width
            if left >= WIDTH:
                top, left = top + height, 0
    return {
        "uid": "tiptoe",
        "title": "Tiptoe",
        "schemaVersion": 39,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "panels": [panel | {"id": number} for number, panel in enumerate(panels, 1)],
    }


def _panel(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.red_from is not None:
        steps.append({"color": "red", "value": panel.red_from})
    return {
        "type": "stat" if panel.is_stat else "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "tiptoe"},
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
        "targets": [
            {"refId": chr(ord("A") + number), "expr": query, "legendFormat": legend}
            for number, (legend, query) in enumerate(panel.queries)
        ],
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
