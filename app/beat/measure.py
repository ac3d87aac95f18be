"""Measure: writes what each crawl's last minutes were like, a row each (promise S6).

Requests, duplicates and refused links are read by their indexes of time; the frontier is sampled, so that a row costs
the same however large it is.
"""

from collections.abc import Sequence
from typing import Any

import structlog
from sqlalchemy import Connection, Engine

from app.policy.moment import DAY_S
from app.store import caps, crawl_metrics, db, server
from app.store.crawl_metrics import MeasuredSpan

_log = structlog.get_logger()


def measure(engine: Engine) -> int:
    """Write a row for each crawl. Returns how many. Nothing while another process does."""
    with db.transaction(engine) as tx:
        if not server.be_alone(tx, "measure"):
            return 0
        spans = crawl_metrics.spans(tx, longest_s=86_400.0)  # what a row is about at most: beat may have been away
        if spans:
            crawl_metrics.put(tx, _rows(tx, spans))
        crawl_metrics.prune(tx, days=90)
    if spans:
        _log.info("crawls.measured", crawls=len(spans))
    return len(spans)


def _rows(tx: Connection, spans: Sequence[MeasuredSpan]) -> list[dict[str, Any]]:
    percent = caps.sample_percent(tx)
    fetched, repeated = crawl_metrics.of_fetches(tx, spans), crawl_metrics.of_duplicates(tx, spans)
    refused, frontier = crawl_metrics.of_links(tx, spans), crawl_metrics.of_frontier(tx, spans, percent=percent)
    return [
        {
            "crawl_id": span.id,
            "at": span.until,
            "seconds": (span.until - span.since).total_seconds(),
            **_of_fetches(fetched.get(span.id), repeated.get(span.id)),
            **_of_frontier(frontier.get(span.id), percent / 100, getattr(refused.get(span.id), "refused", 0)),
        }
        for span in spans
    ]


def _of_fetches(found: Any, repeated: Any) -> dict[str, Any]:
    if found is None:
        return {"requests": 0, "pages": 0, "recrawls": 0}
    duplicates = min(repeated.duplicates if repeated is not None else 0, found.pages)
    return {
        "requests": found.requests,
        "pages": found.pages,
        "recrawls": found.recrawls,
        "density_ratio": (found.pages - duplicates) / found.requests,
        "fetch_success_rate": found.good / found.requests,
        "avg_response_time_ms": found.response_ms,
        "change_yield": _share(found.changed, found.recrawls),
        "duplicate_discard_rate": _share(duplicates, found.pages),
    }


def _of_frontier(found: Any, share: float, refused: int) -> dict[str, Any]:
    """share: of the frontier that was looked at"""
    if found is None:
        return {"frontier_depth": 0, "robots_denials": 0}
    return {
        "p1_coverage_rate": _share(found.p1_fetched, found.p1),
        "avg_staleness_days": None if found.age_s is None else float(found.age_s) / DAY_S,
        "discard_rate": _share(refused, refused + found.admitted / share),
        "frontier_depth": round(found.queued / share),
        "robots_denials": round(found.denied / share),
    }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
