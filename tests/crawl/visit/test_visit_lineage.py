"""The database goes on from older rows under workers that remember newer ones."""

from app.crawl.state.worker import Worker
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql


def site_of(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html("/a"), "/a": html(text="a")}
    return site


def test_links_are_admitted_again_whose_rows_are_gone(worker: Worker, web: Web) -> None:
    site = site_of(web)
    start(worker, site.url())
    go(worker)
    assert site.pages_asked == ["/", "/a"]
    sql(worker.engine, "DELETE FROM urls WHERE url LIKE '%/a'")
    sql(
        worker.engine,
        "UPDATE urls SET state = 'queued', due_at = NULL, fetched_at = NULL, body_sha256 = NULL, text_sha256 = NULL",
    )
    sql(worker.engine, "DELETE FROM pages")
    sql(worker.engine, "UPDATE crawls SET state = 'active', finished_at = NULL, ended_because = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now() WHERE state = 'idle'")
    sql(worker.engine, "UPDATE lineage SET seen = 'elsewhere'")
    assert go(worker) == [], "first everybody waits"
    bring_forward(worker.engine)
    run(worker)
    assert site.pages_asked == ["/", "/a"] * 2
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'resting'") == 2
