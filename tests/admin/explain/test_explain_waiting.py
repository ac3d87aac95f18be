"""`url why` says what a queued URL waits for."""

from collections.abc import Callable

import pytest

from app.admin import crawls, hosts
from app.admin.waiting import host_waits_for
from app.crawl.state.worker import Kit
from app.model import Budgets
from tests.admin.explain.explained import alone, why
from tests.crawl.loop import go, run, start
from tests.crawl.web import Site
from tests.store.rows import sql


# what an operator did → what a queued URL waits for
@pytest.mark.parametrize(
    ("act", "waits_for"),
    [
        (lambda kit, host: None, "a worker: it has been due since "),
        (lambda kit, host: crawls.pause(kit.engine, "c"), "its crawl, which is paused: tiptoe crawl resume c"),
        (
            lambda kit, host: crawls.finish(kit.engine, "c"),
            "its crawl, which is finished (operator): tiptoe crawl start c",
        ),
        (lambda kit, host: hosts.pause(kit.engine, host), "an operator, who paused it: tiptoe host resume "),
        (
            lambda kit, host: sql(
                kit.engine,
                """UPDATE hosts SET blocked_until = now() + interval '1 hour', resting_because = 'rate_limited',
                                    next_fetch_at = now() + interval '1 hour'""",
            ),
            "its rest (rate_limited) to end, ",
        ),
        (
            lambda kit, host: sql(kit.engine, "UPDATE hosts SET delay_s = 7, next_fetch_at = now() + interval '7 s'"),
            "its delay of 7 s, ",
        ),
        (lambda kit, host: sql(kit.engine, "UPDATE hosts SET next_fetch_at = NULL"), "nothing: no URL of it is queued"),
        (
            lambda kit, host: sql(kit.engine, "UPDATE crawls SET max_pages = 5, pages_reserved = 5"),
            "its crawl's budget: 5 pages are fetched or granted to running visits",
        ),
        (
            lambda kit, host: sql(
                kit.engine,
                """UPDATE hosts SET state = 'offered', lease_token = gen_random_uuid(),
                                    lease_until = now() + interval '5 s'""",
            ),
            "a worker to take up its offer on queue host-",
        ),
        (
            lambda kit, host: sql(
                kit.engine,
                """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(),
                                    pause_requested = true, lease_until = now() + interval '1 minute'""",
            ),
            "its visit, running since ",
        ),
    ],
)
def test_what_a_queued_url_waits_for(kit: Kit, site: Site, act: Callable[[Kit, str], object], waits_for: str) -> None:
    start(kit, site.url())
    act(kit, site.host)
    assert any(line.startswith(waits_for) for line in alone(kit, site.url()).waits_for)


def test_what_keeps_visits_from_sending_is_said(kit: Kit, site: Site) -> None:
    """Since the host's last request; what was sent after it ends the count."""
    start(kit, site.url())
    run(kit)
    assert why(kit, site.url()).host_unsent is None
    insert = """INSERT INTO fetches (host_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s,
                                     outcome, detail, wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
                SELECT host_id, visit_id, url_key, url, kind, 'unsent', clock_timestamp(), clock_timestamp(), delay_s,
                       :outcome, 'late', 0, 0, false, 0, false, 0 FROM fetches ORDER BY id LIMIT 1"""
    for outcome in ("unsent", "page", "unsent", "unsent"):
        sql(kit.engine, insert, outcome=outcome)
    said = why(kit, site.url()).host_unsent
    assert said is not None
    assert (said.startswith("2 times since its last request, "), said.endswith(": late")) == (True, True), said


def test_a_queued_url_knows_its_place(kit: Kit, site: Site) -> None:
    start(kit, *(site.url(f"/{number}") for number in range(5)))
    places = [alone(kit, site.url(f"/{number}")).url["ahead"] for number in range(5)]
    assert sorted(places) == [0, 1, 2, 3, 4]
    last = site.url(f"/{places.index(4)}")
    assert alone(kit, last).waits_for[-1].startswith("4 URLs of its crawl and host that come first")


def test_each_crawl_has_its_own_word(kit: Kit, site: Site) -> None:
    start(kit, site.url(), name="one")
    start(kit, site.url(), name="two", budgets=Budgets(max_depth=0))
    run(kit)
    assert [(row.crawl, row.crawl_state) for row in why(kit, site.url()).crawls] == [
        ("one", "finished"),
        ("two", "finished"),
    ]
    assert [row.crawl for row in why(kit, site.url("/a")).crawls] == ["one"]
    assert [row["crawl"] for row in why(kit, site.url("/a")).suppressions] == ["two"]


def test_out_of_scope_since_it_was_admitted(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    go(kit)
    sql(kit.engine, "UPDATE crawls SET exclude = '{/a$}'")
    assert alone(kit, site.url("/a")).scope == "outside: excluded"


def test_the_wait_of_a_host_without_its_lease_is_its_next_contact(kit: Kit, site: Site) -> None:
    """A crashed visit: its lease ran out, the host is due again by itself."""
    start(kit, site.url())
    sql(
        kit.engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now() - interval '2 minutes',
                            lease_until = now() - interval '1 minute', next_fetch_at = now() - interval '59 s'""",
    )
    page = hosts.show(kit.engine, kit.settings, site.host)
    assert host_waits_for(page.host).startswith("a worker: it has been due since ")
