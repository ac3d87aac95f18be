"""`url why` says what a queued URL waits for."""

from collections.abc import Callable

import pytest

from app.admin import crawls, hosts
from app.admin.waiting import host_waits_for
from app.crawl.state.worker import Worker
from app.model import Budgets
from tests.admin.explain.explained import alone, why
from tests.crawl.loop import go, run, start
from tests.crawl.web import Site
from tests.store.rows import sql


# what an operator did → what a queued URL waits for
@pytest.mark.parametrize(
    ("act", "waits_for"),
    [
        (lambda worker, host: None, "a worker: it has been due since "),
        (lambda worker, host: crawls.pause(worker.engine, "c"), "its crawl, which is paused: tiptoe crawl resume c"),
        (
            lambda worker, host: crawls.finish(worker.engine, "c"),
            "its crawl, which is finished (operator): tiptoe crawl start c",
        ),
        (lambda worker, host: hosts.pause(worker.engine, host), "an operator, who paused it: tiptoe host resume "),
        (
            lambda worker, host: sql(
                worker.engine,
                """UPDATE hosts SET blocked_until = now() + interval '1 hour', resting_because = 'rate_limited',
                                    next_fetch_at = now() + interval '1 hour'""",
            ),
            "its rest (rate_limited) to end, ",
        ),
        (
            lambda worker, host: sql(
                worker.engine, "UPDATE hosts SET delay_s = 7, next_fetch_at = now() + interval '7 s'"
            ),
            "its delay of 7 s, ",
        ),
        (
            lambda worker, host: sql(worker.engine, "UPDATE hosts SET next_fetch_at = NULL"),
            "nothing: no URL of it is queued",
        ),
        (
            lambda worker, host: sql(worker.engine, "UPDATE crawls SET max_pages = 5, pages_reserved = 5"),
            "its crawl's budget: 5 pages are fetched or granted to running visits",
        ),
        (
            lambda worker, host: sql(
                worker.engine,
                """UPDATE hosts SET state = 'offered', lease_token = gen_random_uuid(),
                                    lease_until = now() + interval '5 s'""",
            ),
            "a worker to take up its offer on queue host-",
        ),
        (
            lambda worker, host: sql(
                worker.engine,
                """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(),
                                    pause_requested = true, lease_until = now() + interval '1 minute'""",
            ),
            "its visit, running since ",
        ),
    ],
)
def test_what_a_queued_url_waits_for(
    worker: Worker, site: Site, act: Callable[[Worker, str], object], waits_for: str
) -> None:
    start(worker, site.url())
    act(worker, site.host)
    assert any(line.startswith(waits_for) for line in alone(worker, site.url()).waits_for)


def test_what_keeps_visits_from_sending_is_said(worker: Worker, site: Site) -> None:
    """Since the host's last request; what was sent after it ends the count."""
    start(worker, site.url())
    run(worker)
    assert why(worker, site.url()).host_unsent is None
    insert = """INSERT INTO fetches (host_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s,
                                     outcome, detail, wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
                SELECT host_id, visit_id, url_key, url, kind, 'unsent', clock_timestamp(), clock_timestamp(), delay_s,
                       :outcome, 'late', 0, 0, false, 0, false, 0 FROM fetches ORDER BY id LIMIT 1"""
    for outcome in ("unsent", "page", "unsent", "unsent"):
        sql(worker.engine, insert, outcome=outcome)
    said = why(worker, site.url()).host_unsent
    assert said is not None
    assert (said.startswith("2 times since its last request, "), said.endswith(": late")) == (True, True), said


def test_a_queued_url_knows_its_place(worker: Worker, site: Site) -> None:
    start(worker, *(site.url(f"/{number}") for number in range(5)))
    places = [alone(worker, site.url(f"/{number}")).url["ahead"] for number in range(5)]
    assert sorted(places) == [0, 1, 2, 3, 4]
    last = site.url(f"/{places.index(4)}")
    assert alone(worker, last).waits_for[-1].startswith("4 URLs of its crawl and host ahead of it")


def test_each_crawl_has_its_own_word(worker: Worker, site: Site) -> None:
    start(worker, site.url(), name="one")
    start(worker, site.url(), name="two", budgets=Budgets(max_depth=0))
    run(worker)
    assert [(row.crawl, row.crawl_state) for row in why(worker, site.url()).crawls] == [
        ("one", "finished"),
        ("two", "finished"),
    ]
    assert [row.crawl for row in why(worker, site.url("/a")).crawls] == ["one"]
    assert [row["crawl"] for row in why(worker, site.url("/a")).suppressions] == ["two"]


def test_out_of_scope_since_it_was_admitted(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    go(worker)
    sql(worker.engine, "UPDATE crawls SET exclude = '{/a$}'")
    assert alone(worker, site.url("/a")).scope == "outside: excluded"


def test_the_wait_of_a_host_without_its_lease_is_its_next_contact(worker: Worker, site: Site) -> None:
    """A crashed visit: its lease ran out, the host is due again by itself."""
    start(worker, site.url())
    sql(
        worker.engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now() - interval '2 minutes',
                            lease_until = now() - interval '1 minute', next_fetch_at = now() - interval '59 s'""",
    )
    page = hosts.show(worker.engine, worker.settings, site.host)
    assert host_waits_for(page.host).startswith("a worker: it has been due since ")


# cause, detail → what a refused URL waits for
@pytest.mark.parametrize(
    ("cause", "detail", "waits_for"),
    [
        ("robots.txt", "line 2", "robots.txt to allow it; it was refused because of robots.txt: line 2"),
        (
            "robots.txt out of reach",
            "4 times in a row",
            "robots.txt to come within reach; it was refused because of robots.txt out of reach: 4 times in a row",
        ),
        (
            "trap",
            "/w#",
            "an operator; it was refused as a trap: /w#: tiptoe url retry {url} --force; "
            "or for all like it, allow in the crawl's profile; tiptoe host patterns {host}",
        ),
        ("other", "too deep", "an operator; it was refused because of too deep: tiptoe url retry {url}"),
    ],
)
def test_what_a_refused_url_waits_for(worker: Worker, site: Site, cause: str, detail: str, waits_for: str) -> None:
    start(worker, site.url())
    sql(
        worker.engine, "UPDATE urls SET state = 'refused', cause = :cause, detail = :detail", cause=cause, detail=detail
    )
    assert alone(worker, site.url()).waits_for == [waits_for.format(url=site.url(), host=site.host)]


def test_a_command_that_is_told_is_quoted_for_the_shell(worker: Worker, site: Site) -> None:
    url = site.url("/?a=1&b=2")
    start(worker, url)
    sql(worker.engine, "UPDATE urls SET state = 'quarantined', cause = 'poison'")
    assert alone(worker, url).waits_for == [f"an operator (poison): tiptoe url retry '{url}'"]
