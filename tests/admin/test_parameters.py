"""Parameters that change nothing are found, dropped when an operator agrees, and their URLs fold without a request."""

from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.admin import explain, focus, parameters, seeds
from app.admin.captures import captured
from app.admin.crawls import find, go_round
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.model import Url
from app.policy.focus.parameters import ENOUGH
from tests.crawl.archiving import Archiving
from tests.crawl.loop import run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import Aside, await_blocked, backend, one, sql

PATHS = [f"/{n}" for n in range(ENOUGH)]
WITH = [f"{path}?ref=home" for path in PATHS]


@pytest.fixture
def site(web: Web) -> Site:
    """Each page with and without `ref`; `page` is another page each time."""
    site = web.site()
    site.pages["/"] = html(*PATHS, *WITH, "/list?page=1", "/list?page=2", text="Front.")
    for path in PATHS:
        site.pages[path] = site.pages[f"{path}?ref=home"] = html(text=f"A page of its own, {path} by name.")
    for page in (1, 2):
        site.pages[f"/list?page={page}"] = html(text=f"List {page}.")
    return site


def paths(engine: Engine, table: str = "urls") -> list[str]:
    return sorted("/" + row["url"].split("/", 3)[3] for row in sql(engine, f"SELECT url FROM {table}"))


def crawled(worker: Worker, site: Site, **wishes: Any) -> Engine:
    start(worker, site.url(), **wishes)
    run(worker)
    return worker.engine


def test_they_are_found_from_pages(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    found = parameters.found(engine, site.host)
    assert [(each.name, each.passed, each.failed, each.is_idle) for each in found.tested] == [
        ("ref", ENOUGH, 0, True),
        ("page", 0, 1, False),
    ]
    assert found.dropped == []


def test_a_page_number_whose_pages_name_others_is_none_of_them(worker: Worker, site: Site) -> None:
    """The text of a list is the same on each of its pages; what it lists is none of it."""
    numbers = range(ENOUGH + 2)
    site.pages["/"] = html(*[f"/all?page={n}" for n in numbers], text="Front.")
    site.pages |= {f"/all?page={n}": html(f"/thing/{n}", text="") for n in numbers}
    site.pages |= {f"/thing/{n}": html(text=f"Thing {n}.") for n in numbers}
    engine = crawled(worker, site)
    assert one(engine, "SELECT count(DISTINCT text_sha256) FROM pages WHERE url LIKE '%page=%'") == len(numbers)
    sql(engine, "UPDATE pages SET text_sha256 = sha256('The same') WHERE url LIKE '%page=%'")
    (found,) = parameters.found(engine, site.host).tested
    assert (found.name, found.passed, found.failed) == ("page", 0, ENOUGH + 1)


def test_they_are_found_from_captures_where_no_text_is_kept(archiving: Archiving, site: Site) -> None:
    worker = archiving.worker
    engine = crawled(worker, site)
    sql(engine, "DELETE FROM pages")
    assert [each.name for each in parameters.found(engine, site.host).tested if each.is_idle] == ["ref"]


def test_dropping_one_folds_the_frontier_and_fetches_nothing(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site, search=True)
    before = len(site.log)
    folding = parameters.drop(engine, worker.settings, site.host, ["REF"])
    assert (folding.dropped, folding.folded) == (["ref"], ENOUGH)
    assert paths(engine) == sorted(["/", *PATHS, "/list?page=1", "/list?page=2"])
    assert set(paths(engine, "pages")) <= set(paths(engine))
    assert one(engine, "SELECT count(*) FROM urls WHERE state = 'resting' AND fetched_at IS NOT NULL") == len(
        paths(engine)
    )
    assert one(engine, "SELECT count(*) FROM duplicates") == 0
    assert len(site.log) == before
    again = parameters.drop(engine, worker.settings, site.host, ["ref"])
    assert (again.moved, again.folded) == (0, 0), "repeating it is harmless"


def test_links_with_it_are_known_from_then_on(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    parameters.drop(engine, worker.settings, site.host, ["ref"])
    site.pages["/"] = html(*[f"{path}?ref=other" for path in PATHS], "/new?ref=other", text="Another front.")
    site.pages["/new"] = html(text="Quite new.")
    go_round(engine, "c", worker.settings)
    run(worker)
    assert paths(engine) == sorted(["/", *PATHS, "/list?page=1", "/list?page=2", "/new"])
    assert not [hit for hit in site.log if "ref=other" in hit.path]


def test_what_waits_is_folded_into_one_that_was_fetched(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    sql(engine, "UPDATE urls SET state = 'queued', fetched_at = NULL, alias_of = NULL WHERE url NOT LIKE '%?ref=%'")
    resting = "state = 'resting', fetched_at = now(), due_at = now(), alias_of = NULL"
    sql(engine, f"UPDATE urls SET {resting} WHERE url LIKE '%?ref=%'")
    sql(engine, "DELETE FROM pages WHERE url NOT LIKE '%?ref=%'")
    parameters.drop(engine, worker.settings, site.host, ["ref"], force=True)
    states = sql(engine, "SELECT state, count(*) AS n FROM urls WHERE url NOT LIKE '%list%' GROUP BY 1 ORDER BY 1")
    assert [(row["state"], row["n"]) for row in states] == [("queued", 1), ("resting", ENOUGH)]
    assert set(PATHS) <= set(paths(engine, "pages"))


def test_what_was_found_with_it_alone_gets_a_shorter_form(worker: Worker, site: Site) -> None:
    site.pages["/"] = html("/only?ref=1", *PATHS, *WITH, text="Front.")
    site.pages["/only?ref=1"] = html(text="It is linked with the parameter alone.")
    engine = crawled(worker, site)
    assert parameters.drop(engine, worker.settings, site.host, ["ref"]).moved >= 1
    joined = "urls AS u JOIN pages AS p USING (host_id, crawl_id, key)"
    (row,) = sql(engine, f"SELECT u.url, u.linked, p.url AS page FROM {joined} WHERE u.url LIKE '%/only'")
    assert (row["url"], row["page"], row["linked"]) == (site.url("/only"), site.url("/only"), "/only?ref=1")


def test_seeds_and_orders_with_a_dropped_parameter_mean_the_url_without_it(worker: Worker, site: Site) -> None:
    """Else the same page had two rows, and an order with the address that a person copied found none."""
    engine, settings = crawled(worker, site), worker.settings
    parameters.drop(engine, settings, site.host, ["ref"])
    before = paths(engine)
    spelt = f"{site.url(PATHS[0])}?ref=mail"
    found = seeds.read(settings, [spelt, f"{site.url('/list')}?page=9&ref=mail"])
    added = seeds.add_urls(engine, settings, find(engine, "c"), found.urls)
    assert (added.added, added.known) == (1, 1)
    assert paths(engine) == sorted([*before, "/list?page=9"])
    for order in (explain.retry, focus.force, explain.forget):
        assert order(engine, settings, spelt, "c") == ["c"]
    assert paths(engine) == sorted({*before, "/list?page=9"} - {PATHS[0]})


def test_a_form_that_is_linked_meanwhile_is_folded_into(worker: Worker, site: Site) -> None:
    """Another host's visit adds the short form after we looked, and before we write."""
    site.pages["/"] = html("/only?ref=1", *PATHS, *WITH, text="Front.")
    site.pages["/only?ref=1"] = html(text="It is linked with the parameter alone.")
    engine = crawled(worker, site)
    short = worker.canon.canonicalise(site.url("/only"))
    assert isinstance(short, Url)
    columns = "host_id, crawl_id, lane, score, depth"
    add = f"""INSERT INTO urls ({columns}, key, url, state, due_at)
        SELECT {columns}, :key, :url, 'queued', now() FROM urls WHERE url LIKE '%/only?ref=1'"""
    with engine.connect() as tx:
        tx.execute(text(add), {"key": short.key, "url": short.text})
        dropping = Aside(partial(parameters.drop, engine, worker.settings, site.host, ["ref"]))
        assert await_blocked(engine, backend(tx), dropping)
        tx.commit()
    assert dropping.outcome().folded == ENOUGH + 1
    assert [url for url in paths(engine) if "only" in url] == ["/only"]


def test_the_archive_and_the_commands_follow(archiving: Archiving, site: Site) -> None:
    worker = archiving.worker
    engine = crawled(worker, site)
    kept = one(engine, "SELECT count(*) FROM captures WHERE kind = 'page'")
    parameters.drop(engine, worker.settings, site.host, ["ref"])
    joined = "SELECT count(*) FROM captures AS c JOIN urls AS u USING (host_id, crawl_id, key) WHERE c.kind = 'page'"
    assert one(engine, joined) == kept
    found = explain.why(engine, worker.settings, site.url("/1?ref=home"))
    assert found.url == site.url("/1")
    assert len(found.crawls) == 1
    with_it, without = (captured(engine, worker.settings, site.url(path), "c") for path in ("/1?ref=home", "/1"))
    assert with_it.captures == without.captures != []
    added = seeds.add(engine, worker.settings, find(engine, "c"), [site.url("/1?ref=mail")])
    assert (added.added, added.known) == (0, 1)


# what is asked for → the complaint
@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("page", "0 pages stayed the same without it or with another value, 1 did not; --force drops it all the same"),
        ("never", "no two pages differ in it alone"),
    ],
)
def test_a_parameter_that_may_be_needed_stays(worker: Worker, site: Site, name: str, complaint: str) -> None:
    engine = crawled(worker, site)
    with pytest.raises(InputError, match=complaint):
        parameters.drop(engine, worker.settings, site.host, [name])
    assert parameters.found(engine, site.host).dropped == []


def test_one_is_sent_again_when_the_operator_says_so(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    parameters.drop(engine, worker.settings, site.host, ["ref"])
    assert parameters.keep(engine, site.host, ["ref"]) == (site.host, [])
    with pytest.raises(InputError, match="is not dropped at"):
        parameters.keep(engine, site.host, ["ref"])
    go_round(engine, "c", worker.settings)
    run(worker)
    assert f"{PATHS[0]}?ref=home" in paths(engine)


def test_s_names_pages_and_is_suggested_where_it_changes_nothing(worker: Worker, web: Web) -> None:
    site = web.site()
    hashes = [f"{n:032x}" for n in range(ENOUGH + 1)]
    threads = [f"/thread?s={each}&t=1" for each in hashes]
    shown = [f"/show?s={each}" for each in hashes[:3]]
    site.pages = {"/": html(*threads, *shown, text="Front.")}
    site.pages |= {path: html(text="One thread.") for path in threads}
    site.pages |= {path: html(text=f"A page of its own: {path}") for path in shown}
    engine = crawled(worker, site)
    assert set(shown) < set(paths(engine, "pages")), "three pages"
    (found,) = [each for each in parameters.found(engine, site.host).tested if each.name == "s"]
    assert (found.passed, found.failed, found.is_idle) == (ENOUGH, 2, False), "it names pages here"
    for path in shown:
        sql(engine, "DELETE FROM pages WHERE url = :u", u=site.url(path))
    (found,) = parameters.found(engine, site.host).tested
    assert (found.name, found.passed, found.failed, found.is_idle) == ("s", ENOUGH, 0, True)
