"""The audit finds each kind of violation where there is one, and none where there is none."""

from typing import Any

import pytest

from app.crawl import audit, seed
from app.crawl.audit import HostAudit
from app.crawl.kit import Kit
from app.errors import InputError
from tests.crawl.loop import run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import sql


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /private\n"
    site.pages |= {"/": html("/a", "/private/x"), "/a": html(text="a")}
    return site


def log(kit: Kit, site: Site, path: str, *, after: str = "1 hour", lasts: str = "1 s", **columns: Any) -> None:
    """One more line in the log: a page asked for this long after the last one ended."""
    sql(
        kit.engine,
        """INSERT INTO fetches (host_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s, outcome,
                                wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
           SELECT h.id, 1, ''::bytea, :url, :kind, 'new', last.at + CAST(:after AS interval),
                  last.at + CAST(:after AS interval) + CAST(:lasts AS interval), :delay_s, 'page', 0, 0, false, 0, false, 1
           FROM hosts AS h, (SELECT coalesce(max(ended_at), now()) AS at FROM fetches) AS last WHERE h.name = :host""".replace(
            "''::bytea", "CAST('' AS bytea)"
        ),
        host=site.host,
        url=site.url(path),
        after=after,
        lasts=lasts,
        kind=columns.get("kind", "page"),
        delay_s=columns.get("delay_s", 1.0),
    )


def only(kit: Kit) -> HostAudit:
    (host,) = audit.audit(kit.engine, kit.settings, None).hosts
    return host


def test_a_polite_crawl_has_no_violation(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    found = audit.audit(kit.engine, kit.settings, "c")
    assert (found.fetches, found.violations) == (3, 0)
    assert found.verdict == "3 requests, 1 hosts: no violation"
    assert found.hosts[0].host == site.host


def test_an_empty_log_has_no_violation(kit: Kit) -> None:
    assert audit.audit(kit.engine, kit.settings, None).verdict == "0 requests, 0 hosts: no violation"


# a line in the log → (gaps, at once, before robots.txt, disallowed)
@pytest.mark.parametrize(
    ("path", "line", "counts"),
    [
        ("/a", {"after": "1 second"}, (0, 0, 0, 0)),
        ("/a", {"after": "0.9 s"}, (1, 0, 0, 0)),
        ("/a", {"after": "0.9995 s"}, (0, 0, 0, 0)),  # clocks are read to a millisecond
        ("/a", {"after": "59 s", "delay_s": 60.0}, (1, 0, 0, 0)),
        ("/a", {"after": "-0.5 s"}, (1, 1, 0, 0)),
        ("/private/x", {}, (0, 0, 0, 1)),
        ("/private/x", {"kind": "robots"}, (0, 0, 0, 0)),
    ],
)
def test_violations(kit: Kit, site: Site, path: str, line: dict[str, Any], counts: tuple[int, ...]) -> None:
    start(kit, site.url())
    run(kit)
    log(kit, site, "/a")
    log(kit, site, path, **line)
    found = only(kit)
    assert (found.gap_violations, found.concurrent, found.before_robots, found.disallowed) == counts
    assert found.violations == max(counts)
    verdict = audit.audit(kit.engine, kit.settings, None).verdict
    assert ("1 VIOLATIONS" in verdict) == any(counts)


def test_pages_before_robots_are_violations(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    log(kit, site, "/a")
    log(kit, site, "/robots.txt", kind="robots")
    log(kit, site, "/a")
    assert only(kit).before_robots == 1


def test_each_origin_needs_its_own_robots(kit: Kit, site: Site, web: Web) -> None:
    beside = web.site(beside=site)
    start(kit, site.url())
    run(kit)
    log(kit, beside, "/a")
    assert only(kit).before_robots == 1


def test_what_an_older_copy_said_is_not_held_against_a_page(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    log(kit, site, "/private/x")
    log(kit, site, "/robots.txt", kind="robots")
    assert only(kit).disallowed == 0


def test_an_unreachable_robots_allows_nothing(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    sql(kit.engine, "UPDATE robots SET availability = 'unreachable', unreachable_since = now()")
    log(kit, site, "/a")
    assert only(kit).disallowed > 0


def test_the_worst_hosts_come_first_and_a_crawl_has_its_own(kit: Kit, web: Web) -> None:
    good, bad = web.site(), web.site()
    for site in (good, bad):
        site.pages["/"] = html()
    start(kit, good.url(), name="good")
    start(kit, bad.url(), name="bad")
    run(kit)
    log(kit, bad, "/", after="0 s")
    log(kit, bad, "/", after="0 s")
    found = audit.audit(kit.engine, kit.settings, None)
    assert [host.host for host in found.hosts] == [bad.host, good.host]
    assert audit.audit(kit.engine, kit.settings, "good").violations == 0
    assert audit.audit(kit.engine, kit.settings, "bad").violations > 0


def test_the_log_is_read_in_pages(kit: Kit, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """More hosts and pages than one page of rows holds: each refused page is found once."""
    sites = [web.site() for _ in range(3)]
    for site in sites:
        site.robots = "User-agent: *\nDisallow: /private\n"
        site.pages["/"] = html()
    start(kit, *(site.url() for site in sites))
    run(kit)
    for _ in range(4):
        for site in sites:
            log(kit, site, "/private/x")
    monkeypatch.setattr(audit, "PAGE", 2)
    assert [host.disallowed for host in audit.audit(kit.engine, kit.settings, None).hosts] == [4, 4, 4]


def test_a_crawl_that_is_not_there(kit: Kit) -> None:
    seed.create(kit.engine, "c")
    with pytest.raises(InputError, match="there are: c"):
        audit.audit(kit.engine, kit.settings, "d")
