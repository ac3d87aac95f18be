"""What a process counts of its settles."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.metrics.counts import MEMORY_EVERY_PAGES, VISITS_MOST, Buckets, Counts, SettledBatch, resident_bytes
from app.store.fetches import Fetch
from app.store.renders import RenderEnd

DELAY_S = 1.0


def fetch(start_s: float, end_s: float, outcome: str = "page", **columns: Any) -> Fetch:
    row: dict[str, Any] = {"kind": "page", "failure": None, "wire_bytes": 10, "host_id": 1, "delay_s": DELAY_S}
    row |= {"start_s": start_s, "end_s": end_s, "outcome": outcome, "total_ms": 40.0, "first_byte_ms": 30.0}
    return row | columns  # type: ignore[return-value]


def batch(
    *fetches: Fetch,
    visit_id: int = 7,
    pages: int = 0,
    ending: str | None = None,
) -> SettledBatch:
    return SettledBatch(visit_id, 1, fetches, pages, ending)


def rendered(state: str, ending: str | None, refused: Mapping[str, int] | None = None, **columns: Any) -> RenderEnd:
    row: dict[str, Any] = {"state": state, "ending": ending, "wall_ms": 700.0 if ending else None}
    return row | {"refused": refused, "answered": 0, "cached": 0} | columns  # type: ignore[return-value]


# state, ending, requests answered, of these cached, refused; what is then counted
RENDERED = [
    ("done", "quiet", 3, 1, {"type": 2}, (2, 1, 2)),
    ("done", "deadline", 0, 0, {"time": 4, "type": 1}, (0, 0, 5)),
    ("due", "quiet", 1, 2, None, (0, 1, 0)),  # one came from the cache after the page had ended
    ("failed", None, 0, 0, None, (0, 0, 0)),
]


@pytest.mark.parametrize(("state", "ending", "answered", "cached", "refused", "requests"), RENDERED)
def test_a_rendering_is_counted_with_its_requests(
    state: str,
    ending: str | None,
    answered: int,
    cached: int,
    refused: Mapping[str, int] | None,
    requests: tuple[int, int, int],
) -> None:
    counts = Counts()
    counts.rendered([rendered(state, ending, refused, answered=answered, cached=cached)])
    assert +counts.renders == {(state, ending or "none"): 1}
    assert tuple(counts.render_requests[verdict] for verdict in ("answered", "cached", "refused")) == requests
    assert +counts.render_refused == (refused or {})
    assert counts.render_s.total == (0.7 if ending else 0)


def test_a_settle_is_counted_whole() -> None:
    counts = Counts()
    counts.settled(
        [
            batch(fetch(0, 1), fetch(2, 3, "broken", failure="cut", first_byte_ms=None), pages=1),
            batch(fetch(0, 1, kind="robots"), fetch(5, 5, "unsent"), visit_id=8, ending="delay"),
        ],
        took_s=0.004,
    )
    assert counts.fetches == {
        ("page", "page"): 1,
        ("page", "broken"): 1,
        ("robots", "page"): 1,
        ("page", "unsent"): 1,
    }
    assert (counts.failures, counts.visits, counts.pages) == ({"cut": 1}, {"delay": 1}, 1)
    assert (counts.received_bytes, sum(counts.fetch_s.counts), sum(counts.first_byte_s.counts)) == (30, 3, 2)
    assert counts.settle_s.cumulated()[:2] == [("0.0025", 0.0), ("0.005", 1.0)]


# requests of one batch after the other of a visit; gaps too short, requests at once
JUDGED = [
    ([[fetch(0, 1), fetch(2, 3), fetch(4, 5)]], 0, 0),
    ([[fetch(0, 1), fetch(1.5, 3)]], 1, 0),
    ([[fetch(0, 1), fetch(1.9995, 3)]], 0, 0),  # within the slack of v_politeness_audit
    ([[fetch(0, 1), fetch(0.5, 3)]], 0, 1),
    ([[fetch(0, 1)], [fetch(1.5, 3)]], 1, 0),  # between two settles
    ([[fetch(0, 1)], [], [fetch(1.5, 3)]], 1, 0),
    ([[fetch(0, 1), fetch(1.1, 1.2, "unsent"), fetch(2, 3)]], 0, 0),
    ([[fetch(0, 1), fetch(1.1, 1.2, host_id=2), fetch(2, 3)]], 0, 0),  # to a host that was borrowed for its robots.txt
]


@pytest.mark.parametrize(("batches", "gaps", "at_once"), JUDGED)
def test_requests_of_a_visit_are_judged_as_the_audit_does(batches: list[list[Fetch]], gaps: int, at_once: int) -> None:
    counts = Counts()
    for fetches in batches:
        counts.settled([batch(*fetches)], took_s=0.1)
    assert counts.violations == {"gap": gaps, "concurrent": at_once}


def test_another_visit_starts_anew_and_what_never_ends_is_forgotten() -> None:
    counts = Counts()
    for visit_id in range(VISITS_MOST + 10):
        counts.settled([batch(fetch(0, 1), visit_id=visit_id)], took_s=None)
    counts.settled([batch(fetch(0.5, 1), visit_id=3)], took_s=None)  # forgotten
    counts.settled([batch(fetch(0.5, 1), visit_id=VISITS_MOST)], took_s=None)
    assert counts.violations == {"gap": 0, "concurrent": 1}
    assert sum(counts.settle_s.counts) == 0


def test_requests_without_a_lease_are_counted_apart() -> None:
    counts = Counts()
    counts.fenced_off(batch(fetch(0, 1), fetch(2, 2, "unsent"), ending="fenced"))
    assert (counts.fenced, counts.visits, counts.fetches["page", "page"]) == (1, {"fenced": 1}, 1)


def test_memory_is_due_every_thousand_pages() -> None:
    counts = Counts()
    told = [counts.settled([batch(pages=400)], took_s=0.1) for _ in range(6)]
    assert told == [None, None, 1_200, None, 2_000, None]
    assert MEMORY_EVERY_PAGES == 1_000


def test_a_process_knows_its_memory() -> None:
    held = resident_bytes()
    assert held is None or 5_000_000 < held < 50_000_000_000


def test_buckets_are_cumulated_and_a_copy_stands_still() -> None:
    buckets = Buckets((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        buckets.add(value)
    copy = buckets.copy()
    buckets.add(0.05)
    assert copy.cumulated() == [("0.1", 2.0), ("1.0", 3.0), ("+Inf", 4.0)]
    assert copy.total == pytest.approx(7.65)
