"""The catalogue of metrics: its names, the docs, and what a process shows."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.errors import ArchiveStopped
from app.metrics import exposition, serve
from app.metrics.counts import Counts
from app.metrics.exposition import ALL, FLEET, PROCESS, MetricKind, MetricSpec
from app.model import Failure, Outcome, VisitEnding
from app.model.render import RenderEnding, RenderRefusal
from tests.metrics.test_counts import batch, fetch, rendered

DOCS = Path(__file__).parents[2] / "docs"
UNITS = ("_seconds", "_bytes", "_total", "_timestamp_seconds")
CLOSED = {
    "queue",
    "kind",
    "outcome",
    "failure",
    "violation",
    "ending",
    "lane",
    "state",
    "process",
    "verdict",
    "reason",
}  # labels, each of a closed set of values


def stopped() -> None:
    raise ArchiveStopped("archive at /x", "its disk is full")


def shown(counts: Counts, **values: object) -> dict[str, float]:
    """{name and labels as they stand on the page: value}"""
    made = exposition.registry(lambda: serve.values(counts, stopped, lambda: (3, 8)), of_process=False)
    found = text_string_to_metric_families(exposition.page(made).decode())
    return {
        sample.name + "".join(f" {label}={value}" for label, value in sorted(sample.labels.items())): sample.value
        for family in found
        for sample in family.samples
    }


@pytest.mark.parametrize("spec", ALL.values(), ids=list(ALL))
def test_names_follow_the_conventions(spec: MetricSpec) -> None:
    assert re.fullmatch(r"tiptoe_[a-z]+(_[a-z]+)*", spec.name)
    assert spec.name.endswith("_total") == (spec.kind is MetricKind.COUNTER)
    assert set(spec.labels) <= CLOSED
    assert not re.search(r"_(ms|minutes|kb|mib|mb)(_|$)", spec.name)
    assert spec.kind is not MetricKind.HISTOGRAM or spec.name.endswith(UNITS)


@pytest.mark.parametrize("specs", [PROCESS, FLEET])
def test_every_metric_is_documented_as_it_is(specs: tuple[MetricSpec, ...]) -> None:
    page = (DOCS / "metrics.md").read_text()
    assert exposition.table(specs) in page, "run `python -m app.metrics.exposition` and paste its tables"


def test_a_process_shows_all_of_its_metrics_and_no_other() -> None:
    counts = Counts()
    counts.settled([batch(fetch(0, 1, failure="cut"), ending="delay")], took_s=0.1)
    assert set(serve.values(counts, stopped, lambda: (3, 8))) == {spec.name for spec in PROCESS}


def test_a_page_says_what_was_counted() -> None:
    counts = Counts()
    counts.settled([batch(fetch(0, 1), fetch(1.5, 2, "rate_limited"), pages=1, ending="blocked")], took_s=0.1)
    counts.dispatch_ended(3, took_s=0.002)
    found = shown(counts)
    assert found["tiptoe_fetches_total kind=page outcome=rate_limited"] == 1
    assert found["tiptoe_pages_total"] == 1
    assert found["tiptoe_politeness_violations_total violation=gap"] == 1
    assert found["tiptoe_politeness_violations_total violation=concurrent"] == 0
    assert found["tiptoe_fetch_seconds_bucket le=0.05"] == 2
    assert found["tiptoe_fetch_seconds_sum"] == pytest.approx(0.08)
    assert found["tiptoe_hosts_dispatched_total"] == 3
    assert (found["tiptoe_visits_in_hand"], found["tiptoe_visits_in_hand_most"]) == (3, 8)
    assert found["tiptoe_archive_stopped"] == 1
    assert found["tiptoe_dispatch_last_success_timestamp_seconds"] == counts.dispatched_at


def test_series_are_bounded_by_closed_sets() -> None:
    """What a process can show at most: a Prometheus of a hundred workers holds it."""
    counts = Counts()
    kinds = ("page", "sitemap", "robots", "tdmrep", "subrequest")
    rows = [fetch(0, 0, outcome, kind=kind) for outcome in Outcome for kind in kinds]
    rows += [fetch(0, 0, failure=failure) for failure in Failure]
    counts.settled([batch(*rows)], took_s=0.1)
    for ending in VisitEnding:
        counts.settled([batch(ending=ending)], took_s=0.1)
    for state in ("done", "failed", "due"):
        for ended in (*RenderEnding, None):
            counts.rendered([rendered(state, ended, dict.fromkeys(RenderRefusal, 1))])
    assert len(shown(counts)) < 350


def test_an_error_is_told_from_an_answer_in_one_place() -> None:
    """The error rate of alerts and dashboard: a missing page is an answer."""
    answers = {"page", "unchanged", "unwanted", "redirect", "not_found", "gone", "unsent"}
    assert {outcome for outcome in Outcome if outcome.is_error} == set(Outcome) - answers
