"""The last lines of a crawl, in 80 columns."""

from pathlib import Path
from typing import Any

import pytest

from app.cli.run import MOST_TOLD, Summary, lifted, lines
from app.model import Cause, CrawlEnding
from app.store.crawls import RunCounts, Totals
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
    summary = Summary(totals=of, **{"brought": RunCounts(12_345_670, 8, 1_234), **values})
    return list(lines(summary, seconds=3_600.04, home=Path("/d"), command="tiptoe --home h", resume=resume))


def test_a_large_crawl_fits_80_columns() -> None:
    said = written(
        totals(),
        failed=[("a.test", 1_234_000)],
        links=[("scope", 123_000_000), ("robots", 456_789)],
        redirects=FOLDERS,
        resume=("again",),
        why=["http://a.test/ ended as gone", "and 1 seed more"],
    )
    assert said == [
        "docs.example.org (ended: max_seconds): 12,345,678 pages, 987.7 GB",
        "this run: 12,345,670 new pages, 8 changed, 1,234 gone, in 3,600.0 s",
        "12,345,679 requests for URLs, 1,234,567 failed: a.test 1,234,000, others 567",
        "123,456,789 links refused: scope 123,000,000, robots 456,789",
        "added to the scope, because seeds redirect there:",
        *(f"  {folder}" for folder in FOLDERS[:MOST_TOLD]),
        "  and 2 others",
        "again",
        "next:",
        "  tiptoe --home h page list --crawl docs.example.org",
        "  tiptoe --home h export pages --crawl docs.example.org --to docs.example.org.jsonl",
        "  tiptoe --home h web",
        "data: /d",
        "no page: http://a.test/ ended as gone",
        "  and 1 seed more",
    ]
    assert [line for line in said if len(line) > 80 and " export " not in line] == []


def test_the_command_that_crawls_another_site_can_be_pasted() -> None:
    said = written(totals(), elsewhere=["https://harbour.test/?a=1&b=2", "https://tides.test/"])
    assert said[4:7] == [
        "fetched alone, because seeds redirect to another site; to crawl that site:",
        "  tiptoe --home h crawl 'https://harbour.test/?a=1&b=2'",
        "  tiptoe --home h crawl https://tides.test/",
    ]
    many = written(totals(), elsewhere=[f"https://tides{n}.test/" for n in range(MOST_TOLD + 1)])
    assert many[5 + MOST_TOLD] == "  and 1 other"


def test_pages_that_wait_for_a_browser_are_told_of() -> None:
    said = written(totals(), unopened=("65 pages wait for a browser", "no Chromium was found; install one"))
    at = said.index("65 pages wait for a browser: no Chromium was found; install one")
    assert said[at + 1] == """  which: tiptoe --home h sql "SELECT url FROM renders WHERE state = 'due'\""""


def test_an_interrupted_crawl_has_no_ending() -> None:
    said = written(totals(state="paused", ended_because=None, pages=1, fetches=1, failed=0, bytes=0, suppressed=1))
    assert said[0] == "docs.example.org (paused): 1 page, 0.0 kB"
    assert said[2:4] == ["1 request for URLs, 0 failed", "1 link refused"]


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
    assert said[2:6] == [
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
    assert "  and others: tiptoe --home h host list --waits-for paused" in said
    assert sum("host resume" in line for line in said) == MOST_TOLD


def test_pages_that_are_not_compared_yet_are_told_of() -> None:
    told = "7 pages yet to be compared with others: run the same command again"
    assert told in written(totals(), uncompared=7)
    assert not any(len(line) > 80 for line in written(totals(), uncompared=100_000) if " export " not in line)
    assert not any("near duplicates" in line for line in written(totals()))


def test_a_crawl_without_a_page_has_nothing_to_show() -> None:
    said = written(totals(pages=0), brought=RunCounts(0, 0, 0))
    assert [line for line in said if line.startswith(("next:", "  tiptoe"))] == []


# the name of a crawl → the name of its crawl and of the file in the line that exports it
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a b", "--crawl 'a b' --to a-b.jsonl"),
        ("../../etc", "--crawl ../../etc --to etc.jsonl"),
        ("-", "--crawl - --to pages.jsonl"),
    ],
)
def test_names_are_quoted_and_no_file_leaves_the_folder(name: str, words: str) -> None:
    assert any(line.endswith(words) for line in written(totals(name=name)))
