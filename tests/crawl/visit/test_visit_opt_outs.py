"""Opt-outs from text and data mining: recorded in every crawl, obeyed in those that say so."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.admin import audit, crawls, hosts, robots_check
from app.admin.edit import edit
from app.crawl.state.worker import Kit
from app.model import CrawlChange
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Hit, Page, Site, Web, html, redirect
from tests.store.rows import one, sql, url

TDMREP = "/.well-known/tdmrep.json"
OPTED_OUT = "kept out of pages: it opts out of text and data mining"
SITE_OPTED_OUT = "kept out of pages: its site opts out of text and data mining"
NO_TRAINING = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n"
NOT_BELOW = "User-agent: *\nContent-Usage: /private/ train-ai=n\nAllow: /\n"


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def tdmrep(*rules: tuple[str, int]) -> Answer:
    body = json.dumps([{"location": location, "tdm-reservation": reservation} for location, reservation in rules])
    return Answer(headers={"Content-Type": "application/json"}, body=body.encode())


def pages(kit: Kit) -> list[str]:
    """Paths of what is kept."""
    rows = sql(kit.engine, "SELECT url FROM pages ORDER BY url")
    return ["/" + row["url"].split("/", 3)[3] for row in rows]


def again(kit: Kit) -> None:
    crawls.go_round(kit.engine, "c")
    run(kit)


# --- recorded -------------------------------------------------------------------------------------------------------

# robots.txt, the page → on record, is it reserved, and by whom
SIGNALS: list[tuple[Page | None, Answer, str | None, str | None]] = [
    (None, html("/a"), None, None),
    (None, html("/a", headers={"TDM-Reservation": "1"}), "tdm-reservation=1 (TDMRep header)", OPTED_OUT),
    (None, html("/a", headers={"Content-Usage": "train-ai=n"}), "train-ai=n (Content-Usage header)", OPTED_OUT),
    (None, html("/a", headers={"Content-Signal": "ai-train=no"}), "ai-train=no (Content-Signal header)", OPTED_OUT),
    (None, html("/a", headers={"Content-Signal": "search=no"}), "search=no (Content-Signal header)", None),
    (None, html("/a", headers={"TDM-Reservation": "0"}), "tdm-reservation=0 (TDMRep header)", None),
    (None, html("/a", head="<meta name=tdm-reservation content=1>"), "tdm-reservation=1 (TDMRep meta)", OPTED_OUT),
    (None, html("/a", head="<meta name=robots content='noai, noimageai'>"), "noai (robots directives)", OPTED_OUT),
    (None, html("/a", headers={"X-Robots-Tag": "tiptoe: noai"}), "noai (robots directives)", OPTED_OUT),
    (None, html("/a", headers={"X-Robots-Tag": "other: noai"}), None, None),
    (
        NO_TRAINING,
        html("/a"),
        "ai-train=no (robots.txt Content-Signal); search=yes (robots.txt Content-Signal)",
        SITE_OPTED_OUT,
    ),
    ("User-agent: tiptoe\nContent-Usage: tdm=n", html("/a"), "tdm=n (robots.txt Content-Usage)", SITE_OPTED_OUT),
    ("User-agent: other\nContent-Usage: tdm=n", html("/a"), None, None),
    (NOT_BELOW, html("/a"), None, None),
    (
        NO_TRAINING,
        html("/a", headers={"TDM-Reservation": "1"}),
        "tdm-reservation=1 (TDMRep header); ai-train=no (robots.txt Content-Signal); search=yes (robots.txt Content-Signal)",
        SITE_OPTED_OUT,
    ),
]


@pytest.mark.parametrize("honours", [False, True])
@pytest.mark.parametrize(("robots", "answer", "record", "cause"), SIGNALS)
def test_signals_are_recorded_and_obeyed_by_who_promised_to(
    kit: Kit, site: Site, robots: Page | None, answer: Answer, record: str | None, cause: str | None, honours: bool
) -> None:
    site.robots = robots
    site.pages |= {"/": answer, "/a": html(headers={"TDM-Reservation": "0"})}
    start(kit, site.url(), honour_opt_outs=honours)
    run(kit)
    found = url(kit.engine, site.url())
    assert (found["state"], found["opt_out"]) == ("resting", record)
    assert found["cause"] == (cause if honours else None)
    kept = sql(kit.engine, "SELECT opt_out FROM pages WHERE url = :u", u=site.url())
    assert kept == ([] if honours and cause else [{"opt_out": record}])
    assert "/a" in site.paths, "links are followed all the same"
    assert (TDMREP in site.paths) is honours


def test_lines_of_robots_txt_hold_for_their_paths(kit: Kit, site: Site) -> None:
    site.robots = NOT_BELOW
    site.pages |= {"/": html("/private/a", "/b"), "/private/a": html(), "/b": html(text="b")}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert pages(kit) == ["/", "/b"]


def test_noindex_comes_first(kit: Kit, site: Site) -> None:
    site.robots = NO_TRAINING
    site.pages["/"] = html(headers={"X-Robots-Tag": "noindex, noai"})
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert url(kit.engine, site.url())["cause"] == "kept out of pages: noindex"


def test_two_crawls_of_a_site_keep_each_their_word(kit: Kit, site: Site) -> None:
    site.robots = NO_TRAINING
    site.pages["/"] = html()
    start(kit, site.url(), name="careful", honour_opt_outs=True)
    start(kit, site.url(), name="other")
    run(kit)
    kept = sql(kit.engine, "SELECT c.name FROM pages AS p JOIN crawls AS c ON c.id = p.crawl_id")
    assert kept == [{"name": "other"}]
    assert site.paths.count(TDMREP) == 1


def test_a_copy_of_robots_txt_that_this_process_has_not_read_is_read(make: Callable[..., Kit], site: Site) -> None:
    """Lines are told by the stored body; a worker that comes later has parsed nothing."""
    site.robots = NO_TRAINING
    site.pages |= {"/": html("/a"), "/a": html(text="a")}
    first, second = make(settle_urls=1, visit_max_s=1e-9), make()
    start(first, site.url())
    go(first)
    run(second)
    assert site.paths.count("/robots.txt") == 1
    found = sql(first.engine, "SELECT DISTINCT opt_out FROM pages")
    assert found == [{"opt_out": "ai-train=no (robots.txt Content-Signal); search=yes (robots.txt Content-Signal)"}]


def test_the_host_and_robots_check_tell_them(kit: Kit, site: Site) -> None:
    site.robots = NOT_BELOW
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x/*", 1))}
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)

    def told(path: str) -> list[Any]:
        (copy,) = hosts.show(kit.engine, kit.settings, site.url(path)).robots
        return [copy["opt_out"], robots_check.check(kit.engine, kit.settings, site.url(path)).opt_out]

    assert told("/") == [None, None]
    assert told("/private/x") == ["train-ai=n (robots.txt Content-Usage)"] * 2
    assert told("/x/y") == ["tdm-reservation=1 (tdmrep.json)"] * 2


# --- again ----------------------------------------------------------------------------------------------------------


def test_what_opts_out_later_goes(kit: Kit, site: Site) -> None:
    site.pages["/"] = html()
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert pages(kit) == ["/"]
    site.pages["/"] = html(headers={"TDM-Reservation": "1"})
    again(kit)
    assert (pages(kit), url(kit.engine, site.url())["cause"]) == ([], OPTED_OUT)


def always(**headers: str) -> Callable[[Hit], Answer]:
    """The same page with the same validator, whatever the site says by other ways."""
    return lambda hit: html(text="as ever", headers={"ETag": '"1"', **headers})


def test_what_a_site_withdraws_brings_the_page_back_though_it_did_not_change(kit: Kit, site: Site) -> None:
    site.robots = NO_TRAINING
    site.pages["/"] = always()
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    again(kit)
    assert url(kit.engine, site.url())["outcome"] == "unchanged", "still reserved: nothing is sent for nothing"
    site.robots = "User-agent: *\nAllow: /\n"
    hosts.forget(kit.engine, site.host)
    again(kit)
    found = url(kit.engine, site.url())
    assert (found["outcome"], found["opt_out"], found["cause"]) == ("page", None, None)
    assert pages(kit) == ["/"]


@pytest.mark.parametrize("signal", ["site", "page"])
def test_a_crawl_can_begin_and_cease_to_obey(kit: Kit, site: Site, signal: str) -> None:
    """Pages are judged anew when they are fetched again, also by what is on record where they have not changed."""
    site.robots = NO_TRAINING if signal == "site" else None
    site.pages["/"] = always() if signal == "site" else always(**{"TDM-Reservation": "1"})
    crawl = start(kit, site.url())
    run(kit)
    edit(kit.engine, kit.settings, crawl.name, CrawlChange(honour_opt_outs=True))
    assert pages(kit) == ["/"]
    again(kit)
    found = url(kit.engine, site.url())
    assert (pages(kit), found["outcome"]) == ([], "unchanged")
    assert found["cause"] == (SITE_OPTED_OUT if signal == "site" else OPTED_OUT)
    edit(kit.engine, kit.settings, crawl.name, CrawlChange(honour_opt_outs=False))
    again(kit)
    found = url(kit.engine, site.url())
    assert (pages(kit), found["outcome"], found["cause"]) == (["/"], "page", None)


def test_a_304_that_opts_out_counts(kit: Kit, site: Site) -> None:
    site.pages["/"] = lambda hit: (
        Answer(status=304, headers={"ETag": '"1"', "Content-Usage": "train-ai=n"})
        if hit.headers["If-None-Match"]
        else html(headers={"ETag": '"1"', "Content-Signal": "search=yes"})
    )
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    assert pages(kit) == ["/"]
    again(kit)
    found = url(kit.engine, site.url())
    assert (pages(kit), found["cause"]) == ([], OPTED_OUT)
    assert found["opt_out"] == "train-ai=n (Content-Usage header)"


def test_a_304_without_a_word_keeps_the_record(kit: Kit, site: Site) -> None:
    site.pages["/"] = lambda hit: (
        Answer(status=304) if hit.headers["If-None-Match"] else html(headers={"ETag": '"1"', "TDM-Reservation": "0"})
    )
    start(kit, site.url(), honour_opt_outs=True)
    run(kit)
    again(kit)
    assert url(kit.engine, site.url())["opt_out"] == "tdm-reservation=0 (TDMRep header)"
    assert sql(kit.engine, "SELECT opt_out FROM pages") == [{"opt_out": "tdm-reservation=0 (TDMRep header)"}]


# --- tdmrep.json ----------------------------------------------------------------------------------------------------


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
