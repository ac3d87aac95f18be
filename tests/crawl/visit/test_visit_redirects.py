"""Redirects, aliases and duplicates: which URL is the home of a document."""

from collections.abc import Callable
from typing import Any

import pytest

from app.admin import crawls
from app.crawl.state.worker import Worker
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Page, Web, html, redirect
from tests.store.rows import one, sql, url

# --- redirects --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_rows(worker: Worker, web: Web, status: int) -> None:
    site = web.site()
    site.pages |= {"/": redirect("/new?utm_source=x#part", status), "/new": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/new"]
    old, new = url(worker.engine, site.url()), url(worker.engine, site.url("/new"))
    assert (old["state"], old["alias_of"]) == ("alias", site.url("/new"))
    assert (new["state"], new["hops"], new["depth"], new["found_on"]) == ("resting", 1, 0, site.url())


GZIPPED = {"Content-Encoding": "gzip"}  # and is not


@pytest.mark.parametrize("broken", [{"cut": True}, {"headers": GZIPPED}])
def test_a_redirect_and_a_refusal_are_told_by_their_heads(worker: Worker, web: Web, broken: dict[str, Any]) -> None:
    """Their bodies break off, or are not coded as they say: browsers do not wait for them."""
    site = web.site()
    headers = {"Location": "/new", **broken.get("headers", {})}
    no = Answer(status=404, body=b"not here", **broken)
    site.pages |= {
        "/robots.txt": no,
        "/": Answer(status=302, body=b"moved to /new", **{**broken, "headers": headers}),
        "/new": html("/no"),
        "/no": no,
    }
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/new", "/no"]
    row = url(worker.engine, site.url("/no"))
    assert (row["state"], row["outcome"], row["cause"]) == ("resting", "not_found", None)


def test_the_octets_of_a_redirect_are_sent_as_they_stand(worker: Worker, web: Web) -> None:
    """Its Location in UTF-8, which the wire's latin-1 would make another path of."""
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /ö"
    site.pages |= {"/": html("/a", "/b"), "/a": redirect("/ü".encode().decode("latin-1")), "/%C3%BC": html()}
    site.pages["/b"] = redirect("/ö".encode().decode("latin-1"))
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/%C3%BC", "/a", "/b"]
    assert url(worker.engine, site.url("/%C3%B6"))["cause"] == "robots.txt"


def test_a_page_that_redirected_for_a_while_is_a_page_again_at_its_304(worker: Worker, web: Web) -> None:
    site = web.site()
    page = html(text="the page", headers={"ETag": '"e"'})
    answers: list[Answer] = [page, redirect("/else"), page, page]
    site.pages |= {"/": lambda _: answers.pop(0), "/else": html(text="elsewhere")}
    start(worker, site.url())
    run(worker)
    states = []
    for _ in range(3):
        crawls.go_round(worker.engine, "c")
        run(worker)
        row = url(worker.engine, site.url())
        states.append((row["state"], row["outcome"], row["alias_of"]))
    kept = ("resting", "unchanged", None)
    assert states == [("alias", "redirect", site.url("/else")), kept, kept]


def chain(length: int) -> dict[str, Page]:
    hops: dict[str, Page] = {f"/{number}": redirect(f"/{number + 1}") for number in range(length)}
    return hops | {f"/{length}": html()}


def test_ten_hops_are_followed(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= chain(10)
    start(worker, site.url("/0"))
    run(worker)
    assert url(worker.engine, site.url("/10"))["state"] == "resting"


def test_the_eleventh_hop_is_not(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= chain(11)
    start(worker, site.url("/0"))
    run(worker)
    assert site.pages_asked == [f"/{number}" for number in range(11)]
    assert sql(worker.engine, "SELECT url, reason FROM suppressions") == [
        {"url": site.url("/11"), "reason": "redirects"}
    ]


@pytest.mark.parametrize(
    ("pages", "asked"),
    [
        ({"/": redirect("/a"), "/a": redirect("/")}, ["/", "/a"]),
        ({"/": redirect("/#x")}, ["/"]),
        ({"/": redirect("/a"), "/a": redirect("/b"), "/b": redirect("/a")}, ["/", "/a", "/b"]),
    ],
)
def test_loops_end(worker: Worker, web: Web, pages: dict[str, Page], asked: list[str]) -> None:
    site = web.site()
    site.pages |= pages
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == asked


@pytest.mark.parametrize("location", ["ftp://x.test/", "http://u:p@x.test/", "http://[", "javascript:1"])
def test_a_redirect_to_what_is_no_url_of_ours_ends_the_url(worker: Worker, web: Web, location: str) -> None:
    site = web.site()
    site.pages["/"] = redirect(location)
    start(worker, site.url())
    run(worker)
    found = url(worker.engine, site.url())
    assert found["state"] == "quarantined"
    assert "redirects" in found["cause"]


def test_a_redirect_out_of_scope_is_an_alias_whose_target_is_suppressed(worker: Worker, web: Web) -> None:
    site, other = web.site(), web.site()
    site.pages |= {"/": html("/moved"), "/moved": redirect(other.url("/there"))}
    start(worker, site.url())
    run(worker)
    assert other.paths == []
    assert url(worker.engine, site.url("/moved"))["alias_of"] == other.url("/there")
    assert sql(worker.engine, "SELECT url, reason FROM suppressions") == [
        {"url": other.url("/there"), "reason": "scope"}
    ]


def test_a_redirect_to_a_disallowed_path_is_not_followed(worker: Worker, web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /no"
    site.pages["/"] = redirect("/no")
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/"]
    assert url(worker.engine, site.url("/no"))["state"] == "refused"


def test_retry_after_on_a_redirect_is_heeded(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": Answer(status=302, headers={"Location": "/a", "Retry-After": "300"}), "/a": html()}
    start(worker, site.url())
    for _ in range(3):
        go(worker)
    assert site.pages_asked == ["/"]
    run(worker)  # the rest is over
    assert site.pages_asked == ["/", "/a"]


# --- aliases and duplicates -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("canonical", "alias"),
    [("/home", True), ("/", False), ("http://elsewhere.test/", False), ("mailto:x@y.test", False), ("", False)],
)
def test_rel_canonical_names_the_home_of_a_document(worker: Worker, web: Web, canonical: str, alias: bool) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", head=f'<link rel="canonical" href="{canonical}">'), "/home": html(), "/a": html()}
    start(worker, site.url())
    run(worker)
    found = url(worker.engine, site.url())
    assert (found["state"], found["alias_of"]) == (("alias", site.url("/home")) if alias else ("resting", None))
    assert ("/home" in site.pages_asked) is alias
    assert "/a" in site.pages_asked, "its links count all the same"


# the Link header of "/", and its alias
@pytest.mark.parametrize(
    ("link", "head", "alias"),
    [
        ('<home>; rel="canonical"', '<base href="/d/">', "/home"),
        ("</home>; rel=canonical", '<link rel=canonical href="/a">', "/a"),
        ('</home>; rel="canonical"; anchor="/a"', "", None),
    ],
)
def test_the_header_names_the_home_where_the_document_does_not(
    worker: Worker, web: Web, link: str, head: str, alias: str | None
) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", head=head, headers={"Link": link}), "/home": html(), "/a": html()}
    start(worker, site.url())
    run(worker)
    assert url(worker.engine, site.url())["alias_of"] == (alias and site.url(alias))


@pytest.mark.parametrize("batch", [1, 50])
def test_the_same_bytes_under_two_urls_have_one_home(make: Callable[..., Worker], web: Web, batch: int) -> None:
    worker = make(settle_urls=batch)
    site = web.site()
    twin = html("/x", "/y", text="the very same " * 20)
    site.pages |= {"/": html("/1", "/2", "/3"), "/1": twin, "/2": twin, "/3": twin, "/x": html(), "/y": html(text="y")}
    start(worker, site.url())
    run(worker)
    aliases = sql(worker.engine, "SELECT url, alias_of FROM urls WHERE state = 'alias' ORDER BY url")
    homes = {row["alias_of"] for row in aliases}
    assert len(aliases) == 2
    assert len(homes) == 1
    assert homes.isdisjoint(row["url"] for row in aliases)
    noted = sql(worker.engine, "SELECT url, of_url, kind FROM duplicates WHERE kind = 'body' ORDER BY url")
    assert noted == [{"url": row["url"], "of_url": row["alias_of"], "kind": "body"} for row in aliases]
    assert sorted(site.pages_asked) == ["/", "/1", "/2", "/3", "/x", "/y"]


def test_the_same_text_in_another_dress_is_noted_and_stays(worker: Worker, web: Web) -> None:
    site = web.site()
    words = "a text that is long enough to be one " * 10
    site.pages |= {
        "/": html("/1", "/2"),
        "/1": html(text=words),
        "/2": html(text=words, title="other", head="<!-- x -->"),
    }
    start(worker, site.url())
    run(worker)
    assert [row["kind"] for row in sql(worker.engine, "SELECT kind FROM duplicates")] == ["text"]
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'alias'") == 0


def test_empty_pages_are_no_duplicates(worker: Worker, web: Web) -> None:
    site = web.site()
    empty = Answer(headers={"Content-Type": "text/html"})
    site.pages |= {"/": html("/1", "/2"), "/1": empty, "/2": empty}
    start(worker, site.url())
    run(worker)
    assert one(worker.engine, "SELECT count(*) FROM duplicates") == 0


def test_counts_of_a_crawl_add_up(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", "/404", "/r", "/png"), "/a": html(), "/r": redirect("/a")}
    site.pages["/png"] = Answer(headers={"Content-Type": "image/png"}, body=b"png")
    start(worker, site.url())
    run(worker)
    row: dict[str, Any]
    (row,) = sql(worker.engine, "SELECT pages, fetches, failed, bytes, hosts FROM v_crawl_progress")
    assert (row["pages"], row["fetches"], row["failed"], row["hosts"]) == (2, 5, 1, 1)
    assert row["bytes"] == one(worker.engine, "SELECT sum(wire_bytes) FROM fetches WHERE kind = 'page'")
