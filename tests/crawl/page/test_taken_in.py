"""A page whose reading fails by a bug ends with its cause, and nothing waits for it; a failure of ours ends no page."""

import errno
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import pytest

from app.crawl.state.worker import Worker
from app.errors import ServiceError
from app.features.archive.keep import ARCHIVE
from app.model import Cause, Refusal, Url, VisitEnding
from app.policy.url import Canon
from app.runtime.memory_gate import MemoryGate
from tests.crawl.archiving import Archiving
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql, url

POISON = b"POISON"
HOUR_S = 3_600.0


class Faulty(MemoryGate):
    """Where documents are read: those that say POISON raise."""

    def __init__(self, fault: BaseException) -> None:
        super().__init__()
        self._fault = fault

    def reading(
        self,
        body: bytes,
        *,
        may_wait: Callable[[], bool],
        waits: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> AbstractContextManager[bool]:
        if POISON in body:
            raise self._fault
        return super().reading(body, may_wait=may_wait, waits=waits)


class FaultyCanon(Canon):
    """Joins links; those that end in /poison raise."""

    def join(self, base: str, href: str) -> Url | Refusal:
        if href.endswith("/poison"):
            raise IndexError(f"of {href}")
        return super().join(base, href)


def poisoned(web: Web) -> Site:
    site = web.site()
    site.pages |= {
        "/": html("/a", "/bad", "/b"),
        "/a": html(text="what a says"),
        "/bad": html("/of-bad", text="POISON"),
        "/b": html(text="what b says"),
    }
    return site


def states(worker: Worker) -> Mapping[str, str]:
    return {row["url"]: row["state"] for row in sql(worker.engine, "SELECT url, state FROM urls")}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (UnicodeEncodeError("utf-8", "x\ud83d", 1, 2, "surrogates not allowed"), "UnicodeEncodeError"),
        (RecursionError("maximum recursion depth exceeded"), "RecursionError: maximum"),
        (KeyError("of a bug\x1b[2J"), "KeyError: 'of a bug"),
        (AssertionError("\ud83d"), "AssertionError"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_bug_costs_its_page_alone(make: Callable[..., Worker], web: Web, fault: Exception, said: str) -> None:
    site, made = poisoned(web), make(visit_max_s=HOUR_S)
    worker = replace(made, reading=replace(made.reading, memory_gate=Faulty(fault)))
    start(worker, site.url())
    reports = run(worker)
    assert {path: site.pages_asked.count(path) for path in site.pages} == {"/": 1, "/a": 1, "/bad": 1, "/b": 1}
    assert len(reports) == 1, "the visit went on"
    row = url(worker.engine, site.url("/bad"))
    assert (row["state"], row["cause"], row["attempts"]) == ("quarantined", Cause.UNREADABLE, 1)
    assert row["detail"].startswith(f"reading it raised {said}")
    assert row["detail"].isprintable()
    kept = [row["url"] for row in sql(worker.engine, "SELECT url FROM pages ORDER BY url")]
    assert kept == [site.url(path) for path in ("/", "/a", "/b")]
    counted = sql(worker.engine, "SELECT pages, fetches, failed FROM v_crawl_progress")[0]
    assert (counted["pages"], counted["fetches"], counted["failed"]) == (3, 4, 1)
    assert one(worker.engine, "SELECT unfetched FROM hosts") == 0
    assert len(sql(worker.engine, "SELECT FROM fetches WHERE kind = 'page'")) == 4


@pytest.mark.parametrize(
    "fault",
    [
        MemoryError(),
        OSError(errno.ENOSPC, "No space left on device"),
        ServiceError("Postgres at db", "out of reach"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_failure_of_ours_ends_no_page(worker: Worker, web: Web, fault: Exception) -> None:
    site = poisoned(web)
    start(worker, site.url())
    with pytest.raises(type(fault)):
        run(replace(worker, reading=replace(worker.reading, memory_gate=Faulty(fault))))
    row = url(worker.engine, site.url("/bad"))
    assert (row["state"], row["cause"], row["attempts"]) == ("queued", None, 0)


def test_a_page_whose_links_break_takes_no_other_s_links_along(worker: Worker, web: Web) -> None:
    """/shared is put up for the page that breaks first: it must not count as named by then."""
    site = web.site()
    site.pages |= {
        "/": html("/bad", "/good"),
        "/bad": html("/shared", "/of-bad", "/poison", text="It breaks while its links are looked at."),
        "/good": html("/shared", text="It names what the other one named."),
        "/shared": html(text="Shared."),
    }
    worker = replace(worker, canon=FaultyCanon())
    start(worker, site.url())
    run(worker)
    assert url(worker.engine, site.url("/bad"))["detail"] == "reading it raised IndexError: of /poison"
    assert {path: site.paths.count(path) for path in ("/bad", "/good", "/shared", "/of-bad")} == {
        "/bad": 1,
        "/good": 1,
        "/shared": 1,
        "/of-bad": 0,
    }


def test_a_sitemap_and_a_redirect_that_break_end_alone(worker: Worker, web: Web) -> None:
    site = web.site()
    listed = f"{site.url('/a')}\n{site.url('/poison')}\n".encode()
    site.pages |= {
        "/": html("/a", "/moved"),
        "/a": html(text="a"),
        "/moved": Answer(status=301, headers={"Location": "/poison"}),
        "/sitemap.xml": Answer(headers={"Content-Type": "text/plain"}, body=listed),
    }
    worker = replace(worker, canon=FaultyCanon())
    start(worker, site.url(), sitemaps="all")
    run(worker)
    for path in ("/moved", "/sitemap.xml"):
        row = url(worker.engine, site.url(path))
        assert (row["state"], row["cause"]) == ("quarantined", Cause.UNREADABLE)
        assert site.paths.count(path) == 1
    assert url(worker.engine, site.url("/a"))["state"] == "resting"


def test_a_page_that_broke_is_archived_as_its_headers_allow(worker: Worker, web: Web, archiving: Archiving) -> None:
    site = poisoned(web)
    site.pages["/bad"] = html(text="POISON", headers={"X-Robots-Tag": "noarchive"})
    worker = replace(
        worker,
        reading=replace(worker.reading, memory_gate=Faulty(ValueError("no"))),
        resources={ARCHIVE: archiving.keeper},
    )
    start(worker, site.url(), archive=True)
    run(worker)
    kept = {row["url"]: row["body_bytes"] for row in sql(worker.engine, "SELECT url, body_bytes FROM captures")}
    assert url(worker.engine, site.url("/bad"))["state"] == "quarantined"
    assert site.url("/a") in kept
    assert not kept.get(site.url("/bad"))


PROSE = "A sentence of an article, which only its data holds, and which a script would show. " * 8


@pytest.mark.parametrize("odd", ["\ud83d", "\0", "\ude00\ud83d"], ids=ascii)
def test_what_is_no_text_is_kept_as_text(worker: Worker, web: Web, odd: str) -> None:
    site = web.site()
    said = json.dumps({"@type": "Article", "articleBody": f"{PROSE}cut {odd}"})
    shell = "<div id=root></div><script src=/static/js/main.3f2a91bc.js></script>"
    site.pages |= {
        "/": html("/a", "/b"),
        "/a": Answer(
            body=f'<script type="application/ld+json">{said}</script>{shell}'.encode(),
            headers={"Content-Type": "text/html; charset=utf-8"},
        ),
        "/b": html(text="what b says"),
    }
    start(worker, site.url())
    (report,) = run(worker)
    assert report.ending is not VisitEnding.LOST
    assert set(states(worker).values()) == {"resting"}
    text = one(worker.engine, "SELECT main_text FROM pages WHERE url = :url", url=site.url("/a"))
    assert text == f"{PROSE}cut {chr(0xFFFD) * len(odd)}"


def test_a_value_that_no_index_holds_costs_its_page_alone(worker: Worker, web: Web) -> None:
    """SQLSTATE 54000: Postgres reports it like an outage, but for the number."""
    sql(worker.engine, "CREATE INDEX planted ON pages (main_text)")
    site = poisoned(web)
    site.pages["/bad"] = html(text=" ".join(f"{n * n * 7919 % 100_003:x}" for n in range(9_000)))
    start(worker, site.url())
    try:
        run(worker)
    finally:
        sql(worker.engine, "DROP INDEX planted")
    row = url(worker.engine, site.url("/bad"))
    assert (row["state"], row["cause"]) == ("quarantined", Cause.UNWRITABLE)
    assert "54000" in row["detail"]
    assert states(worker) == {site.url(path): "resting" for path in ("/", "/a", "/b")} | {
        site.url("/bad"): "quarantined"
    }
    assert go(worker) == []
