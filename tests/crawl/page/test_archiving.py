"""What a crawl leaves in the archive: every answer as the site sent it, by pointers that committed with the settle."""

import gzip
from hashlib import sha256

from app.admin import crawls
from tests.crawl.archiving import Archiving
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html, redirect
from tests.features.archive.deposits import all_captures
from tests.features.archive.readers import by_warcio
from tests.store.rows import sql


def test_every_answer_is_kept_as_the_site_sent_it(archiving: Archiving, web: Web) -> None:
    site = web.site()
    packed = gzip.compress(html("/c", text="packed " * 100).body, mtime=0)
    encoded = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
    site.robots = "User-agent: *\nAllow: /\n"
    site.pages |= {
        "/": html("/a", "/gone", "/moved", "/pdf", "/packed"),
        "/a": html(title="A", text="é"),
        "/gone": Answer(status=410, body=b"no more"),
        "/moved": redirect("/a"),
        "/pdf": Answer(headers={"Content-Type": "application/pdf"}, body=b"%PDF"),
        "/packed": Answer(headers=encoded, body=packed),
        "/c": Answer(status=500, body=b"oops"),
    }
    start(archiving.worker, site.url())
    run(archiving.worker)
    held = archiving.captures(site)
    assert archiving.kinds(site) == {
        "/robots.txt": "robots",
        "/": "page",
        "/a": "page",
        "/gone": "error",
        "/moved": "redirect",
        "/pdf": "error",
        "/packed": "page",
        "/c": "error",
    }
    read = {path: archiving.archive.read(capture) for path, capture in held.items()}
    assert read["/"].body == site.pages["/"].body  # type: ignore[union-attr]
    assert read["/a"].body == site.pages["/a"].body  # type: ignore[union-attr]
    assert read["/packed"].body == gzip.decompress(packed)
    assert (read["/gone"].status, read["/gone"].body) == (410, b"no more")
    assert (read["/moved"].status, read["/moved"].header("location")) == (301, "/a")
    assert (read["/pdf"].body, read["/pdf"].truncated, held["/pdf"].truncated) == (b"", True, True)
    assert read["/robots.txt"].body == b"User-agent: *\nAllow: /\n"
    page = held["/a"]
    assert (page.charset, page.content_type) == ("utf-8", "text/html; charset=utf-8")
    assert page.body_sha256 == sha256(read["/a"].body).digest()
    (row,) = sql(archiving.engine, "SELECT text_sha256 FROM pages WHERE url = :url", url=page.url)
    assert page.text_sha256 == row["text_sha256"]
    (path,) = archiving.close()
    kept = {each.fields["WARC-Target-URI"]: each for each in by_warcio(path) if each.kind == "response"}
    assert kept[held["/packed"].url].body == packed


def test_the_log_points_to_the_records(archiving: Archiving, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(archiving.worker, site.url())
    run(archiving.worker)
    rows = sql(archiving.engine, "SELECT url, segment_id, at_offset, length FROM fetches ORDER BY started_at")
    held = {each.url: (each.segment_id, each.at_offset, each.length) for each in all_captures(archiving.engine, 1)}
    assert {row["url"]: (row["segment_id"], row["at_offset"], row["length"]) for row in rows} == held
    assert len(held) == 2


def test_a_second_round_stores_no_body_twice(archiving: Archiving, web: Web) -> None:
    """Validators, the same bytes without them, a redirect and an error that stay: revisits, all of them."""
    site = web.site()
    site.robots = "User-agent: *\nAllow: /\n"
    site.pages |= {
        "/": html("/same", "/moved", "/no", headers={"ETag": '"one"'}),
        "/same": html(text="the same"),
        "/moved": Answer(status=301, headers={"Location": "/same"}, body=b"over there"),
        "/no": Answer(status=403, body=b"not for you"),
    }
    start(archiving.worker, site.url())
    run(archiving.worker)
    first = {each.id for each in all_captures(archiving.engine, 1)}
    bodies = {path: archiving.archive.read(each).body for path, each in archiving.captures(site).items()}
    sql(archiving.engine, "UPDATE robots SET expires_at = now() - interval '1 hour'")
    crawls.go_round(archiving.engine, "c")
    run(archiving.worker)
    second = [each for each in all_captures(archiving.engine, 1) if each.id not in first]
    assert {each.refers_to in first for each in second} == {True}
    again = {path: archiving.archive.read(each).body for path, each in archiving.captures(site).items()}
    assert again == bodies
    assert [each.status for each in second if each.url == site.url()] == [304]
    (path,) = archiving.close()
    kinds = [each.kind for each in by_warcio(path) if each.kind in {"response", "revisit"}]
    assert kinds == ["response"] * len(first) + ["revisit"] * len(second)


def test_a_changed_page_is_stored_again(archiving: Archiving, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(text="before")
    start(archiving.worker, site.url())
    run(archiving.worker)
    site.pages["/"] = html(text="after")
    crawls.go_round(archiving.engine, "c")
    run(archiving.worker)
    old, new = (each for each in all_captures(archiving.engine, 1) if each.kind == "page")
    assert new.refers_to is None
    assert b"before" in archiving.archive.read(old).body
    assert b"after" in archiving.archive.read(new).body


def test_a_page_that_the_archive_lacks_is_asked_for_whole(archiving: Archiving, web: Web) -> None:
    """It was fetched before the archive was turned on: a 304 would confirm a body that nobody has."""
    site = web.site()
    site.pages["/"] = html(headers={"ETag": '"one"'})
    start(archiving.worker, site.url(), archive=False)
    run(archiving.worker)
    assert all_captures(archiving.engine, 1) == []
    assert list(archiving.place.folder.rglob("*.warc.gz*")) == []
    sql(archiving.engine, "UPDATE crawls SET archive = true, revision = revision + 1")
    for status in (200, 304):
        crawls.go_round(archiving.engine, "c")
        run(archiving.worker)
        assert site.log[-1].status == status
    assert archiving.archive.read(archiving.captures(site)["/"]).body == site.pages["/"].body  # type: ignore[union-attr]


def test_a_crawl_may_have_no_archive(archiving: Archiving, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(archiving.worker, site.url(), archive=False)
    run(archiving.worker)
    assert all_captures(archiving.engine, 1) == []
    assert list(archiving.place.folder.rglob("*.warc.gz*")) == []


def test_a_sitemap_is_kept(archiving: Archiving, web: Web) -> None:
    site = web.site()
    listed = f"<urlset><url><loc>{site.url('/a')}</loc></url></urlset>".encode()
    site.robots = f"Sitemap: {site.url('/map.xml')}\n"
    site.pages |= {"/": html(), "/a": html(text="a"), "/map.xml": Answer(body=listed)}
    start(archiving.worker, site.url(), sitemaps="declared")
    run(archiving.worker)
    capture = archiving.captures(site)["/map.xml"]
    assert (capture.kind, archiving.archive.read(capture).body) == ("sitemap", listed)
    assert capture.body_sha256 == sha256(listed).digest()


def test_a_cut_body_is_kept_as_far_as_it_came(archiving: Archiving, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(text="long " * 100, cut=True)
    start(archiving.worker, site.url())
    run(archiving.worker)
    capture = archiving.captures(site)["/"]
    assert (capture.kind, capture.truncated) == ("error", True)
    whole = site.pages["/"].body  # type: ignore[union-attr]
    assert whole.startswith(archiving.archive.read(capture).body)
