"""Sitemaps read apart, and what a visit in isolation gives back."""

from dataclasses import replace

import pytest

from app.crawl.page import isolation
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import CutOff, return_host, visit
from app.errors import ServiceError
from app.model import Cause
from app.sandbox.readers import Readers
from app.store import hosts
from tests.crawl.loop import run, start
from tests.crawl.page.isolation.isolated import PROOF, Make, deadly, row, site_with
from tests.crawl.visit.losses import crash, offers
from tests.crawl.web import Answer, Web, html
from tests.store.rows import one, sql, url


def test_a_sitemap_is_read_apart_as_well(poisoned: Make, web: Web) -> None:
    worker, site = poisoned(), web.site()
    site.pages["/"] = html()
    entries = "".join(f"<url><loc>/{number}</loc><lastmod>2026-01-02</lastmod></url>" for number in range(3))
    site.pages["/sitemap.xml"] = Answer(body=f"<urlset>{entries}</urlset>".encode())
    start(worker, site.url(), sitemaps="all")
    crash(worker, "robots.txt")
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/0", "/1", "/2"]
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE lastmod = '2026-01-02Z'") == 3


@pytest.mark.parametrize(("deed", "cause"), [PROOF, ("loop", "parser took longer than 0.5 s")])
def test_a_deadly_sitemap_is_quarantined(poisoned: Make, web: Web, deed: str, cause: str) -> None:
    worker, site = poisoned(readers={"patience": 100.0}), web.site()
    site.pages |= {"/": html(), "/sitemap.xml": Answer(body=f"<urlset><!-- POISON:{deed} --></urlset>".encode())}
    start(worker, site.url(), sitemaps="all")
    crash(worker, "robots.txt")
    run(worker)
    found = url(worker.engine, site.url("/sitemap.xml"))
    assert (found["state"], found["cause"], found["detail"]) == ("quarantined", Cause.UNREADABLE, cause)
    assert url(worker.engine, site.url())["state"] == "resting"
    assert site.paths.count("/sitemap.xml") == 1


def test_a_visit_that_lost_its_lease_while_it_read_writes_nothing(poisoned: Make, web: Web) -> None:
    worker, site = poisoned(), site_with(web, deadly(PROOF[0]))
    start(worker, site.url("/poison"))
    crash(worker, "robots.txt")
    lost = replace(worker, reading=replace(worker.reading, readers=Stealing(worker)))
    for offer in offers(worker):
        assert visit(lost, offer.host_id, offer.token).ending == "fenced"
    assert row(worker, site)["state"] == "queued"


class Stealing(Readers):
    """Somebody else has the host by the time that the reader has died."""

    def __init__(self, worker: Worker) -> None:
        super().__init__(deadline_s=0.5, memory_bytes=2**29)
        self._worker = worker

    def page(self, *arguments: object, **options: object) -> object:  # type: ignore[override]
        sql(self._worker.engine, "UPDATE hosts SET lease_token = gen_random_uuid() WHERE state = 'taken'")
        return self._worker.reading.readers.page(*arguments, **options)  # type: ignore[arg-type]


def test_what_a_result_gives_back_is_not_given_back_again(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres goes away before a 429 of a URL in isolation is settled, which spends no attempt."""
    worker, site = make(), web.site()
    site.pages["/"] = Answer(status=429)
    start(worker, site.url())
    sql(worker.engine, "UPDATE urls SET attempts = 1, parse_failures = 1")
    (offer,) = offers(worker)

    def away(*_: object) -> None:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, "leave", away)
        with pytest.raises(CutOff) as raised:
            visit(worker, offer.host_id, offer.token)
    assert sql(worker.engine, "SELECT attempts, parse_failures FROM urls") == [{"attempts": 2, "parse_failures": 2}]
    return_host(raised.value.visit)
    isolation.refund(worker)
    assert site.pages_asked == ["/"]
    assert sql(worker.engine, "SELECT attempts, parse_failures FROM urls") == [{"attempts": 1, "parse_failures": 1}]
