"""A render turn: what it asks for and how, and what comes of it. With a stand-in for the browser."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from app.admin import audit
from app.browser.values import Answer as Answered
from app.browser.values import Ask, Bounds, BrowserDeath, PlainResponse, Refused, Rendering, ResourceKind
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up
from app.features.render import at_host
from app.features.render.cache import asking
from app.features.render.requests import POST_BYTES_MOST, POSTS_MOST
from app.features.render.turn import TurnEnding
from app.model import Url
from app.model.render import RenderRefusal as R
from app.store import db, hosts
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.features.render.shells import TEXT, Stand, asked, render, rows, script, shell, there, turns
from tests.store.rows import sql


def test_a_shell_waits_and_a_plain_page_does_not(worker: Worker, site: Site) -> None:
    site.pages["/plain"] = html("/", text="A page that says what it has to say. " * 10)
    start(worker, site.url("/"), site.url("/plain"))
    go(worker)
    assert [(row.url, row.state) for row in rows(worker, "SELECT url, state FROM renders")] == [(site.url("/"), "due")]


@pytest.mark.parametrize(("render_", "rendered"), [("auto", ["/app"]), ("never", []), ("always", ["/", "/app"])])
def test_a_crawl_says_what_is_rendered(worker: Worker, web: Web, render_: str, rendered: list[str]) -> None:
    site = web.site()
    site.pages |= {"/": html(text="A page that says what it has to say. " * 10), "/app": shell()}
    start(worker, site.url("/"), site.url("/app"), render=render_)
    go(worker)
    assert [row.url for row in rows(worker, "SELECT url FROM renders ORDER BY url")] == list(map(site.url, rendered))


def test_what_the_scripts_made_is_the_page(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"))
    go(worker)
    there(worker.engine)
    assert render(worker, Stand()) == 1
    run(worker)
    (page,) = rows(worker, f"SELECT * FROM pages WHERE url = '{site.url('/')}'")
    assert TEXT.strip() in page.main_text
    assert page.title == "Made"
    assert page.rendered_at is not None
    assert "/made" in site.paths, "its link was admitted, and fetched"
    (row,) = rows(worker, "SELECT state, brought > 200 AS brought, body, wall_ms, asked, cause FROM renders")
    assert tuple(row) == ("done", True, None, 500.0, 1, None)


def test_its_requests_are_in_the_log_and_keep_the_gap(make: Callable[..., Worker], site: Site) -> None:
    worker = make(default_delay_s=0.2)
    site.pages["/data.json"] = Answer(body=b"{}")
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=["/app.js", "/data.json", "/missing.js"])
    render(worker, stand)
    assert site.paths == ["/robots.txt", "/", "/app.js", "/data.json", "/missing.js"]
    assert min(site.gaps()) >= 0.2
    kinds = rows(worker, "SELECT kind, reason, count(*) AS n FROM fetches GROUP BY 1, 2 ORDER BY 1")
    assert [tuple(row) for row in kinds] == [("page", "new", 1), ("robots", "robots", 1), ("subrequest", "render", 3)]
    assert [getattr(each, "status", None) for each in stand.got] == [200, 200, 404]
    report = audit.audit(worker.engine, worker.settings, None)
    assert (report.violations, report.disorder) == (0, 0)


def test_the_main_document_is_not_fetched_twice(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"))
    go(worker)
    stand = Stand()
    render(worker, stand)
    assert site.paths.count("/") == 1
    assert stand.opened[0].body == site.pages["/"].body  # type: ignore[union-attr]


# what the page asks for, why it is refused
REFUSED = [
    (asked("http://127.200.0.1/x", method="POST"), R.METHOD),
    (asked("https://www.google-analytics.com/a.js"), R.TRACKER),
    (asked("http://127.200.0.1:25/a.js"), R.PORT),
    (asked("http://127.200.0.1/frame", ResourceKind.DOCUMENT), R.SCOPE),
]


@pytest.mark.parametrize(("request_", "reason"), REFUSED, ids=[str(row[1]) for row in REFUSED])
def test_what_is_refused_before_anybody_is_asked(worker: Worker, site: Site, request_: object, reason: R) -> None:
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=[request_])  # type: ignore[list-item]
    render(worker, stand)
    assert stand.got == [Refused(reason)]
    (row,) = rows(worker, "SELECT refused FROM renders")
    assert row.refused == {reason.value: 1}


def test_a_head_goes_out_as_a_head(worker: Worker, site: Site) -> None:
    site.pages["/data.json"] = Answer(headers={"Content-Type": "application/json", "X-Total": "7"}, body=b"[1, 2, 3]")
    start(worker, site.url("/"))
    go(worker)
    data = site.url("/data.json")
    stand = Stand(asks=[asked(data, ResourceKind.FETCH, "HEAD"), asked(data, ResourceKind.FETCH)])
    render(worker, stand)
    assert [hit.method for hit in site.log if hit.path == "/data.json"] == ["HEAD", "GET"]
    head, whole = stand.got
    assert not isinstance(head, Refused)
    assert (head.status, head.headers["x-total"], head.body) == (200, "7", b"")
    assert whole == Answered(status=200, headers=head.headers, body=b"[1, 2, 3]"), "the connection is in order after it"
    assert [row.status for row in rows(worker, "SELECT status FROM fetches WHERE kind = 'subrequest'")] == [200, 200]


def test_headers_of_scripts_go_out_beside_our_own(worker: Worker, site: Site) -> None:
    site.pages["/data"] = Answer(body=b"{}")
    start(worker, site.url("/"))
    go(worker)
    headers = {"accept": "application/json", "x-requested-with": "XMLHttpRequest", "authorization": "Bearer x"}
    headers |= {"user-agent": "Mozilla/5.0", "from": "x@y.test", "cookie": "a=b", "referer": "http://y.test/"}
    render(worker, Stand(asks=[asked(site.url("/data"), ResourceKind.FETCH, headers=headers)]))
    plain, sent = (next(hit.headers for hit in site.log if hit.path == path) for path in ("/", "/data"))
    assert (sent["Accept"], sent["X-Requested-With"]) == ("application/json", "XMLHttpRequest")
    assert (sent["User-Agent"], sent["From"]) == (plain["User-Agent"], plain["From"])
    assert {"Authorization", "Cookie", "Referer"} & set(sent.keys()) == set()


POST = "name = 'posts'\n[render]\npost = ['^/api/']\n"
# profile, path, body, times; how many are answered, why the others are refused
POSTS: list[tuple[str, str, bytes, int, int, R | None]] = [
    ("general", "/api/list", b"{}", 1, 0, R.METHOD),  # no profile says so
    (POST, "/api/list", b'{"page": 1}', 1, 1, None),
    (POST, "/other", b"{}", 1, 0, R.METHOD),
    (POST, "/api/no", b"{}", 1, 0, R.ROBOTS),
    (POST, "elsewhere", b"{}", 1, 0, R.SCOPE),
    (POST, "/api/list", b"x" * (POST_BYTES_MOST + 1), 1, 0, R.BYTES),
    (POST, "/api/list", b"{}", POSTS_MOST + 1, POSTS_MOST, R.REQUESTS),
]


@pytest.mark.parametrize("row", POSTS)
def test_a_post_goes_out_only_where_the_crawls_profile_says_so(
    worker: Worker, site: Site, web: Web, row: tuple[str, str, bytes, int, int, R | None]
) -> None:
    profile, path, body, times, answered, reason = row
    other = web.site()
    site.robots = "User-agent: *\nDisallow: /api/no"
    site.pages["/api/list"] = site.pages["/api/no"] = site.pages["/other"] = Answer(body=b"[]")
    start(worker, site.url("/"), profile=profile)
    go(worker)
    url = other.url("/api/list") if path == "elsewhere" else site.url(path)
    stand = Stand(asks=[asked(url, ResourceKind.FETCH, "POST", {"content-type": "application/json"}, body)] * times)
    render(worker, stand)
    arrived = [hit for hit in site.log + other.log if hit.method == "POST"]
    assert [(hit.content, hit.headers["Content-Type"]) for hit in arrived] == [(body, "application/json")] * answered
    assert [each.reason for each in stand.got if isinstance(each, Refused)] == [reason] * (times - answered)
    logged = rows(worker, "SELECT reason, status FROM fetches WHERE kind = 'subrequest'")
    assert [tuple(each) for each in logged] == [("render post", 200)] * answered
    assert audit.audit(worker.engine, worker.settings, None).violations == 0


def test_robots_txt_holds_for_what_a_page_asks_for(worker: Worker, site: Site, web: Web) -> None:
    other = web.site()
    other.robots = "User-agent: *\nDisallow: /no"
    other.pages["/yes.js"] = other.pages["/no.js"] = script()
    site.robots = "User-agent: *\nDisallow: /private"
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=["/private.js", "/app.js", other.url("/no.js"), other.url("/yes.js")])
    render(worker, stand)
    assert [getattr(each, "reason", None) for each in stand.got] == [R.ROBOTS, None, R.ROBOTS, None]
    assert site.paths == ["/robots.txt", "/", "/app.js"]
    assert other.paths == ["/robots.txt", "/yes.js"]


def test_a_private_address_is_not_contacted(make: Callable[..., Worker], web: Web) -> None:
    site, private = web.site(), web.site()
    worker = make(allow_networks=f"{site.host}/32")
    site.pages["/"] = shell()
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=[private.url("/secret")])
    render(worker, stand)
    assert isinstance(stand.got[0], Refused)
    assert private.log == []


def test_another_host_is_visited_for_one_request_and_given_back(worker: Worker, site: Site, web: Web) -> None:
    cdn = web.site()
    cdn.pages["/lib.js"] = script("lib()")
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=[cdn.url("/lib.js"), cdn.url("/lib.js")])
    render(worker, stand)
    assert cdn.paths == ["/robots.txt", "/lib.js", "/lib.js"]
    (row,) = rows(worker, f"SELECT state, lease_token, last_contact_at FROM hosts WHERE name = '{cdn.host}'")
    assert (row.state, row.lease_token) == ("idle", None)
    assert row.last_contact_at is not None
    visits = rows(worker, "SELECT ending FROM visits WHERE ending = 'rendered'")
    assert len(visits) == 3


def test_a_host_that_somebody_visits_is_not_contacted_by_a_page(
    make: Callable[..., Worker], site: Site, web: Web
) -> None:
    worker, other = make(), make()
    cdn = web.site()
    cdn.pages["/"] = html(text="plain")
    start(worker, site.url("/"))
    go(worker)
    start(other, cdn.url("/"), name="d")
    with db.transaction(other.engine) as tx:
        offer = hosts.offer_now(tx, name=cdn.host, offer_s=30, isolate=1)
    assert offer is not None
    visit = take_up(other, offer.host_id, offer.token)
    assert visit is not None
    stand = Stand(asks=[cdn.url("/lib.js")])
    turns(make(render_s=1.0), stand).run()
    assert isinstance(stand.got[0], Refused)
    assert stand.got[0].reason in {R.BUDGET, R.TIME}
    assert cdn.log == []


def test_a_script_that_pages_share_comes_from_the_cache(worker: Worker, site: Site) -> None:
    site.pages["/app.js"] = script(**{"Cache-Control": "max-age=60"})
    site.pages["/two"] = shell()
    start(worker, site.url("/"), site.url("/two"))
    go(worker)
    stand = Stand()
    assert render(worker, stand) == 2
    assert [getattr(each, "status", None) for each in stand.got] == [200, 200]
    assert site.paths.count("/app.js") == 1


def test_a_lease_that_was_lost_writes_nothing(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(does=lambda: sql(worker.engine, "UPDATE hosts SET lease_token = gen_random_uuid()"))
    turns(worker, stand).run()
    (row,) = rows(worker, "SELECT state, takes FROM renders")
    assert tuple(row) == ("due", 1)
    assert rows(worker, "SELECT url FROM pages WHERE rendered_at IS NOT NULL") == []
    assert rows(worker, "SELECT fenced FROM fetches WHERE kind = 'subrequest'")[0].fenced


@pytest.mark.parametrize("is_set", [False, True])
def test_a_request_whose_turn_comes_after_its_page_is_not_sent(
    worker: Worker, site: Site, web: Web, is_set: bool
) -> None:
    cdn, is_over = web.site(), threading.Event()
    cdn.pages["/lib.js"] = script("lib()")
    start(worker, site.url("/"))
    go(worker)
    wanted = asked(cdn.url("/lib.js"))
    url = worker.canon.canonicalise(wanted.url)
    assert isinstance(url, Url)
    if is_set:
        is_over.set()
    (crawl,) = rows(worker, "SELECT id FROM crawls")
    until = worker.monotonic() + 60
    got = at_host.fetch_elsewhere(worker, url, crawl.id, asking(wanted), until=until, is_over=is_over)
    assert isinstance(got, Refused) is is_set
    assert ("/lib.js" in cdn.paths) is not is_set


class Abandons(Stand):
    """Ends the page while its requests wait for their turn, as a browser that dies does. `threads`: they ask."""

    threads: list[threading.Thread]

    def render(self, plain: PlainResponse, ask: Ask, bounds: Bounds, **options: Any) -> Rendering | BrowserDeath:
        site = "/".join(plain.url.split("/")[:3])
        self.threads = [threading.Thread(target=ask, args=(asked(f"{site}/{n}.js"),)) for n in range(4)]
        for thread in self.threads:
            thread.start()
        return super().render(plain, ask, bounds, **options)


@pytest.mark.parametrize("dies", [None, BrowserDeath(cause="it hung")])
def test_a_page_that_has_ended_sends_nothing_more(
    make: Callable[..., Worker], site: Site, dies: BrowserDeath | None
) -> None:
    """Each request is sent under the lease and has its row, also those that were under way as the page ended."""
    worker = make(default_delay_s=0.2)
    start(worker, site.url("/"))
    go(worker)
    stand = Abandons(asks=["/app.js"], dies=dies)
    assert turns(worker, stand).run() is TurnEnding.DONE
    sent = len(site.log)
    for thread in stand.threads:
        thread.join()
    assert len(site.log) == sent, "nothing was sent after the host was returned"
    assert sent - 2 == len(rows(worker, "SELECT FROM fetches WHERE kind = 'subrequest'"))
    assert audit.audit(worker.engine, worker.settings, None).violations == 0
