"""tdmrep.json in a visit: when it is asked for, what each answer reserves, and where it waits."""

from collections.abc import Callable

import pytest

from app.admin import audit, hosts
from app.crawl.state.worker import Worker
from tests.crawl.loop import go, run, start
from tests.crawl.visit.opt_outs import SITE_OPTED_OUT, TDMREP, again, pages, tdmrep
from tests.crawl.web import Answer, Hit, Site, Web, html, redirect
from tests.store.rows import one, sql, url


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def stored(worker: Worker) -> tuple[bytes | None, bool]:
    """The file on record, and whether it was asked for."""
    (row,) = sql(worker.engine, "SELECT tdmrep, tdmrep_at FROM robots")
    return row["tdmrep"] and bytes(row["tdmrep"]), row["tdmrep_at"] is not None


def test_tdmrep_json_is_asked_for_before_the_first_page_and_decides_by_path(worker: Worker, site: Site) -> None:
    site.pages |= {TDMREP: tdmrep(("/free/*", 0), ("/", 1))}
    site.pages |= {"/": html("/free/a", "/b"), "/free/a": html(), "/b": html(text="b")}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert site.paths[:3] == ["/robots.txt", TDMREP, "/"]
    assert site.paths.count(TDMREP) == 1
    assert pages(worker) == ["/free/a"]
    assert url(worker.engine, site.url("/free/a"))["opt_out"] == "tdm-reservation=0 (tdmrep.json)"
    assert url(worker.engine, site.url("/b"))["cause"] == SITE_OPTED_OUT


def test_the_request_is_logged_and_counts_for_no_crawl(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x", 1))}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    (row,) = sql(worker.engine, "SELECT kind, reason, status, crawl_id, url FROM fetches WHERE kind = 'tdmrep'")
    assert row == {"kind": "tdmrep", "reason": "new", "status": 200, "crawl_id": None, "url": site.url(TDMREP)}
    assert one(worker.engine, "SELECT fetches FROM v_crawl_progress") == 1


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
    worker: Worker, site: Site, answer: Answer, body: bytes | None, kept: bool
) -> None:
    site.pages |= {"/": html(), TDMREP: answer}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert stored(worker) == (body, True)
    assert pages(worker) == (["/"] if kept else [])
    assert one(worker.engine, "SELECT ended_because FROM crawls") == "done"


def test_where_robots_txt_refuses_it_it_is_not_asked_for(worker: Worker, site: Site) -> None:
    site.robots = "User-agent: *\nDisallow: /.well-known/"
    site.pages |= {"/": html(), TDMREP: tdmrep(("/", 1))}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert site.paths == ["/robots.txt", "/"]
    assert (stored(worker), pages(worker)) == ((None, False), ["/"])


@pytest.mark.parametrize(("hours", "asked"), [(23, 1), (25, 2)])
def test_it_is_asked_for_again_after_a_day(worker: Worker, site: Site, hours: int, asked: int) -> None:
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x", 1))}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    sql(worker.engine, f"UPDATE robots SET tdmrep_at = tdmrep_at - interval '{hours} hours'")
    site.pages[TDMREP] = tdmrep(("/", 1))
    again(worker)
    assert site.paths.count(TDMREP) == asked
    assert pages(worker) == ([] if asked == 2 else ["/"])


def test_a_failure_does_not_undo_what_was_reserved(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html(), TDMREP: tdmrep(("/", 1))}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    before = stored(worker)
    site.pages[TDMREP] = Answer(status=502)
    sql(worker.engine, "UPDATE robots SET tdmrep_at = tdmrep_at - interval '25 hours'")
    again(worker)
    assert site.paths.count(TDMREP) == 2
    assert (stored(worker), pages(worker)) == (before, [])


def test_while_nobody_knows_it_is_asked_for_every_hour(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html(), TDMREP: Answer(status=502)}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    again(worker)
    assert site.paths.count(TDMREP) == 1
    sql(worker.engine, "UPDATE robots SET tdmrep_at = tdmrep_at - interval '61 minutes'")
    again(worker)
    assert site.paths.count(TDMREP) == 2


@pytest.mark.parametrize(
    ("answer", "because"),
    [
        (Answer(status=429, headers={"Retry-After": "86400"}), "rate_limited"),
        (Answer(status=503, headers={"Retry-After": "86400"}), "unavailable"),
    ],
)
def test_a_host_that_asks_for_time_gets_it_and_its_pages_come_next(
    worker: Worker, site: Site, answer: Answer, because: str
) -> None:
    """Else who answers so to what he does not have would be asked for it for ever, and never for a page."""
    site.pages |= {"/": html(), TDMREP: answer}
    start(worker, site.url(), honour_opt_outs=True)
    for _ in range(3):
        go(worker)
    assert site.paths == ["/robots.txt", TDMREP]
    (row,) = sql(
        worker.engine,
        "SELECT resting_because, extract(epoch FROM blocked_until - last_contact_at) AS rest_s FROM hosts",
    )
    assert (row["resting_because"], round(row["rest_s"])) == (because, 86_400)
    assert one(worker.engine, "SELECT tdmrep_at - clock_timestamp() > interval '23 hours' FROM robots"), (
        "from its end on"
    )
    run(worker)  # the rest is over
    assert site.paths == ["/robots.txt", TDMREP, "/"]


def test_a_slow_host_is_asked_for_pages_too(make: Callable[..., Worker], site: Site) -> None:
    """With a day between two requests, the file is due at every one of them."""
    worker = make(default_delay_s=86_400.0)
    site.pages |= {"/": html(), TDMREP: tdmrep(("/", 1))}
    start(worker, site.url(), honour_opt_outs=True)
    for _ in range(3):
        go(worker)
        sql(worker.engine, "UPDATE hosts SET next_fetch_at = clock_timestamp(), polite_at = clock_timestamp()")
        sql(worker.engine, "UPDATE robots SET tdmrep_at = tdmrep_at - interval '1 day'")
    assert site.paths == ["/robots.txt", TDMREP, "/"]


def test_it_keeps_to_the_hosts_pace(make: Callable[..., Worker], site: Site) -> None:
    worker = make(default_delay_s=0.2, linger_s=1.0)
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x", 1))}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert site.paths == ["/robots.txt", TDMREP, "/"]
    assert min(site.gaps()) >= 0.2
    assert audit.audit(worker.engine, worker.settings, None).violations == 0


def test_a_host_that_goes_away_before_it_answers_is_given_up_as_any(make: Callable[..., Worker], site: Site) -> None:
    worker = make(host_failures_max=3)

    def last_word(_: Hit) -> Answer:
        site.close()
        return Answer(status=404, headers={"Connection": "close"})

    site.robots = last_word
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert site.paths == ["/robots.txt"]
    tried = sql(worker.engine, "SELECT kind, outcome FROM fetches WHERE kind <> 'robots' ORDER BY id")
    assert tried[0] == {"kind": "tdmrep", "outcome": "unreachable"}
    assert {row["kind"] for row in tried[1:]} == {"page"}
    assert url(worker.engine, site.url())["state"] == "quarantined"


def test_each_origin_has_its_own(worker: Worker, web: Web, site: Site) -> None:
    beside = web.site(beside=site)
    site.pages |= {"/": html(beside.url()), TDMREP: tdmrep(("/", 1))}
    beside.pages["/"] = html(text="beside")
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert site.paths == beside.paths == ["/robots.txt", TDMREP, "/"]
    assert [row["url"] for row in sql(worker.engine, "SELECT url FROM pages")] == [beside.url()]


def test_forgetting_a_host_forgets_it(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x", 1))}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    hosts.forget(worker.engine, site.host)
    again(worker)
    assert site.paths.count(TDMREP) == 2
