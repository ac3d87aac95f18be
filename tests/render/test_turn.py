"""A render turn: what it asks for and how, and what comes of it. With a stand-in for the browser."""

from collections.abc import Callable

import pytest

from app.admin import audit
from app.browser.values import BrowserDeath, BrowserProblem, Refused, ResourceKind
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up
from app.model.render import RenderRefusal as R
from app.store import db, hosts
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.render.shells import DOCUMENT, TEXT, Stand, asked, render, rows, script, shell, there, turns
from tests.store.rows import sql


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages["/"] = shell()
    site.pages["/app.js"] = script()
    return site


def test_a_shell_waits_and_a_plain_page_does_not(worker: Worker, site: Site) -> None:
    site.pages["/plain"] = html("/", text="A page that says what it has to say. " * 10)
    start(worker, site.url("/"), site.url("/plain"))
    go(worker)
    assert [(row.url, row.state) for row in rows(worker, "SELECT url, state FROM renders")] == [(site.url("/"), "due")]


@pytest.mark.parametrize(("render_", "n"), [("auto", 0), ("never", 0), ("always", 1)])
def test_a_plain_page_is_rendered_where_its_crawl_renders_all(worker: Worker, web: Web, render_: str, n: int) -> None:
    site = web.site()
    site.pages["/"] = html(text="A page that says what it has to say. " * 10)
    start(worker, site.url("/"), render=render_)
    go(worker)
    assert len(rows(worker, "SELECT url FROM renders")) == n


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


DEATH = BrowserDeath(cause="it hung")


@pytest.mark.parametrize(
    ("death", "turns_", "state", "attempts"),
    [
        (DEATH, 3, "failed", 3),
        (BrowserDeath(cause="it filled its memory", is_proof=True), 1, "failed", 0),
    ],
)
def test_a_browser_that_dies_costs_one_attempt(
    worker: Worker, site: Site, death: BrowserDeath, turns_: int, state: str, attempts: int
) -> None:
    start(worker, site.url("/"))
    go(worker)
    made = turns(worker, Stand(dies=death))
    for _ in range(turns_):
        sql(worker.engine, "UPDATE renders SET due_at = now() - interval '1 second'")
        made.run()
    (row,) = rows(worker, "SELECT state, attempts, cause FROM renders")
    assert (row.state, row.attempts) == (state, attempts)
    assert row.cause.startswith(death.cause)


def test_a_browser_that_does_not_start_is_no_fault_of_the_page(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"))
    go(worker)
    problem = BrowserProblem("no Chromium was found", "install one")
    made = turns(worker, Stand(dies=BrowserDeath(cause="gone", problem=problem)))
    made.run()
    (row,) = rows(worker, "SELECT state, attempts, takes, cause FROM renders")
    assert tuple(row) == ("due", 0, 0, "no Chromium was found; install one")
    assert made.problem == problem


def test_a_page_that_ends_its_workers_is_given_up(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"))
    go(worker)
    sql(worker.engine, "UPDATE renders SET takes = 3")
    stand = Stand()
    turns(worker, stand).run()
    assert stand.opened == []
    (row,) = rows(worker, "SELECT state, cause FROM renders")
    assert tuple(row) == ("failed", "its worker died 3 times while it was rendered")


@pytest.mark.parametrize(("problem", "ends"), [(None, False), ("no Chromium was found", True)])
def test_a_crawl_ends_after_its_renders_or_where_none_can_be_done(
    worker: Worker, site: Site, problem: str | None, ends: bool
) -> None:
    start(worker, site.url("/"))
    go(worker)
    there(worker.engine, problem=problem)
    from app.beat.finish import finish

    assert finish(worker.engine) == (["c"] if ends else [])
    if not ends:
        render(worker, Stand(html=DOCUMENT.replace("<p><a href=/made>further</a></p>", "")))
        assert finish(worker.engine) == ["c"]


def test_what_brought_nothing_three_times_is_not_rendered_any_more(worker: Worker, site: Site) -> None:
    for n in range(5):
        site.pages[f"/item/{n}"] = shell()
    start(worker, *(site.url(f"/item/{n}") for n in range(3)))
    go(worker)
    render(worker, Stand(html=shell().body.decode()))
    start(worker, *(site.url(f"/item/{n}") for n in range(3, 5)), name="again")
    sql(worker.engine, "UPDATE renders SET crawl_id = (SELECT max(id) FROM crawls)")
    go(worker)
    states = [row.state for row in rows(worker, "SELECT state FROM renders ORDER BY url")]
    assert states[:3] == ["done"] * 3
    assert "vain" in states[3:], "a twentieth is tried again, not all"


def test_a_recrawl_of_the_same_shell_keeps_what_the_browser_made(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"), keep_fresh=True)
    go(worker)
    render(worker, Stand())
    before = rows(worker, f"SELECT main_text, changed_at FROM pages WHERE url = '{site.url('/')}'")
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    assert site.paths.count("/") == 2
    assert rows(worker, f"SELECT main_text, changed_at FROM pages WHERE url = '{site.url('/')}'") == before
    assert rows(worker, "SELECT state FROM renders WHERE state = 'due'") == []


def test_change_is_judged_on_what_the_browser_made(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"), keep_fresh=True)
    go(worker)
    render(worker, Stand())
    (first,) = rows(worker, f"SELECT changed_at FROM pages WHERE url = '{site.url('/')}'")
    for scripts, document, changes in (
        (["/app.2.js"], DOCUMENT, False),
        (["/app.3.js"], DOCUMENT.replace("What", "All"), True),
    ):
        site.pages["/"] = shell(scripts)
        sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
        sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
        go(worker)
        assert render(worker, Stand(html=document)) == 1
        (now,) = rows(worker, f"SELECT changed_at FROM pages WHERE url = '{site.url('/')}'")
        assert (now.changed_at > first.changed_at) is changes


def test_a_page_that_is_not_empty_any_more_is_not_rendered(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"), keep_fresh=True)
    go(worker)
    site.pages["/"] = html(text="A page that says what it has to say. " * 20)
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    stand = Stand()
    render(worker, stand)
    assert stand.opened == []
    assert [row.state for row in rows(worker, "SELECT state FROM renders")] == ["failed"]
    (page,) = rows(worker, "SELECT main_text FROM pages")
    assert "A page that says" in page.main_text
