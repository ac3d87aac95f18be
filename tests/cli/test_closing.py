"""The last lines of a crawl, in 80 columns."""

from pathlib import Path
from typing import Any

from app.cli.closing import MOST_TOLD, Summary, lifted, lines
from app.model import Cause, CrawlEnding
from app.store.crawls import Totals
from app.store.url_rows import RefusedUrls

FOLDERS = [f"https://www{n}.example.org/" for n in range(MOST_TOLD + 2)]


def totals(**values: Any) -> Totals:
    made = {
        "id": 1,
        "name": "docs.example.org",
        "state": "finished",
        "ended_because": CrawlEnding.MAX_SECONDS,
        "ended_detail": "3600",
        "round": 1,
        "sitemaps": "all",
        "honour_opt_outs": False,
        "pages": 12_345_678,
        "fetches": 12_345_679,
        "failed": 1_234_567,
        "bytes": 987_654_321_000,
        "suppressed": 123_456_789,
        "hosts": 100_000,
        "archive": True,
    }
    return Totals(**{**made, **values})


def written(of: Totals, resume: tuple[str, ...] = (), **values: Any) -> list[str]:
    summary = Summary(totals=of, **values)
    return list(lines(summary, seconds=3_600.04, data_dir=Path("/d"), command="tiptoe --home h", resume=resume))


def test_a_large_crawl_fits_80_columns() -> None:
    said = written(
        totals(), redirects=FOLDERS, resume=("again",), why=["http://a.test/ ended as gone", "and 1 seed more"]
    )
    assert said == [
        "docs.example.org (ended: max_seconds): 12,345,678 pages, 987.7 GB in 3,600.0 s",
        "12,345,679 requests for URLs, 1,234,567 failed; 123,456,789 links refused",
        "added to the scope, because seeds redirect there:",
        *(f"  {folder}" for folder in FOLDERS[:MOST_TOLD]),
        "  and 2 others",
        "data: /d",
        'query: tiptoe --home h sql "TABLE v_crawl_progress"',
        "again",
        "no page: http://a.test/ ended as gone",
        "  and 1 seed more",
    ]
    assert [line for line in said if len(line) > 80] == []


def test_the_command_that_crawls_another_site_can_be_pasted() -> None:
    said = written(totals(), elsewhere=["https://harbour.test/?a=1&b=2", "https://tides.test/"])
    assert said[2:5] == [
        "fetched alone, because seeds redirect to another site; to crawl that site:",
        "  tiptoe --home h crawl 'https://harbour.test/?a=1&b=2'",
        "  tiptoe --home h crawl https://tides.test/",
    ]
    many = written(totals(), elsewhere=[f"https://tides{n}.test/" for n in range(MOST_TOLD + 1)])
    assert many[3 + MOST_TOLD] == "  and 1 other"


def test_pages_that_wait_for_a_browser_are_told_of() -> None:
    said = written(totals(), unopened=("65 pages wait for a browser", "no Chromium was found; install one"))
    at = said.index("65 pages wait for a browser: no Chromium was found; install one")
    assert said[at + 1] == """  which: tiptoe --home h sql "SELECT url FROM renders WHERE state = 'due'\""""


def test_an_interrupted_crawl_has_no_ending() -> None:
    said = written(totals(state="paused", ended_because=None, pages=1, fetches=1, failed=0, bytes=0, suppressed=1))
    assert said[:2] == [
        "docs.example.org (paused): 1 page, 0.0 kB in 3,600.0 s",
        "1 request for URLs, 0 failed; 1 link refused",
    ]


def test_what_is_lifted_is_told_with_what_keeps_it() -> None:
    found = {"max_pages": 12_345_678, "max_seconds": 3_600.0, "keep_fresh": True}
    assert list(lifted(found)) == [
        "max_pages 12345678 is lifted; to keep it: --max-pages 12345678",
        "max_seconds 3600 is lifted; to keep it: --max-seconds 3600",
        "keep_fresh is lifted; to keep it: --keep-fresh",
    ]


def test_what_was_admitted_and_refused_is_said_by_cause() -> None:
    """Suppressed links are others: these were in the frontier. Without any of those nothing is said of links: "0 links
    refused" and "1 URL refused" below it puzzle."""
    said = written(
        totals(suppressed=0),
        refused=[
            RefusedUrls(Cause.TRAP, 199, 1, "calendar.example.org"),
            RefusedUrls(Cause.ROBOTS, 1, 1, "a.example.org"),
            RefusedUrls(Cause.TRAP, 12, 3, "calendar.example.org"),
        ],
    )
    assert said[1:5] == [
        "12,345,679 requests for URLs, 1,234,567 failed",
        "199 URLs refused (trap): tiptoe --home h host patterns calendar.example.org",
        "1 URL refused (robots.txt)",
        "12 URLs refused (trap): tiptoe --home h host patterns calendar.example.org (and 2 other hosts)",
    ]


def test_a_paused_host_is_named_with_the_command_that_resumes_it() -> None:
    assert "paused by an operator, with URLs queued: tiptoe --home h host resume a.test" in written(
        totals(), paused=["a.test"]
    )
    said = written(totals(), paused=[f"{n}.test" for n in range(MOST_TOLD + 1)])
    assert said[-3] == "  and others: tiptoe --home h host list --waits-for paused"
    assert sum("host resume" in line for line in said) == MOST_TOLD


def test_pages_that_are_not_compared_yet_are_told_of() -> None:
    told = "7 pages yet to be compared with others: run the same command again"
    assert written(totals(), uncompared=7)[2] == told
    assert [line for line in written(totals(), uncompared=100_000) if len(line) > 80] == []
    assert not any("near duplicates" in line for line in written(totals()))
