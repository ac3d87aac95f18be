"""What owners state, recorded with each answer as it stood: by robots.txt, headers, documents and licence files."""

from collections.abc import Callable
from typing import Any

import pytest

from app.admin import audit, crawls
from app.crawl.state.worker import Worker
from app.features.rights import licence as licence_part
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.features.rights.said import licence
from tests.store.rows import one, sql

RSL_TYPE = "application/rsl+xml"
NO_TRAINING = '<prohibits type="usage">ai-train</prohibits>'
SEARCH_ALONE = '<permits type="usage">search</permits>'


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def rsl(inner: str = NO_TRAINING, url: str = "/") -> Answer:
    return Answer(headers={"Content-Type": RSL_TYPE}, body=licence(inner, url))


def rights(worker: Worker, site: Site) -> dict[str, str]:
    """The verdicts that stand, by path: archive, search, ai-input, ai-train."""
    signs = {"allowed": "+", "refused": "-", "unknown": "?"}
    rows = sql(worker.engine, "SELECT * FROM v_rights ORDER BY url")
    return {
        row["url"].removeprefix(site.url("/")[:-1]): "".join(
            signs[row[name]] for name in ("archive", "search", "ai_input", "ai_train")
        )
        for row in rows
    }


def decided(worker: Worker, purpose: str = "ai-train") -> list[str]:
    rows = sql(worker.engine, "SELECT decided ->> :purpose AS words FROM v_rights ORDER BY url", purpose=purpose)
    return [row["words"] for row in rows]


def again(worker: Worker) -> None:
    crawls.go_round(worker.engine, "c")
    run(worker)


def test_a_licence_that_robots_txt_names_is_asked_for_once_and_before_the_first_page(
    worker: Worker, site: Site
) -> None:
    site.robots = f"License: {site.url('/license.xml')}\nUser-agent: *\nAllow: /\n"
    site.pages |= {"/": html("/a"), "/a": html(text="a"), "/license.xml": rsl()}
    start(worker, site.url())
    run(worker)
    assert site.paths[:3] == ["/robots.txt", "/license.xml", "/"]
    assert site.paths.count("/license.xml") == 1
    assert rights(worker, site) == {"/": "???-", "/a": "???-"}
    assert decided(worker)[0] == f"ai-train=no (RSL {site.url('/license.xml')}: prohibits ai-train)"
    (row,) = sql(worker.engine, "SELECT kind, reason, status, crawl_id FROM fetches WHERE kind = 'licence'")
    assert row == {"kind": "licence", "reason": "new", "status": 200, "crawl_id": None}


def test_a_page_without_any_statement_leaves_no_row(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html("/a"), "/a": html(text="a")}
    start(worker, site.url())
    run(worker)
    assert one(worker.engine, "SELECT count(*) FROM rights") == 0
    assert one(worker.engine, "SELECT count(*) FROM statements") == 0


def page_with(by: str, licence_url: str) -> Answer:
    if by == "link element":
        return html("/a", head=f'<link rel=license type="{RSL_TYPE}" href="{licence_url}">', text="a")
    return html("/a", text="a", headers={"Link": f'<{licence_url}>; rel="license"; type="{RSL_TYPE}"'})


@pytest.mark.parametrize("by", ["link element", "Link header"])
def test_a_licence_that_a_page_names_is_asked_for_before_the_next_page_and_decides_for_it(
    worker: Worker, site: Site, by: str
) -> None:
    site.pages |= {"/": page_with(by, "/l.xml"), "/a": html(text="a"), "/l.xml": rsl()}
    start(worker, site.url())
    run(worker)
    assert site.paths == ["/robots.txt", "/", "/l.xml", "/a"]
    assert rights(worker, site) == {"/": "???-"}


def test_a_licence_of_a_page_that_is_named_by_none_but_the_last_is_unread_until_the_next_round(
    worker: Worker, site: Site
) -> None:
    site.pages |= {"/": page_with("link element", "/l.xml"), "/l.xml": rsl("")}
    site.robots = "User-agent: *\nDisallow: /a"
    start(worker, site.url())
    run(worker)
    assert rights(worker, site) == {"/": "????"}
    assert "was not asked for yet" in decided(worker)[0]
    again(worker)
    again(worker)
    assert site.paths == ["/robots.txt", "/", "/l.xml", "/", "/"]
    assert decided(worker) == [None]


def test_a_304_keeps_what_the_document_named_and_takes_what_the_header_says_now(worker: Worker, site: Site) -> None:
    head = '<meta name="tdm-reservation" content="1">'
    site.pages["/"] = html(head=head, headers={"ETag": '"1"', "Content-Signal": "search=yes"})
    start(worker, site.url())
    run(worker)
    assert rights(worker, site) == {"/": "?+--"}
    again(worker)
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE status = 304") == 1
    assert rights(worker, site) == {"/": "?+--"}, "it takes nothing back"
    assert one(worker.engine, "SELECT count(*) FROM rights") == 1
    site.pages["/"] = Answer(status=304, headers={"Content-Signal": "search=no"})
    again(worker)
    assert rights(worker, site) == {"/": "?---"}
    assert one(worker.engine, "SELECT count(*) FROM rights") == 2


def test_what_was_stated_before_stays_on_record_and_silence_is_recorded_too(worker: Worker, site: Site) -> None:
    site.pages["/"] = html(text="a", headers={"Content-Signal": "ai-train=yes"})
    start(worker, site.url())
    run(worker)
    site.pages["/"] = html(text="b", headers={"Content-Signal": "ai-train=no"})
    again(worker)
    site.pages["/"] = html(text="c")
    again(worker)
    again(worker)
    rows = sql(
        worker.engine, "SELECT ai_train FROM rights JOIN statements AS s ON s.sha256 = rights.said ORDER BY since"
    )
    assert [row["ai_train"] for row in rows] == ["allowed", "refused", "unknown"]


# what stands at the licence's place → the line on record
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(status=404), "could not be had: status 404"),
        (Answer(status=404, body=b"not here", cut=True), "could not be had: status 404"),
        (Answer(status=500), "could not be had: status 500"),
        (Answer(drop=True), "could not be had: reset"),
        (Answer(body=b"<rsl>" + b" " * 2**20 * 2, headers={"Content-Type": RSL_TYPE}), "is larger than 500 KiB"),
        (
            Answer(body=b'<!DOCTYPE rsl [<!ENTITY a "b">]><rsl/>', headers={"Content-Type": RSL_TYPE}),
            "document type with declarations: refused",
        ),
        (html(text="our page for what is not there"), "is no RSL document"),
    ],
)
def test_a_licence_that_cannot_be_read_is_a_line_and_leaves_it_unknown(
    worker: Worker, site: Site, answer: Answer, problem: str
) -> None:
    site.robots = f"User-agent: *\nContent-Signal: ai-train=yes, search=no\nLicense: {site.url('/l.xml')}\n"
    site.pages |= {"/": html(), "/l.xml": answer}
    start(worker, site.url())
    run(worker)
    assert rights(worker, site) == {"/": "?-??"}, "a refusal refuses; nothing else is known"
    assert decided(worker) == [f"unread={site.url('/l.xml')} (RSL {site.url('/l.xml')}: {problem})"]
    assert one(worker.engine, "SELECT problem FROM licences") == problem
    assert one(worker.engine, "SELECT ended_because FROM crawls") == "done"


def test_redirects_of_a_licence_are_followed_as_the_robots_txt_of_each_origin_allows(
    worker: Worker, web: Web, site: Site
) -> None:
    other, third = web.site(), web.site()
    third.robots = "User-agent: *\nDisallow: /no"
    site.robots = f"License: {site.url('/l.xml')}\nLicense: {site.url('/refused.xml')}\nLicense: {site.url('/round')}\n"
    site.pages |= {
        "/": html(),
        "/l.xml": redirect("/there"),
        "/there": redirect(other.url("/l.xml")),
        "/refused.xml": redirect(third.url("/no")),
        "/round": redirect("/round"),
    }
    other.pages["/l.xml"] = rsl()
    start(worker, site.url())
    run(worker)
    assert site.paths == [
        "/robots.txt",
        "/l.xml",
        "/there",
        "/refused.xml",
        "/round",
        "/round",
        "/round",
        "/round",
        "/",
    ]
    assert (other.paths, third.paths) == (["/robots.txt", "/l.xml"], ["/robots.txt"])
    assert rights(worker, site) == {"/": "???-"}
    found = {row["url"]: row["problem"] for row in sql(worker.engine, "SELECT url, problem FROM licences")}
    assert found == {
        site.url("/l.xml"): None,
        site.url("/refused.xml"): "is not asked for: robots.txt of its origin refuses it",
        site.url("/round"): "could not be had: status 301",
    }
    assert audit.audit(worker.engine, worker.settings, None).violations == 0


def test_where_robots_txt_refuses_a_licence_it_is_not_asked_for(worker: Worker, site: Site) -> None:
    site.robots = f"User-agent: *\nDisallow: /l.xml\nLicense: {site.url('/l.xml')}\n"
    site.pages |= {"/": html(), "/l.xml": rsl()}
    start(worker, site.url())
    run(worker)
    assert site.paths == ["/robots.txt", "/"]
    assert "robots.txt of its origin refuses it" in decided(worker)[0]


def test_a_licence_of_another_host_is_asked_for_there_after_its_robots_txt(
    worker: Worker, web: Web, site: Site
) -> None:
    other = web.site()
    other.pages["/l.xml"] = rsl()
    site.robots = f"License: {other.url('/l.xml')}\n"
    site.pages |= {"/": html("/a"), "/a": html(text="a")}
    start(worker, site.url())
    run(worker)
    assert other.paths == ["/robots.txt", "/l.xml"]
    assert rights(worker, site) == {"/": "???-", "/a": "???-"}
    other.robots = "User-agent: *\nDisallow: /"
    sql(worker.engine, "UPDATE licences SET asked_at = asked_at - interval '25 hours'")
    sql(worker.engine, "UPDATE robots SET expires_at = now()")
    again(worker)
    assert other.paths == ["/robots.txt", "/l.xml", "/robots.txt"]
    assert audit.audit(worker.engine, worker.settings, None).violations == 0


@pytest.mark.parametrize(("hours", "asked"), [(23, 1), (25, 2)])
def test_it_is_asked_for_again_after_a_day(worker: Worker, site: Site, hours: int, asked: int) -> None:
    site.robots = f"License: {site.url('/l.xml')}\n"
    site.pages |= {"/": html(), "/l.xml": rsl()}
    start(worker, site.url())
    run(worker)
    sql(worker.engine, f"UPDATE licences SET asked_at = asked_at - interval '{hours} hours'")
    site.pages["/l.xml"] = rsl(SEARCH_ALONE)
    again(worker)
    assert site.paths.count("/l.xml") == asked
    assert rights(worker, site) == {"/": "-+--" if asked == 2 else "???-"}


def test_a_second_worker_takes_it_from_the_first(make: Callable[..., Worker], site: Site) -> None:
    first, second = make(), make()
    site.robots = f"License: {site.url('/l.xml')}\n"
    site.pages |= {"/": html(), "/l.xml": rsl()}
    start(first, site.url())
    run(first)
    start(second, site.url(), name="d")
    run(second)
    assert site.paths.count("/l.xml") == 1
    assert one(second.engine, "SELECT count(*) FROM v_rights WHERE ai_train = 'refused'") == 2


def test_a_failure_does_not_undo_what_was_read(worker: Worker, site: Site) -> None:
    site.robots = f"License: {site.url('/l.xml')}\n"
    site.pages |= {"/": html(), "/l.xml": rsl()}
    start(worker, site.url())
    run(worker)
    sql(worker.engine, "UPDATE licences SET asked_at = asked_at - interval '25 hours'")
    site.pages["/l.xml"] = Answer(status=502)
    again(worker)
    assert site.paths.count("/l.xml") == 2
    assert rights(worker, site) == {"/": "???-"}


def test_a_crawl_that_honours_opt_outs_honours_that_of_a_licence(worker: Worker, site: Site) -> None:
    site.robots = f"License: {site.url('/l.xml')}\n"
    site.pages |= {"/": html(), "/l.xml": rsl()}
    start(worker, site.url(), honour_opt_outs=True)
    run(worker)
    wanted: dict[str, Any] = {"cause": "kept out of pages: its site opts out of text and data mining"}
    assert sql(worker.engine, "SELECT cause FROM urls WHERE kind = 'page'") == [wanted]
    assert one(worker.engine, "SELECT count(*) FROM pages") == 0


def test_an_error_page_states_nothing(worker: Worker, site: Site) -> None:
    site.pages |= {
        "/": html("/a", headers={"Content-Signal": "ai-train=yes"}),
        "/a": html(headers={"Content-Signal": "ai-train=no", "X-Robots-Tag": "noindex"}, status=404),
    }
    start(worker, site.url())
    run(worker)
    assert rights(worker, site) == {"/": "???+"}


def test_a_site_that_names_many_licences_has_few_of_them_asked_for(worker: Worker, site: Site) -> None:
    site.robots = "User-agent: *\nAllow: /\n" + "".join(f"License: {site.url(f'/r{n}.xml')}\n" for n in range(50))
    links = "".join(f'<link rel=license type="{RSL_TYPE}" href="/p{n}.xml">' for n in range(50))
    site.pages |= {"/": html(*(f"/{n}" for n in range(5)))}
    site.pages |= {f"/{n}": html(text=f"page {n}", head=links.replace("/p", f"/p{n}-")) for n in range(5)}
    start(worker, site.url())
    run(worker)
    asked = [path for path in site.paths if path.endswith(".xml") and "sitemap" not in path]
    assert len(asked) == len(set(asked)) <= 2 * licence_part.MOST
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE kind = 'page' AND status = 200") == 6
    assert one(worker.engine, "SELECT ended_because FROM crawls") == "done"
