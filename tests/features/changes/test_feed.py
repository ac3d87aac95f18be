"""Events: one for each change of a page, final before they are handed out, and what a cursor can be continued with."""

import random
from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text

from app.admin import crawls, deletion, parameters
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.features.changes import rows
from app.features.changes import rows as cursors
from app.features.changes.feed import Feed
from app.features.changes.rows import Cursor, EventPlace
from tests.crawl import loop
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.features.changes.rebuilt import final, rebuilt, stored
from tests.store.rows import make_crawl, make_host, one, sql
from tests.store.statements import statements

NOINDEX = '<meta name="robots" content="noindex">'
COUNT = "SELECT count(*) FROM changes"


def events(worker: Worker, feed: Feed, site: Site) -> list[tuple[str, str]]:
    final(worker.engine)
    return [(event.kind, event.url.removeprefix(site.url(""))) for event in feed.ready()]


def again(worker: Worker) -> None:
    crawls.go_round(worker.engine, "c", worker.settings)
    loop.run(worker)


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html("/a", "/b", text="Home."), "/a": html(text="A page."), "/b": html(text="Another page.")}
    return site


def test_each_change_of_a_page_is_one_event(worker: Worker, site: Site) -> None:
    crawl = loop.start(worker, site.url())
    loop.run(worker)
    feed = Feed(worker.engine, crawl.id)
    assert sorted(events(worker, feed, site)) == [("new", "/"), ("new", "/a"), ("new", "/b")]
    again(worker)
    assert events(worker, feed, site) == [], "nothing changed"
    site.pages |= {"/a": html(text="It says more."), "/b": Answer(status=410)}
    again(worker)
    assert sorted(events(worker, feed, site)) == [("changed", "/a"), ("gone", "/b")]
    site.pages |= {"/a": html(text="It says more.", head=NOINDEX), "/b": html(text="It says other things.")}
    again(worker)
    assert sorted(events(worker, feed, site)) == [("returned", "/b"), ("withdrawn", "/a")]
    again(worker)
    assert events(worker, feed, site) == []
    site.pages["/a"] = html(text="It says more.")
    again(worker)
    assert events(worker, feed, site) == [("new", "/a")]
    assert rebuilt(worker.engine, crawl.id) == stored(worker.engine, crawl.id)


def test_a_page_that_went_and_stays_as_it_was_has_returned(worker: Worker, site: Site) -> None:
    """A 503 between the two says nothing; a 304 says that it is there."""
    site.pages["/a"] = html(text="A page.", headers={"ETag": '"1"'})
    crawl = loop.start(worker, site.url())
    loop.run(worker)
    feed = Feed(worker.engine, crawl.id)
    events(worker, feed, site)
    for answer, wanted in (
        (Answer(status=410), [("gone", "/a")]),
        (Answer(status=410), []),
        (Answer(status=403), []),
        (html(text="A page.", headers={"ETag": '"1"'}), [("returned", "/a")]),
    ):
        site.pages["/a"] = answer
        again(worker)
        assert events(worker, feed, site) == wanted
    assert rebuilt(worker.engine, crawl.id) == stored(worker.engine, crawl.id)


def test_a_page_that_moved_is_gone_and_new_elsewhere(worker: Worker, site: Site) -> None:
    crawl = loop.start(worker, site.url())
    loop.run(worker)
    feed = Feed(worker.engine, crawl.id)
    events(worker, feed, site)
    for answer, wanted in (
        (redirect("/c", 302), [("new", "/c")]),
        (redirect("/c", 302), [("gone", "/a")]),
        (redirect("/c", 301), []),
        (html(text="A page."), [("returned", "/a")]),
        (redirect("/c", 308), [("gone", "/a")]),
    ):
        site.pages |= {"/a": answer, "/c": html(text="A page of its own.")}
        again(worker)
        assert events(worker, feed, site) == wanted
    assert rebuilt(worker.engine, crawl.id) == stored(worker.engine, crawl.id)


def test_an_unchanged_page_costs_no_statement(worker: Worker, site: Site) -> None:
    made: list[str] = []
    with statements(worker.engine, made.append):
        loop.start(worker, site.url())
        loop.run(worker)
        assert len([each for each in made if "INTO changes" in each]) in {1, 2, 3}
        made.clear()
        again(worker)
    assert made
    assert not [each for each in made if "changes" in each]


def put(tx: object, crawl_id: int, host_id: int, key: bytes) -> None:
    tx.execute(  # type: ignore[attr-defined]
        text(
            "INSERT INTO changes (crawl_id, host_id, key, kind, at, url)"
            " VALUES (:crawl_id, :host_id, :key, 'new', clock_timestamp(), 'https://a.test/' || encode(:key, 'hex'))"
        ),
        {"crawl_id": crawl_id, "host_id": host_id, "key": key},
    )


def test_an_event_waits_for_those_before_it(engine: Engine) -> None:
    """The later transaction commits first: its event is not handed out until the earlier one has ended."""
    crawl_id, host_id = make_crawl(engine), make_host(engine, "a.test")
    feed = Feed(engine, crawl_id)
    with engine.connect() as first, engine.connect() as second:
        put(first, crawl_id, host_id, b"1")
        with second.begin_nested():  # a savepoint has an id of its own, which the row must not have
            put(second, crawl_id, host_id, b"2")
        second.commit()
        assert [*feed.ready()] == []
        first.commit()
    final(engine)
    assert [bytes(event.key) for event in feed.ready()] == [b"1", b"2"]
    assert [*feed.ready()] == []


def test_many_writers_that_commit_in_any_order(engine: Engine) -> None:
    """Some are rolled back. Two readers, one of which begins anew from its cursor each time, see each event once."""
    dice, crawl_id, host_id = random.Random(7), make_crawl(engine), make_host(engine, "a.test")
    feed, seen, resumed, cursor = Feed(engine, crawl_id), [], [], None
    open_, written = [], []
    for n in range(120):
        made = engine.connect()
        key = n.to_bytes(2, "big")
        put(made, crawl_id, host_id, key)
        open_.append((made, key))
        while len(open_) > dice.randrange(6):
            made, key = open_.pop(dice.randrange(len(open_)))
            if dice.random() < 0.2:
                made.rollback()
            else:
                made.commit()
                written.append(key)
            made.close()
        seen += [bytes(event.key) for event in feed.ready(n=3)]
        other = Feed(engine, crawl_id, after=cursor)
        resumed += [bytes(event.key) for event in other.ready()]
        cursor = cursors.parse(str(other.cursor)) if other.cursor.place != EventPlace(0, 0) else None
    for made, _ in open_:
        made.close()
    final(engine)
    seen += [bytes(event.key) for event in feed.ready()]
    resumed += [bytes(event.key) for event in Feed(engine, crawl_id, after=cursor).ready()]
    assert seen == resumed == sorted(written)


def written(engine: Engine, n: int = 3) -> int:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    for each in range(n):
        with engine.begin() as tx:
            put(tx, crawl_id, host_id, bytes([each]))
    return crawl_id


def cursor_of(engine: Engine, crawl_id: int) -> Cursor:
    final(engine)
    feed = Feed(engine, crawl_id)
    assert [*feed.ready()]
    return feed.cursor


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: c._replace(lineage="7" + c.lineage), "is another one"),
        (lambda c: c._replace(lineage=c.lineage.replace("/0", "/F", 1)), "another server took over"),
        (lambda c: c._replace(place=EventPlace(c.place.xid + 1_000_000, 1)), "is ahead of this database"),
        (lambda c: c._replace(place=EventPlace(c.place.xid, c.place.id + 1)), "is ahead of this database"),
    ],
)
def test_a_cursor_that_cannot_be_continued(engine: Engine, change: Callable[[Cursor], Cursor], why: str) -> None:
    crawl_id = written(engine)
    with pytest.raises(InputError, match=why) as found:
        Feed(engine, crawl_id, after=change(cursor_of(engine, crawl_id)))
    assert "--from start" in str(found.value)
    assert len(str(found.value)) < 300


@pytest.mark.parametrize("text_", ["tc1", "tc1!!", "tc1" + "A" * 400, "tc1YWJj", "tc1é", "tc2abc", "tc1MXwtMXww"])
def test_a_text_that_is_no_cursor(text_: str) -> None:
    with pytest.raises(InputError, match="is no cursor"):
        cursors.parse(text_)


def test_old_events_go_but_the_last_of_each_page(worker: Worker, site: Site) -> None:
    """What is left rebuilds the pages; a cursor from before the deleted ones is too old, a later one is not."""
    crawl = loop.start(worker, site.url())
    loop.run(worker)
    early = cursor_of(worker.engine, crawl.id)
    for answer in (Answer(status=410), html(text="Another page.")):
        site.pages |= {"/a": html(text=f"It says {answer.status}."), "/b": answer}
        again(worker)
    late = cursor_of(worker.engine, crawl.id)
    assert one(worker.engine, COUNT) == 7
    assert rows.forget(worker.engine, keep_days=1) == (0, 0), "they are young"
    sql(worker.engine, "UPDATE pages SET changed_at = changed_at - interval '9 days'")
    sql(worker.engine, "UPDATE changes SET at = at - interval '9 days'")
    before = rebuilt(worker.engine, crawl.id)
    assert rows.forget(worker.engine, keep_days=1) == (7, 3)
    assert rows.forget(worker.engine, keep_days=1) == (0, 0)
    assert rebuilt(worker.engine, crawl.id) == before == stored(worker.engine, crawl.id)
    with pytest.raises(InputError, match="too old"):
        Feed(worker.engine, crawl.id, after=early)
    assert [*Feed(worker.engine, crawl.id, after=late).ready()] == []


def test_events_that_came_with_a_dump_stand_before_new_ones(engine: Engine) -> None:
    """Their transaction ids are of another server: far ahead of this one's, here."""
    crawl_id = written(engine)
    old = cursor_of(engine, crawl_id)
    sql(engine, "UPDATE changes SET xid = xid + 1000000")
    sql(engine, "UPDATE changes_kept SET lineage = '1/00000001/5/6'")
    with engine.begin() as tx:
        put(tx, crawl_id, make_host(engine), b"new")
    feed = Feed(engine, crawl_id)
    final(engine)
    assert [bytes(event.key) for event in feed.ready()] == [b"\0", b"\1", b"\2", b"new"]
    assert [*feed.ready()] == []
    with pytest.raises(InputError):
        Feed(engine, crawl_id, after=old._replace(lineage="1/00000001/5/6"))


def test_a_deleted_crawl_leaves_no_event_and_other_cursors_hold(worker: Worker, site: Site) -> None:
    crawl = loop.start(worker, site.url())
    loop.run(worker)
    other = make_crawl(worker.engine, "other")
    host_id = make_host(worker.engine)
    with worker.engine.begin() as tx:
        put(tx, other, host_id, b"1")
    cursor = cursor_of(worker.engine, crawl.id)
    crawls.finish(worker.engine, "other")
    deletion.delete(worker.engine, worker.settings, "other")
    assert one(worker.engine, f"{COUNT} WHERE crawl_id = {other}") == 0
    assert [*Feed(worker.engine, crawl.id, after=cursor).ready()] == []


def test_urls_that_are_folded_together(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a?s=1", "/b?s=1&x=2"), "/a?s=1": html(text="One."), "/b?s=1&x=2": html(text="Two.")}
    crawl = loop.start(worker, site.url())
    loop.run(worker)
    parameters.drop(worker.engine, worker.settings, site.host, ["s"], force=True)
    assert rebuilt(worker.engine, crawl.id) == stored(worker.engine, crawl.id)
    assert sorted(url.removeprefix(site.url("")) for url in stored(worker.engine, crawl.id)) == ["/", "/a", "/b?x=2"]
