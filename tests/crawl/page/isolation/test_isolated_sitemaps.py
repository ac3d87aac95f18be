"""Sitemaps read apart, and what a visit in isolation gives back."""

from dataclasses import replace

import pytest

from app.crawl.page import isolation
from app.crawl.state.worker import Kit
from app.crawl.visit.visit import CutOff, return_host, visit
from app.errors import ServiceError
from app.model import Cause
from app.runtime.reader_pool import Readers
from app.store import hosts
from tests.crawl.loop import run, start
from tests.crawl.page.isolation.isolated import PROOF, Make, deadly, row, site_with
from tests.crawl.visit.losses import crash, offers
from tests.crawl.web import Answer, Web, html
from tests.store.rows import one, sql, url


def test_a_sitemap_is_read_apart_as_well(poisoned: Make, web: Web) -> None:
    kit, site = poisoned(), web.site()
    site.pages["/"] = html()
    entries = "".join(f"<url><loc>/{number}</loc><lastmod>2026-01-02</lastmod></url>" for number in range(3))
    site.pages["/sitemap.xml"] = Answer(body=f"<urlset>{entries}</urlset>".encode())
    start(kit, site.url(), sitemaps="all")
    crash(kit, "robots.txt")
    run(kit)
    assert sorted(site.pages_asked) == ["/", "/0", "/1", "/2"]
    assert one(kit.engine, "SELECT count(*) FROM urls WHERE lastmod = '2026-01-02Z'") == 3


@pytest.mark.parametrize(("deed", "cause"), [PROOF, ("loop", "parser took longer than 0.5 s")])
def test_a_deadly_sitemap_is_quarantined(poisoned: Make, web: Web, deed: str, cause: str) -> None:
    kit, site = poisoned(readers={"patience": 100.0}), web.site()
    site.pages |= {"/": html(), "/sitemap.xml": Answer(body=f"<urlset><!-- POISON:{deed} --></urlset>".encode())}
    start(kit, site.url(), sitemaps="all")
    crash(kit, "robots.txt")
    run(kit)
    found = url(kit.engine, site.url("/sitemap.xml"))
    assert (found["state"], found["cause"], found["detail"]) == ("quarantined", Cause.UNREADABLE, cause)
    assert url(kit.engine, site.url())["state"] == "resting"
    assert site.paths.count("/sitemap.xml") == 1


def test_a_visit_that_lost_its_lease_while_it_read_writes_nothing(poisoned: Make, web: Web) -> None:
    kit, site = poisoned(), site_with(web, deadly(PROOF[0]))
    start(kit, site.url("/poison"))
    crash(kit, "robots.txt")
    lost = replace(kit, readers=Stealing(kit))
    for offer in offers(kit):
        assert visit(lost, offer.host_id, offer.token).ending == "fenced"
    assert row(kit, site)["state"] == "queued"


class Stealing(Readers):
    """Somebody else has the host by the time that the reader has died."""

    def __init__(self, kit: Kit) -> None:
        super().__init__(deadline_s=0.5, memory_bytes=2**29)
        self._kit = kit

    def page(self, *arguments: object, **options: object) -> object:  # type: ignore[override]
        sql(self._kit.engine, "UPDATE hosts SET lease_token = gen_random_uuid() WHERE state = 'taken'")
        return self._kit.readers.page(*arguments, **options)  # type: ignore[arg-type]


def test_what_a_result_gives_back_is_not_given_back_again(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres goes away before a 429 of a URL in isolation is settled, which spends no attempt."""
    kit, site = make(), web.site()
    site.pages["/"] = Answer(status=429)
    start(kit, site.url())
    sql(kit.engine, "UPDATE urls SET attempts = 1, parse_failures = 1")
    (offer,) = offers(kit)

    def away(*_: object) -> None:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, "leave", away)
        with pytest.raises(CutOff) as raised:
            visit(kit, offer.host_id, offer.token)
    assert sql(kit.engine, "SELECT attempts, parse_failures FROM urls") == [{"attempts": 2, "parse_failures": 2}]
    return_host(raised.value.visit)
    isolation.pay(kit)
    assert site.pages_asked == ["/"]
    assert sql(kit.engine, "SELECT attempts, parse_failures FROM urls") == [{"attempts": 1, "parse_failures": 1}]
