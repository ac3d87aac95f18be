"""Links that no person can see are not followed."""

from collections.abc import Callable

import pytest

from app.crawl.state.worker import Worker
from tests.crawl.loop import run, start
from tests.crawl.visit.directives import refusals
from tests.crawl.web import Answer, Site, Web, html
from tests.hostile.traps import HONEYPOT
from tests.store.rows import one, url


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


HIDDEN = "<p style='display: none'><a href=/trap>x</a></p>"


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (HIDDEN, "hidden"),
        ("<a href=/trap hidden>x</a>", "hidden"),
        ("<a href=/trap aria-hidden=true></a>", "hidden"),
        ("<a href=/trap hidden rel=nofollow>x</a>", "nofollow"),
        ("<a href=/trap rel='ugc NoFollow'>x</a>", "nofollow"),
        ("<iframe hidden src=/trap></iframe>", "hidden"),
    ],
)
def test_a_link_that_no_person_can_see_is_not_followed(worker: Worker, site: Site, head: str, reason: str) -> None:
    site.pages |= {"/": html("/a", text=head), "/a": html(), "/trap": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/a"]
    assert refusals(worker) == {"/trap": reason}
    assert one(worker.engine, "SELECT found_on FROM suppressions") == site.url()


@pytest.mark.parametrize("first", [True, False])
def test_on_a_page_that_shows_it_too_it_is_followed(worker: Worker, site: Site, first: bool) -> None:
    shown = "<a href=/trap>here</a>"
    site.pages |= {"/": html(text=shown + HIDDEN if first else HIDDEN + shown), "/trap": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/trap"]
    assert refusals(worker) == {}


@pytest.mark.parametrize("batch", [1, 50])
def test_once_another_page_shows_it_it_is_followed(make: Callable[..., Worker], site: Site, batch: int) -> None:
    worker = make(settle_urls=batch)
    site.pages |= {"/": html("/a", text=HIDDEN), "/a": html("/trap"), "/trap": html("/b"), "/b": html(text=HIDDEN)}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/a", "/trap", "/b"]
    assert url(worker.engine, site.url("/trap"))["found_on"] == site.url("/a")
    assert refusals(worker) == {"/trap": "hidden"}, "as it was met at first"


def test_a_honeypot_catches_nobody(worker: Worker, site: Site) -> None:
    site.pages |= {"/": Answer(headers={"Content-Type": "text/html"}, body=HONEYPOT.encode())}
    site.pages |= {"/open/1": html(text="1"), "/open/2": html(text="2")}
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/open/1", "/open/2"]
    assert {path: reason for path, reason in refusals(worker).items() if reason != "hidden"} == {
        "/trap/nofollow": "nofollow",
        "/trap/several-rels": "nofollow",
    }


def test_hidden_links_that_would_not_be_followed_anyway_keep_their_reason(worker: Worker, web: Web, site: Site) -> None:
    away = web.site()
    links = f"<div hidden><a href={away.url('/x')}>1</a><a href=/x.png>2</a><a href=mailto:a@b.test>3</a></div>"
    site.pages["/"] = html(text=links)
    start(worker, site.url())
    run(worker)
    assert refusals(worker) == {"/x": "scope"}
