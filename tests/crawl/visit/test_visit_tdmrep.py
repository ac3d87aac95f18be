"""tdmrep.json in a visit: when it is asked for, what each answer reserves, and where it waits."""

from collections.abc import Callable

import pytest

from app.admin import audit, hosts
from app.crawl.state.worker import Kit
from tests.crawl.loop import go, run, start
from tests.crawl.visit.opt_outs import SITE_OPTED_OUT, TDMREP, again, pages, tdmrep
from tests.crawl.web import Answer, Hit, Site, Web, html, redirect
from tests.store.rows import one, sql, url


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def stored(kit: Kit) -> tuple[bytes | None, bool]:
    """The file on record, and whether it was asked for."""
    (row,) = sql(kit.engine, "SELECT tdmrep, tdmrep_at FROM robots")
    return row["tdmrep"] and bytes(row["tdmrep"]), row["tdmrep_at"] is not None


def test_tdmrep_json_is_asked_for_before_the_first_page_and_decides_by_path(kit: Kit, site: Site) -> None:
    site.pages |= {TDMREP: tdmrep(("/free/*", 0), ("/", 1))}
    site.pages |= {"/": html("/free/a", "/b"), "/free/a": html(), "/b": html(text="b")}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert site.paths[:3] == ["/robots.txt", TDMREP, "/"]
    assert site.paths.count(TDMREP) == 1
    assert pages(kit) == ["/free/a"]
    assert url(kit.engine, site.url("/free/a"))["opt_out"] == "tdm-reservation=0 (tdmrep.json)"
    assert url(kit.engine, site.url("/b"))["cause"] == SITE_OPTED_OUT


def test_the_request_is_logged_and_counts_for_no_crawl(kit: Kit, site: Site) -> None:
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x", 1))}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    (row,) = sql(kit.engine, "SELECT kind, reason, status, crawl_id, url FROM fetches WHERE kind = 'tdmrep'")
    assert row == {"kind": "tdmrep", "reason": "new", "status": 200, "crawl_id": None, "url": site.url(TDMREP)}
    assert one(kit.engine, "SELECT fetches FROM v_crawl_progress") == 1


# answer → on record, is the page kept
@pytest.mark.parametrize(
    ("answer", "body", "kept"),
    [
        (Answer(status=404), b"", True),
        (Answer(status=403), b"", True),
        (redirect("/other.json"), b"", True),
        (Answer(headers={"Content-Type": "application/json"}, body=b"{}"), b"", True),
        (Answer(headers={"Content-Type": "application/json"}, body=b"[" * 5000), b"", True),
        (Answer(headers={"Content-Type": "application/json"}, body=b" " * 600_000), b"", True),
        (html(text="our page for what is not there"), b"", True),
        (
            Answer(body=b'[{"location": "/", "tdm-reservation": 1}]'),
            b'[{"location": "/", "tdm-reservation": 1}]',
            False,
        ),
        (Answer(status=500), None, True),
        (Answer(headers={"Content-Type": "application/json"}, body=b"[]", cut=True), None, True),
        (Answer(drop=True), None, True),
    ],
)
def test_any_other_answer_reserves_nothing(
    kit: Kit, site: Site, answer: Answer, body: bytes | None, kept: bool
) -> None:
    site.pages |= {"/": html(), TDMREP: answer}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert stored(kit) == (body, True)
    assert pages(kit) == (["/"] if kept else [])
    assert one(kit.engine, "SELECT ended_because FROM crawls") == "done"


def test_where_robots_txt_refuses_it_it_is_not_asked_for(kit: Kit, site: Site) -> None:
    site.robots = "User-agent: *\nDisallow: /.well-known/"
    site.pages |= {"/": html(), TDMREP: tdmrep(("/", 1))}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert site.paths == ["/robots.txt", "/"]
    assert (stored(kit), pages(kit)) == ((None, False), ["/"])


@pytest.mark.parametrize(("hours", "asked"), [(23, 1), (25, 2)])
def test_it_is_asked_for_again_after_a_day(kit: Kit, site: Site, hours: int, asked: int) -> None:
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x", 1))}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    sql(kit.engine, f"UPDATE robots SET tdmrep_at = tdmrep_at - interval '{hours} hours'")
    site.pages[TDMREP] = tdmrep(("/", 1))
    again(kit)
    assert site.paths.count(TDMREP) == asked
    assert pages(kit) == ([] if asked == 2 else ["/"])


def test_a_failure_does_not_undo_what_was_reserved(kit: Kit, site: Site) -> None:
    site.pages |= {"/": html(), TDMREP: tdmrep(("/", 1))}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    before = stored(kit)
    site.pages[TDMREP] = Answer(status=502)
    sql(kit.engine, "UPDATE robots SET tdmrep_at = tdmrep_at - interval '25 hours'")
    again(kit)
    assert site.paths.count(TDMREP) == 2
    assert (stored(kit), pages(kit)) == (before, [])


def test_while_nobody_knows_it_is_asked_for_every_hour(kit: Kit, site: Site) -> None:
    site.pages |= {"/": html(), TDMREP: Answer(status=502)}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    again(kit)
    assert site.paths.count(TDMREP) == 1
    sql(kit.engine, "UPDATE robots SET tdmrep_at = tdmrep_at - interval '61 minutes'")
    again(kit)
    assert site.paths.count(TDMREP) == 2


@pytest.mark.parametrize(
    ("answer", "because"),
    [
        (Answer(status=429, headers={"Retry-After": "86400"}), "rate_limited"),
        (Answer(status=503, headers={"Retry-After": "86400"}), "unavailable"),
    ],
)
def test_a_host_that_asks_for_time_gets_it_and_its_pages_come_next(
    kit: Kit, site: Site, answer: Answer, because: str
) -> None:
    """Else who answers so to what he does not have would be asked for it for ever, and never for a page."""
    site.pages |= {"/": html(), TDMREP: answer}
    start(kit, site.url(), honour_opt_outs=True)
    for _ in range(3):
        go(kit)
    assert site.paths == ["/robots.txt", TDMREP]
    (row,) = sql(
        kit.engine,
        "SELECT resting_because, extract(epoch FROM blocked_until - last_contact_at) AS rest_s FROM hosts",
    )
    assert (row["resting_because"], round(row["rest_s"])) == (because, 86_400)
    assert one(kit.engine, "SELECT tdmrep_at - clock_timestamp() > interval '23 hours' FROM robots"), "from its end on"
    run(kit)  # the rest is over
    assert site.paths == ["/robots.txt", TDMREP, "/"]


def test_a_slow_host_is_asked_for_pages_too(make: Callable[..., Kit], site: Site) -> None:
    """With a day between two requests, the file is due at every one of them."""
    kit = make(default_delay_s=86_400.0)
    site.pages |= {"/": html(), TDMREP: tdmrep(("/", 1))}
    start(kit, site.url(), honour_opt_outs=True)
    for _ in range(3):
        go(kit)
        sql(kit.engine, "UPDATE hosts SET next_fetch_at = clock_timestamp(), polite_at = clock_timestamp()")
        sql(kit.engine, "UPDATE robots SET tdmrep_at = tdmrep_at - interval '1 day'")
    assert site.paths == ["/robots.txt", TDMREP, "/"]


def test_it_keeps_to_the_hosts_pace(make: Callable[..., Kit], site: Site) -> None:
    kit = make(default_delay_s=0.2, linger_s=1.0)
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x", 1))}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert site.paths == ["/robots.txt", TDMREP, "/"]
    assert min(site.gaps()) >= 0.2
    assert audit.audit(kit.engine, kit.settings, None).violations == 0


def test_a_host_that_goes_away_before_it_answers_is_given_up_as_any(make: Callable[..., Kit], site: Site) -> None:
    kit = make(host_failures_max=3)

    def last_word(_: Hit) -> Answer:
        site.close()
        return Answer(status=404, headers={"Connection": "close"})

    site.robots = last_word
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert site.paths == ["/robots.txt"]
    tried = sql(kit.engine, "SELECT kind, outcome FROM fetches WHERE kind <> 'robots' ORDER BY id")
    assert tried[0] == {"kind": "tdmrep", "outcome": "unreachable"}
    assert {row["kind"] for row in tried[1:]} == {"page"}
    assert url(kit.engine, site.url())["state"] == "quarantined"


def test_each_origin_has_its_own(kit: Kit, web: Web, site: Site) -> None:
    beside = web.site(beside=site)
    site.pages |= {"/": html(beside.url()), TDMREP: tdmrep(("/", 1))}
    beside.pages["/"] = html(text="beside")
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert site.paths == beside.paths == ["/robots.txt", TDMREP, "/"]
    assert [row["url"] for row in sql(kit.engine, "SELECT url FROM pages")] == [beside.url()]


def test_forgetting_a_host_forgets_it(kit: Kit, site: Site) -> None:
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x", 1))}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    hosts.forget(kit.engine, site.host)
    again(kit)
    assert site.paths.count(TDMREP) == 2
