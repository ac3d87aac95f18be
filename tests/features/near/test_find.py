"""Near duplicates are found after their settle; their links wait, and they are reopened when their original is gone."""

import random
from typing import Any

import pytest
from sqlalchemy import Engine

from app.admin import deletion
from app.admin.crawls import go_round
from app.crawl.state.worker import Worker
from app.features.near.find import NearFound, find_near
from app.features.near.fingerprint import words_of
from app.features.near.simhash import simhash
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql

RNG = random.Random(3)
WORDS = ["".join(RNG.choices("abcdefghijklmnopqrstuvwxyz", k=RNG.randint(3, 9))) for _ in range(2_000)]
AB, BA = [("/a", "near", "/b")], [("/b", "near", "/a")]  # who comes first is the original
LED_TO = {"/a": "/deep-1", "/b": "/deep-2"}


def prose(n: int = 300, seed: int = 1) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=n))


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {
        "/": html("/a", "/b", text=prose(200, 9)),
        "/a": html("/deep-1", text=f"Waiting. {prose()} Read 17 times."),
        "/b": html("/deep-2", text=f"Waiting. {prose()} Read 918 times."),
        "/deep-1": html(text=prose(200, 5)),
        "/deep-2": html(text=prose(200, 6)),
    }
    return site


def crawled(worker: Worker, site: Site, **wishes: Any) -> Engine:
    start(worker, site.url(), **wishes)
    run(worker)
    return worker.engine


def again(worker: Worker) -> None:
    go_round(worker.engine, "c", worker.settings)
    run(worker)


def notes(engine: Engine) -> list[tuple[str, str, str]]:
    rows = sql(engine, "SELECT url, kind, of_url FROM duplicates ORDER BY url")
    return [(path(row["url"]), row["kind"], path(row["of_url"])) for row in rows]


def path(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def lane(engine: Engine, path: str) -> int:
    return int(one(engine, "SELECT lane FROM urls WHERE url LIKE :path", path=f"%{path}"))


def prints(engine: Engine) -> set[str]:
    return {
        path(row["url"])
        for row in sql(engine, "SELECT url FROM fingerprints JOIN pages USING (host_id, crawl_id, key)")
    }


def of_one_print(n: int) -> list[str]:
    """So many texts about different things, with the same fingerprint."""
    by_print: dict[int | None, list[str]] = {}
    for name in WORDS:
        text = f"{name.title()}xyzzy {prose(2_000)}"
        found = by_print.setdefault(simhash(words_of(text)), [])
        found.append(text)
        if len(found) == n:
            return found
    raise AssertionError("too few words")


def keys(engine: Engine) -> set[str]:
    """The pages that others find by a key."""
    query = """SELECT url FROM fingerprints JOIN pages USING (host_id, crawl_id, key)
               WHERE id IN (SELECT fingerprint_id FROM fingerprint_keys)"""
    return {path(row["url"]) for row in sql(engine, query)}


def test_a_page_that_says_nearly_the_same_is_noted(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    assert notes(engine) == []
    assert find_near(engine) == NearFound(pages=5, near=1)
    assert notes(engine) in (AB, BA)
    assert keys(engine) == prints(engine) - {notes(engine)[0][0]}, "nothing looks for a page that is no original"
    assert one(engine, "SELECT count(*) FROM fingerprint_keys") == 4 * 3
    assert one(engine, "SELECT count(*) FROM near_queue") == 0
    assert find_near(engine) == NearFound(), "all of it is done"


def test_of_pages_with_one_fingerprint_four_are_looked_for(worker: Worker, web: Web) -> None:
    """About different things, each is an original. No more texts than four are read, so nothing looks for a fifth."""
    found = of_one_print(6)
    site = web.site()
    site.pages |= {"/": html(*(f"/{n}" for n in range(6))), **{f"/{n}": html(text=found[n]) for n in range(6)}}
    engine = crawled(worker, site)
    assert find_near(engine) == NearFound(pages=6)
    assert len(prints(engine)) == 6
    assert len(keys(engine)) == 4


def test_where_the_four_closest_are_gone_a_further_one_is_the_original(worker: Worker, web: Web) -> None:
    *gone, late = of_one_print(5)
    others = (f"{late} {word} {word}" for word in WORDS)
    further = next(text for text in others if simhash(words_of(text)) != simhash(words_of(late)))
    site = web.site()
    paths = [f"/{n}" for n in range(4)]
    site.pages |= {path: html(text=text) for path, text in zip(paths, gone, strict=True)}
    site.pages |= {"/": html(*paths, "/copy-1"), "/copy-1": html(text=further)}
    engine = crawled(worker, site)
    assert find_near(engine) == NearFound(pages=5)
    site.pages |= {"/": html(*paths, "/copy-1", "/copy-2"), "/copy-2": html(text=late)}
    again(worker)
    sql(engine, "UPDATE urls SET gone_at = now() WHERE url = ANY(:urls)", urls=[site.url(each) for each in paths])
    assert find_near(engine).near == 1
    assert notes(engine) == [("/copy-2", "near", "/copy-1")]


# titles of the two pages → what the second is noted as
@pytest.mark.parametrize(
    ("titles", "kind"), [(("Waiting 1", "Waiting 2"), "near"), (("Waiting.Lazy", "Waiting.Strict"), "review")]
)
def test_pages_of_a_host_that_are_titled_otherwise_are_for_review(
    worker: Worker, site: Site, titles: tuple[str, str], kind: str
) -> None:
    for n, title in enumerate(titles):
        site.pages[("/a", "/b")[n]] = html(text=f"{prose()} Read {n} times.", title=title)
    engine = crawled(worker, site)
    find_near(engine)
    assert [noted for _, noted, _ in notes(engine)] == [kind]


def test_a_mirror_with_another_title_is_noted(worker: Worker, site: Site, web: Web) -> None:
    mirror = web.site()
    mirror.pages["/"] = html(text=f"{prose()} Read 8 times.", title="Mirror of waiting")
    site.pages["/a"] = html(mirror.url(), text=f"{prose()} Read 17 times.", title="Waiting")
    del site.pages["/b"]
    start(worker, site.url(), mirror.url())
    run(worker)
    assert find_near(worker.engine).near == 1


def test_a_crawl_may_do_without(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site, near_duplicates=False)
    assert one(engine, "SELECT count(*) FROM near_queue") == 0
    assert find_near(engine) == NearFound()


def test_pages_of_another_crawl_are_none_of_its_duplicates(worker: Worker, site: Site, web: Web) -> None:
    other = web.site()
    other.pages["/"] = site.pages["/b"]
    start(worker, other.url(), name="other")
    site.pages["/"] = html("/a", text=prose(200, 9))
    start(worker, site.url())
    run(worker)
    assert find_near(worker.engine).near == 0


def test_a_mirror_on_another_host_is_noted(worker: Worker, site: Site, web: Web) -> None:
    mirror = web.site()
    mirror.pages["/"] = html(text=f"Waiting. {prose()} Hosted by friends.")
    start(worker, site.url("/a"), mirror.url(), scope="host")
    run(worker)
    assert find_near(worker.engine).near == 1


def test_the_links_of_a_near_duplicate_wait_in_the_last_lane(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    for name in ("/deep-1", "/deep-2"):
        sql(engine, "UPDATE urls SET state = 'queued', fetched_at = NULL, lane = 1 WHERE url = :u", u=site.url(name))
    find_near(engine)
    ((page, _, original),) = notes(engine)
    assert (lane(engine, LED_TO[page]), lane(engine, LED_TO[original])) == (3, 1)
    site.pages[page] = html(LED_TO[page], text=prose(300, 44))
    sql(engine, "UPDATE urls SET state = 'resting', due_at = now() WHERE url LIKE '%/deep-%'")
    again(worker)
    sql(engine, "UPDATE urls SET state = 'queued', fetched_at = NULL WHERE url LIKE '%/deep-%'")
    find_near(engine)
    assert notes(engine) == []
    assert lane(engine, LED_TO[page]) == 1, "as its profile has it"


def test_a_page_that_did_not_change_is_not_compared_again(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    find_near(engine)
    again(worker)
    assert notes(engine) in (AB, BA)
    assert one(engine, "SELECT count(*) FROM near_queue") == 0


def test_an_original_that_changes_leaves_its_likes_to_look_for_another(worker: Worker, site: Site) -> None:
    site.pages["/"] = html("/a", "/b", "/c", text=prose(200, 9))
    site.pages["/c"] = html(text=f"Waiting. {prose()} Read 4 times.")
    engine = crawled(worker, site)
    find_near(engine)
    original = notes(engine)[0][2]
    site.pages[original] = html(text=prose(300, 44))
    again(worker)
    assert find_near(engine).near == 1
    ((page, kind, of),) = notes(engine)
    assert kind == "near"
    assert original not in {page, of}


def test_a_duplicate_whose_original_is_gone_is_one_no_longer(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site, keep_fresh=False)
    find_near(engine)
    original = site.url(notes(engine)[0][2])
    sql(engine, "UPDATE urls SET state = 'gone', gone_at = now(), due_at = now() WHERE url = :u", u=original)
    assert find_near(engine) == NearFound(), "the crawl has ended: nothing of it moves"
    sql(engine, "UPDATE crawls SET state = 'active', finished_at = NULL, ended_because = NULL")
    assert find_near(engine) == NearFound(pages=1, reopened=1)
    assert notes(engine) == []
    assert keys(engine) == prints(engine), "it may be an original now"


def test_an_alias_of_a_page_that_is_gone_is_fetched_again(worker: Worker, site: Site) -> None:
    site.pages["/b"] = site.pages["/a"]
    engine = crawled(worker, site)
    ((alias, kind, original),) = notes(engine)
    assert kind == "body"
    assert one(engine, "SELECT state FROM urls WHERE url = :u", u=site.url(alias)) == "alias"
    site.pages[original] = Answer(status=410)
    go_round(engine, "c", worker.settings)
    sql(
        engine,
        "UPDATE urls SET state = 'gone', gone_at = now(), due_at = now() + interval '1 day' WHERE url = :u",
        u=site.url(original),
    )
    sql(
        engine,
        "UPDATE urls SET state = 'alias', alias_of = :of WHERE url = :u",
        of=site.url(original),
        u=site.url(alias),
    )
    assert find_near(engine).reopened == 1
    run(worker)
    assert notes(engine) == [], "a page that is gone is nobody's original"
    assert one(engine, "SELECT state FROM urls WHERE url = :u", u=site.url(alias)) == "resting"


# what the page says in the second round → whether it has a fingerprint then
@pytest.mark.parametrize(
    ("head", "has_one"),
    [("", True), ("<meta name=robots content=noarchive>", False), ("<meta name=robots content=noindex>", False)],
)
def test_a_text_that_may_not_be_kept_is_not_compared(worker: Worker, site: Site, head: str, has_one: bool) -> None:
    engine = crawled(worker, site)
    find_near(engine)
    site.pages["/a"] = html("/deep-1", text=f"Another text. {prose(300, 50)}", head=head)
    again(worker)
    find_near(engine)
    assert ("/a" in prints(engine)) is has_one
    repeating = {url for url, kind, _ in notes(engine) if kind == "near"}
    assert keys(engine) == prints(engine) - repeating


def test_an_exact_copy_needs_no_fingerprint(worker: Worker, site: Site) -> None:
    site.pages["/b"] = html("/deep-2", text=f"Waiting. {prose()} Read 17 times.")
    engine = crawled(worker, site)
    find_near(engine)
    ((page, kind, _),) = notes(engine)
    assert kind == "text"
    assert prints(engine) == {"/", "/a", "/b", "/deep-1", "/deep-2"} - {page}


def test_a_deleted_crawl_leaves_no_fingerprint(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    find_near(engine)
    sql(engine, "INSERT INTO near_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages")
    deletion.delete(engine, worker.settings, "c")
    for table in ("near_queue", "fingerprints", "fingerprint_keys", "duplicates"):
        assert one(engine, f"SELECT count(*) FROM {table}") == 0
