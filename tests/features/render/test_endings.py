"""How renderings end: deaths, endings of crawls, what is learned, and recrawls. With a stand-in for the browser."""

import json
from collections.abc import Callable

import pytest

from app.admin import explain
from app.admin.crawls import find
from app.admin.seeds import add
from app.beat.finish import finish
from app.browser.values import BrowserDeath, BrowserProblem
from app.crawl.state.worker import Worker
from app.model import Budgets
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Site, Web, html
from tests.features.render.shells import DOCUMENT, SHELL, Stand, render, rows, shell, there, turns
from tests.store.rows import sql

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
    assert tuple(row) == ("failed", "its worker or its browser died 3 times before it was rendered")


@pytest.mark.parametrize(("problem", "ends"), [(None, False), ("no Chromium was found", True)])
def test_a_crawl_ends_after_its_renders_or_where_none_can_be_done(
    worker: Worker, site: Site, problem: str | None, ends: bool
) -> None:
    start(worker, site.url("/"))
    go(worker)
    there(worker.engine, problem=problem)
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


LONG = DOCUMENT.replace(
    "<p>", f"<p>{'Each sentence of this page was written by its scripts, and by nothing else. ' * 12}", 1
)
LITTLE = html(text="A menu, and a footer.", head="<script src=/app.js></script>")
WORDY = html(text="A page that says what it has to say. " * 60, head="<script src=/app.js></script>")
# page that looks plain, what it is, whether a browser is to open it after three shells of /item/ gained much
LEARNED = [
    ("/item/4", LITTLE, True),
    ("/item/4", html(text="A menu, and a footer."), False),  # without a script a browser would gain nothing
    ("/item/4", WORDY, False),  # it says as much as a browser gained
    ("/other/4", LITTLE, False),  # of another pattern
]


def teach(worker: Worker, site: Site, gained: str = LONG) -> None:
    """Have a browser open three shells of /item/."""
    for n in range(3):
        site.pages[f"/item/{n}"] = shell()
    start(worker, *(site.url(f"/item/{n}") for n in range(3)), budgets=Budgets(max_depth=0))
    go(worker)
    assert render(worker, Stand(html=gained)) == 3


def crawl_one(worker: Worker, site: Site, path: str) -> list[str]:
    """Evidence, by which the page waits for a browser."""
    add(worker.engine, worker.settings, find(worker.engine, "c"), [site.url(path)])
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    return [row.evidence for row in rows(worker, f"SELECT evidence FROM renders WHERE url = '{site.url(path)}'")]


@pytest.mark.parametrize(("path", "page", "renders"), LEARNED)
def test_a_page_that_looks_plain_is_rendered_where_its_pattern_gained_much(
    worker: Worker, site: Site, path: str, page: Answer, renders: bool
) -> None:
    teach(worker, site)
    site.pages[path] = page
    assert [list(each) for each in crawl_one(worker, site, path)] == ([["pattern"]] if renders else [])
    if renders:
        assert render(worker, Stand(html=LONG)) == 1
        (row,) = rows(worker, f"SELECT main_text, needs_script FROM pages WHERE url = '{site.url(path)}'")
        assert "written by its scripts" in row.main_text
        assert row.needs_script is None, "it was no empty shell"
        said = explain.why(worker.engine, worker.settings, site.url(path)).crawls[0].rendering[0]
        assert said.startswith("rendered, as it looks plain and says little, and a browser gained ")


@pytest.mark.parametrize(("mode", "renders"), [("auto", 0), ("always", 1)])
def test_a_shell_whose_data_is_its_article_needs_no_browser(
    worker: Worker, site: Site, mode: str, renders: int
) -> None:
    article = "The whole article stands in the data of its page, as its publisher says. " * 10
    ld = json.dumps({"@type": "NewsArticle", "articleBody": article})
    body = shell().body + f"<script type=application/ld+json>{ld}</script>".encode()
    site.pages["/"] = Answer(headers={"Content-Type": "text/html"}, body=body)
    start(worker, site.url("/"), render=mode)
    go(worker)
    assert len(rows(worker, "SELECT url FROM renders")) == renders
    (page,) = rows(worker, "SELECT main_text, needs_script FROM pages")
    assert page.main_text == article.strip()
    assert page.needs_script["article"] == "JSON-LD"


def test_a_shell_whose_data_has_no_name_for_its_text_is_opened(worker: Worker, site: Site) -> None:
    """What a string of a framework's data is for, only its scripts know (docs/decisions.md)."""
    prose = "The whole article stands in the data of its page, beside the first lines of another. " * 10
    data = json.dumps({"props": {"pageProps": {"post": {"body": prose}}}})
    body = shell().body + f"<script id=__NEXT_DATA__ type=application/json>{data}</script>".encode()
    site.pages["/"] = Answer(headers={"Content-Type": "text/html"}, body=body)
    start(worker, site.url("/"), render="auto")
    go(worker)
    (row,) = rows(worker, "SELECT state, evidence FROM renders")
    assert (row.state, row.evidence["data"].split(",")[0]) == ("due", "#__NEXT_DATA__")


def test_a_host_that_is_known_to_need_no_browser_gets_none(worker: Worker, site: Site, web: Web) -> None:
    teach(worker, site)
    plain = web.site()
    plain.pages["/item/4"] = LITTLE
    assert crawl_one(worker, plain, "/item/4") == []


def test_what_was_learned_has_to_prove_itself_with_each_page(worker: Worker, site: Site) -> None:
    teach(worker, site)
    for n in (4, 5):
        site.pages[f"/item/{n}"] = LITTLE
    assert len(crawl_one(worker, site, "/item/4")) == 1
    render(worker, Stand(html=LITTLE.body.decode()))
    assert crawl_one(worker, site, "/item/5") == []


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


def test_a_document_is_no_change_of_its_shell(worker: Worker, site: Site) -> None:
    """Nor is the shell a change of it, where pages are not rendered any more. Its text is compared with others'."""
    start(worker, site.url("/"), keep_fresh=True)
    go(worker)
    sql(worker.engine, "TRUNCATE near_queue")
    sql(worker.engine, "UPDATE crawls SET near_duplicates = true")
    assert render(worker, Stand()) == 1
    page = f"FROM pages WHERE url = '{site.url('/')}'"
    (rendered,) = rows(worker, f"SELECT main_text, first_fetched_at, changed_at, rendered_at {page}")
    assert rendered.rendered_at is not None
    assert rendered.changed_at == rendered.first_fetched_at
    assert rows(worker, "SELECT key FROM near_queue") != []
    sql(worker.engine, "UPDATE crawls SET render = 'never', revision = revision + 1")
    site.pages["/"] = shell(["/app.2.js"])
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    (plain,) = rows(worker, f"SELECT main_text, first_fetched_at, changed_at, rendered_at {page}")
    assert plain.rendered_at is None
    assert plain.main_text != rendered.main_text
    assert plain.changed_at == plain.first_fetched_at


def test_a_page_that_no_longer_needs_a_browser_has_changed(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"), keep_fresh=True)
    go(worker)
    assert render(worker, Stand()) == 1
    site.pages["/"] = html(text="A page that says what it has to say. " * 20)
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    (page,) = rows(worker, f"SELECT first_fetched_at, changed_at FROM pages WHERE url = '{site.url('/')}'")
    assert page.changed_at > page.first_fetched_at


SINCE: list[tuple[Answer, str]] = [
    # what the URL answers before its turn comes, why it is not opened
    (shell(**{"X-Robots-Tag": "noindex"}), "since then it is kept out of pages: noindex"),
    (Answer(status=410), "it is gone since, or redirects"),
    (Answer(status=301, headers={"Location": "/other"}), "it is gone since, or redirects"),
    (html(text="A page that says what it has to say. " * 20), "it has changed since, and is not empty any more"),
]


@pytest.mark.parametrize(("answer", "why"), SINCE, ids=["noindex", "gone", "redirect", "plain"])
def test_what_is_no_page_any_more_is_not_rendered(worker: Worker, site: Site, answer: Answer, why: str) -> None:
    start(worker, site.url("/"), keep_fresh=True)
    go(worker)
    site.pages["/"] = answer
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    before = rows(worker, "SELECT url, main_text, rendered_at FROM pages")
    stand = Stand()
    render(worker, stand)
    assert stand.opened == []
    assert [tuple(row) for row in rows(worker, "SELECT state, cause FROM renders")] == [("failed", why)]
    assert rows(worker, "SELECT url, main_text, rendered_at FROM pages") == before


def test_a_document_that_is_to_be_made_again_is_not_the_page(make: Callable[..., Worker], site: Site) -> None:
    """Its scripts came too late, and it says no more than its plain answer."""
    worker = make(render_s=1.0, lease_s=16.0)
    start(worker, site.url("/"))
    go(worker)
    sql(worker.engine, "UPDATE hosts SET delay_override_s = 2.0")
    stand = Stand(asks=["/app.js", "/data.js"], html=SHELL)
    turns(worker, stand).run()
    (row,) = rows(worker, "SELECT state, attempts, cause FROM renders")
    assert tuple(row) == ("due", 1, "its hosts' turns came too late for what it asked for")
    assert [page.rendered_at for page in rows(worker, "SELECT rendered_at FROM pages")] == [None]


def test_a_document_that_lacks_what_came_late_is_made_again_twice(make: Callable[..., Worker], site: Site) -> None:
    """Its menu came, and its data came too late: twice it is tried again, and then read as it stands."""
    worker = make(render_s=1.0, lease_s=16.0)
    start(worker, site.url("/"))
    go(worker)
    stand = Stand(asks=["/app.js", "/data.js"], html="<div id=root><a href=/made>made</a><p>A menu.</p></div>")
    states: list[str] = []
    for _ in range(3):
        sql(worker.engine, "UPDATE hosts SET delay_override_s = 2.0, next_fetch_at = NULL, polite_at = now()")
        sql(worker.engine, "UPDATE renders SET due_at = now()")
        there(worker.engine)
        turns(worker, stand).run()
        states += [row.state for row in rows(worker, "SELECT state FROM renders")]
    assert states == ["due", "due", "done"]
    assert [row.gained for row in rows(worker, "SELECT brought > 0 AS gained FROM renders")] == [True]


def test_pages_of_an_app_are_no_aliases_of_each_other(worker: Worker, site: Site) -> None:
    """Their answers are the same shell, byte for byte, and their documents are not."""
    site.pages["/second"] = site.pages["/"]
    start(worker, site.url("/"), site.url("/second"))
    go(worker)
    assert {row.state for row in rows(worker, "SELECT state FROM urls")} == {"resting"}
    assert rows(worker, "SELECT url FROM duplicates") == []
