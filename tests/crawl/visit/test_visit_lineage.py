"""The database goes on from older rows under workers that remember newer ones."""

from app.crawl.state.worker import Kit
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql


def site_of(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html("/a"), "/a": html(text="a")}
    return site


def test_links_are_admitted_again_whose_rows_are_gone(kit: Kit, web: Web) -> None:
    site = site_of(web)
    start(kit, site.url())
    go(kit)
    assert site.pages_asked == ["/", "/a"]
    sql(kit.engine, "DELETE FROM urls WHERE url LIKE '%/a'")
    sql(
        kit.engine,
        "UPDATE urls SET state = 'queued', due_at = NULL, fetched_at = NULL, body_sha256 = NULL, text_sha256 = NULL",
    )
    sql(kit.engine, "DELETE FROM pages")
    sql(kit.engine, "UPDATE crawls SET state = 'active', finished_at = NULL, ended_because = NULL")
    sql(kit.engine, "UPDATE hosts SET next_fetch_at = now() WHERE state = 'idle'")
    sql(kit.engine, "UPDATE lineage SET seen = 'elsewhere'")
    assert go(kit) == [], "first everybody waits"
    bring_forward(kit.engine)
    run(kit)
    assert site.pages_asked == ["/", "/a"] * 2
    assert one(kit.engine, "SELECT count(*) FROM urls WHERE state = 'resting'") == 2
