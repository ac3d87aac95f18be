"""Opt-outs from text and data mining: recorded in every crawl, obeyed in those that promise it."""

from collections.abc import Callable
from typing import Any

import pytest

from app.admin import hosts, robots_check
from app.admin.edit import edit
from app.crawl.state.worker import Worker
from app.model import CrawlChange
from tests.crawl.loop import go, run, start
from tests.crawl.visit.opt_outs import SITE_OPTED_OUT, TDMREP, again, pages, tdmrep
from tests.crawl.web import Answer, Hit, Page, Site, Web, html
from tests.store.rows import sql, url

OPTED_OUT = "kept out of pages: it opts out of text and data mining"
NO_TRAINING = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n"
NOT_BELOW = "User-agent: *\nContent-Usage: /private/ train-ai=n\nAllow: /\n"


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


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
        "tdm-reservation=1 (TDMRep header); ai-train=no (robots.txt Content-Signal); search=yes (robots.txt "
        "Content-Signal)",
        SITE_OPTED_OUT,
    ),
]


@pytest.mark.parametrize("honours", [False, True])
@pytest.mark.parametrize(("robots", "answer", "record", "cause"), SIGNALS)
def test_signals_are_recorded_and_obeyed_by_who_promised_to(
    worker: Worker,
    site: Site,
    robots: Page | None,
    answer: Answer,
    record: str | None,
    cause: str | None,
    honours: bool,
) -> None:
    site.robots = robots
    site.pages |= {"/": answer, "/a": html(headers={"TDM-Reservation": "0"})}
    start(worker, site.url(), honour_opt_outs=honours)
    run(worker)
    found = url(worker.engine, site.url())
    assert (found["state"], found["opt_out"]) == ("resting", record)
    assert found["cause"] == (cause if honours else None)
    kept = sql(worker.engine, "SELECT opt_out FROM pages WHERE url = :u", u=site.url())
    assert kept == ([] if honours and cause else [{"opt_out": record}])
    assert "/a" in site.paths, "links are followed all the same"
    assert (TDMREP in site.paths) is honours


def test_lines_of_robots_txt_hold_for_their_paths(worker: Worker, site: Site) -> None:
    site.robots = NOT_BELOW
    site.pages |= {"/": html("/private/a", "/b"), "/private/a": html(), "/b": html(text="b")}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert pages(worker) == ["/", "/b"]


def test_noindex_comes_first(worker: Worker, site: Site) -> None:
    site.robots = NO_TRAINING
    site.pages["/"] = html(headers={"X-Robots-Tag": "noindex, noai"})
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert url(worker.engine, site.url())["cause"] == "kept out of pages: noindex"


def test_two_crawls_of_a_site_keep_each_their_word(worker: Worker, site: Site) -> None:
    site.robots = NO_TRAINING
    site.pages["/"] = html()
    start(worker, site.url(), name="careful", honour_opt_outs=True)
    start(worker, site.url(), name="other")
    run(worker)
    kept = sql(worker.engine, "SELECT c.name FROM pages AS p JOIN crawls AS c ON c.id = p.crawl_id")
    assert kept == [{"name": "other"}]
    assert site.paths.count(TDMREP) == 1


def test_a_copy_of_robots_txt_that_this_process_has_not_read_is_read(make: Callable[..., Worker], site: Site) -> None:
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


def test_the_host_and_robots_check_tell_them(worker: Worker, site: Site) -> None:
    site.robots = NOT_BELOW
    site.pages |= {"/": html(), TDMREP: tdmrep(("/x/*", 1))}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)

    def told(path: str) -> list[Any]:
        (copy,) = hosts.show(worker.engine, worker.settings, site.url(path)).robots
        return [copy["opt_out"], robots_check.check(worker.engine, worker.settings, site.url(path)).opt_out]

    assert told("/") == [None, None]
    assert told("/private/x") == ["train-ai=n (robots.txt Content-Usage)"] * 2
    assert told("/x/y") == ["tdm-reservation=1 (tdmrep.json)"] * 2


# --- again ----------------------------------------------------------------------------------------------------------


def test_what_opts_out_later_goes(worker: Worker, site: Site) -> None:
    site.pages["/"] = html()
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert pages(worker) == ["/"]
    site.pages["/"] = html(headers={"TDM-Reservation": "1"})
    again(worker)
    assert (pages(worker), url(worker.engine, site.url())["cause"]) == ([], OPTED_OUT)


def always(**headers: str) -> Callable[[Hit], Answer]:
    """The same page with the same validator, whatever the site says by other ways."""
    return lambda hit: html(text="as ever", headers={"ETag": '"1"', **headers})


def test_what_a_site_withdraws_brings_the_page_back_though_it_did_not_change(worker: Worker, site: Site) -> None:
    site.robots = NO_TRAINING
    site.pages["/"] = always()
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    again(worker)
    assert url(worker.engine, site.url())["outcome"] == "unchanged", "still reserved: nothing is sent for nothing"
    site.robots = "User-agent: *\nAllow: /\n"
    hosts.forget(worker.engine, site.host)
    again(worker)
    found = url(worker.engine, site.url())
    assert (found["outcome"], found["opt_out"], found["cause"]) == ("page", None, None)
    assert pages(worker) == ["/"]


@pytest.mark.parametrize("signal", ["site", "page"])
def test_a_crawl_can_begin_and_cease_to_obey(worker: Worker, site: Site, signal: str) -> None:
    """Pages are judged anew when they are fetched again, also by what is on record where they have not changed."""
    site.robots = NO_TRAINING if signal == "site" else None
    site.pages["/"] = always() if signal == "site" else always(**{"TDM-Reservation": "1"})
    crawl = start(worker, site.url())
    run(worker)
    edit(worker.engine, worker.settings, crawl.name, CrawlChange(honour_opt_outs=True))
    assert pages(worker) == ["/"]
    again(worker)
    found = url(worker.engine, site.url())
    assert (pages(worker), found["outcome"]) == ([], "unchanged")
    assert found["cause"] == (SITE_OPTED_OUT if signal == "site" else OPTED_OUT)
    edit(worker.engine, worker.settings, crawl.name, CrawlChange(honour_opt_outs=False))
    again(worker)
    found = url(worker.engine, site.url())
    assert (pages(worker), found["outcome"], found["cause"]) == (["/"], "page", None)


def test_a_304_that_opts_out_counts(worker: Worker, site: Site) -> None:
    site.pages["/"] = lambda hit: (
        Answer(status=304, headers={"ETag": '"1"', "Content-Usage": "train-ai=n"})
        if hit.headers["If-None-Match"]
        else html(headers={"ETag": '"1"', "Content-Signal": "search=yes"})
    )
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    assert pages(worker) == ["/"]
    again(worker)
    found = url(worker.engine, site.url())
    assert (pages(worker), found["cause"]) == ([], OPTED_OUT)
    assert found["opt_out"] == "train-ai=n (Content-Usage header)"


def test_a_304_without_a_word_keeps_the_record(worker: Worker, site: Site) -> None:
    site.pages["/"] = lambda hit: (
        Answer(status=304) if hit.headers["If-None-Match"] else html(headers={"ETag": '"1"', "TDM-Reservation": "0"})
    )
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    again(worker)
    assert url(worker.engine, site.url())["opt_out"] == "tdm-reservation=0 (TDMRep header)"
    assert sql(worker.engine, "SELECT opt_out FROM pages") == [{"opt_out": "tdm-reservation=0 (TDMRep header)"}]
