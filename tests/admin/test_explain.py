"""`url why` tells the truth about each fate of a URL: what became of it, and what it waits for."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from app.admin import crawls, explain, hosts
from app.admin.explain import Explanation, InCrawl
from app.admin.url_changes import respelt
from app.admin.waiting import host_waits_for
from app.crawl.state.worker import Kit
from app.errors import InputError
from app.model import Budgets, Url
from app.policy.url import Canon
from app.store import db
from app.store import hosts as rows
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.store.rows import Aside, await_blocked, backend, one, sql

ROBOTS = "User-agent: *\nDisallow: /private\n"


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = ROBOTS
    same = html(text="The same words twice.")
    site.pages |= {
        "/": html(
            "/a", "/one", "/two", "/private/x", "/gone", "/moved", "/broken", "http://elsewhere.test/", "http://"
        ),
        "/a": html(title="Page A", text="Words of its own."),
        "/one": same,
        "/two": same,
        "/gone": Answer(status=410),
        "/moved": redirect("/a"),
        "/broken": Answer(status=500),
    }
    return site


def why(kit: Kit, text: str) -> Explanation:
    return explain.why(kit.engine, kit.settings, text)


def alone(kit: Kit, text: str) -> InCrawl:
    (found,) = why(kit, text).crawls
    return found


def test_a_page_that_was_fetched(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    found = why(kit, site.url("/a") + "?utm_source=x#top")
    (here,) = found.crawls
    assert found.url == site.url("/a")
    assert found.changed == ["parameters dropped: utm_source", "fragment dropped: #top"]
    assert (here.url["state"], here.url["depth"], here.url["found_on"]) == ("resting", 1, site.url())
    assert here.scope == "inside"
    assert here.page is not None
    assert here.page["title"] == "Page A"
    assert "not set to keep fresh" in here.waits_for[0]
    assert [fetch["status"] for fetch in found.fetches] == [200]
    assert found.robots is not None
    assert found.robots.allowed is True


def test_a_page_that_keeps_fresh_waits_for_its_recrawl(kit: Kit, site: Site) -> None:
    start(kit, site.url(), keep_fresh=True)
    go(kit)
    assert alone(kit, site.url()).waits_for[0].startswith("its recrawl, due ")


def test_a_duplicate_names_its_original(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    one, two = site.url("/one"), site.url("/two")
    (alias,) = [url for url in (one, two) if alone(kit, url).url["state"] == "alias"]
    original = two if alias == one else one
    here = alone(kit, alias)
    assert here.duplicate is not None
    assert (here.duplicate["kind"], here.duplicate["of_url"]) == ("body", original)
    assert here.waits_for == [f"nothing: the document is at {original}"]


def test_a_redirect_names_its_target(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    assert alone(kit, site.url("/moved")).waits_for == [f"nothing: the document is at {site.url('/a')}"]


def test_what_robots_refuses_names_the_line(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    found = why(kit, site.url("/private/x"))
    (here,) = found.crawls
    assert here.url["state"] == "refused"
    assert here.waits_for[0].startswith("robots.txt to allow it")
    assert found.robots is not None
    assert (found.robots.allowed, found.robots.group, found.robots.line) == (False, "*", 2)
    assert found.robots.sentence() == "refused: line 2, Disallow: /private (group *)"


def test_a_failing_page_waits_for_its_retry_then_for_an_operator(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    go(kit)
    assert alone(kit, site.url("/broken")).waits_for[0].startswith("its retry after attempt 1, due ")
    run(kit)
    here = alone(kit, site.url("/broken"))
    assert here.url["state"] == "quarantined"
    assert here.waits_for == [
        f"an operator (failed too often: server_error (500) 3 times): tiptoe url retry {site.url('/broken')}"
    ]
    assert len(why(kit, site.url("/broken")).fetches) == 3


def test_a_gone_page(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    assert alone(kit, site.url("/gone")).url["state"] == "gone"


def test_a_link_out_of_scope_was_refused(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    go(kit)
    found = why(kit, "http://elsewhere.test/")
    assert found.crawls == []
    assert [(row["reason"], row["found_on"]) for row in found.suppressions] == [("scope", site.url())]
    assert [would_be.verdict for would_be in found.elsewhere] == ["a link to it is refused: scope"]
    assert found.robots is not None
    assert found.robots.allowed is None


def test_a_link_that_is_no_url_was_refused(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    go(kit)
    found = why(kit, "http://")
    assert found.url is None
    assert [row["reason"] for row in found.suppressions] == ["invalid"]


def test_a_text_that_nobody_ever_met_is_refused(kit: Kit) -> None:
    with pytest.raises(InputError, match="'nonsense': not a URL; write it in full"):
        why(kit, "nonsense")


def test_a_url_that_no_crawl_knows(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    found = why(kit, site.url("/never-linked"))
    assert found.crawls == []
    assert [would_be.verdict for would_be in found.elsewhere] == ["a link to it would be admitted; none was found yet"]


def test_a_finished_crawl_says_nothing_of_urls_it_does_not_know(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    run(kit)
    assert why(kit, site.url("/never-linked")).elsewhere == []


# what an operator did → what a queued URL waits for
@pytest.mark.parametrize(
    ("act", "waits_for"),
    [
        (lambda kit, host: None, "a worker: it is due since "),
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
                """UPDATE hosts SET state = 'offered', lease_token = gen_random_uuid(), lease_until = now() + interval '5 s'""",
            ),
            "a worker to take up its offer on queue host-",
        ),
        (
            lambda kit, host: sql(
                kit.engine,
                """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(), pause_requested = true,
                                    lease_until = now() + interval '1 minute'""",
            ),
            "the visit that is there since ",
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


def test_retry_queues_and_wakes(kit: Kit, site: Site) -> None:
    crawl = start(kit, site.url())
    run(kit)
    crawls.activate(kit.engine, crawl.name)
    asked = len(site.log)
    assert explain.retry(kit.engine, kit.settings, site.url("/broken") + "#x", None) == ["c"]
    assert alone(kit, site.url("/broken")).url["state"] == "queued"
    assert one(kit.engine, "SELECT next_fetch_at IS NOT NULL FROM hosts WHERE name = :name", name=site.host)
    go(kit)
    assert site.paths[asked:] == ["/broken"]


def test_forget_takes_it_out_of_one_crawl(kit: Kit, site: Site) -> None:
    start(kit, site.url(), name="one")
    start(kit, site.url(), name="two")
    assert explain.forget(kit.engine, kit.settings, site.url(), "two") == ["two"]
    assert [row.crawl for row in why(kit, site.url()).crawls] == ["one"]


@pytest.mark.parametrize("act", [explain.retry, explain.forget])
@pytest.mark.parametrize(
    ("text", "crawl", "says"),
    [
        ("http://never.test/", None, "http://never.test/: no crawl knows it"),
        ("http://never.test/", "c", "http://never.test/: crawl c does not know it"),
        ("http://never.test/", "d", "crawl 'd': there is none of this name; there are: c"),
        ("nonsense", None, "URL 'nonsense'"),
    ],
)
def test_retry_and_forget_refuse_what_is_not_there(
    kit: Kit, act: Callable[..., object], text: str, crawl: str | None, says: str
) -> None:
    start(kit, "http://site.test/")
    with pytest.raises(InputError) as refused:
        act(kit.engine, kit.settings, text, crawl)
    assert str(refused.value).startswith(says)


# as given → what the canonical form changed
@pytest.mark.parametrize(
    ("asked", "changes"),
    [
        ("http://a.test/", []),
        ("http://a.test", ["path: (empty) → /"]),
        ("HTTP://A.test:80/", ["host: A.test:80 → a.test"]),
        ("http://a.test/x/../b%7Ec", ["path: /x/../b%7Ec → /b%7Ec"]),
        ("http://a.test/?b=1&a=2", []),
        ("http://a.test/?b=1&gclid=x&a=2", ["parameters dropped: gclid"]),
        ("http://a.test/?gclid=x", ["parameters dropped: gclid"]),
        ("http://a.test/?a=%7e", []),
        ("http://a.test/?a=ä", ["escapes in the query normalised"]),
        ("http://a.test/#part", ["fragment dropped: #part"]),
        ("http:\\\\a.test\\", ["host:  → a.test", "path: \\\\a.test\\ → /"]),
        ("http://bücher.test/", ["host: bücher.test → xn--bcher-kva.test"]),
        ("http://[bad/", None),
    ],
)
def test_what_the_canonical_form_changed(asked: str, changes: list[str] | None) -> None:
    url = Canon().canonicalise(asked)
    if changes is None:
        url = Canon().canonicalise("http://a.test/")
        changes = ["spelt as the URL standard has it"]
    assert isinstance(url, Url)
    assert respelt(asked, url) == changes


def test_the_wait_of_a_host_without_its_lease_is_its_next_contact(kit: Kit, site: Site) -> None:
    """A crashed visit: its lease ran out, the host is due again by itself."""
    start(kit, site.url())
    sql(
        kit.engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now() - interval '2 minutes',
                            lease_until = now() - interval '1 minute', next_fetch_at = now() - interval '59 s'""",
    )
    page = hosts.show(kit.engine, kit.settings, site.host)
    assert host_waits_for(page.host).startswith("a worker: it is due since ")


@pytest.mark.parametrize("act", ["retry", "forget"])
def test_operators_change_a_url_under_its_host(kit: Kit, act: str) -> None:
    start(kit, "http://a.test/")
    with db.transaction(kit.engine) as tx:
        rows.lock(tx, [1])
        aside = Aside(lambda: getattr(explain, act)(kit.engine, kit.settings, "http://a.test/", None))
        assert await_blocked(kit.engine, backend(tx), aside)
        tx.execute(text("UPDATE urls SET score = 0.5"))
    assert aside.outcome() == ["c"]


def test_explaining_changes_nothing(kit: Kit, site: Site) -> None:
    start(kit, site.url())
    go(kit)
    before = sql(kit.engine, "SELECT * FROM urls ORDER BY id"), sql(kit.engine, "SELECT * FROM hosts")
    for path in ("/", "/a", "/private/x", "/nowhere"):
        why(kit, site.url(path))
    assert (sql(kit.engine, "SELECT * FROM urls ORDER BY id"), sql(kit.engine, "SELECT * FROM hosts")) == before
