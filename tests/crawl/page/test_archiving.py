"""What a crawl leaves in the archive: every answer as the site sent it, by pointers that committed with the settle."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.admin import crawls
from app.archive.keeper import LOOK_S, ArchiveKeeper
from app.archive.place import Place
from app.archive.read import Archive
from app.archive.verify import verify
from app.archive.writer import ArchiveWriter, Limits
from app.config import load
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import CutOff, return_host
from app.errors import ServiceError
from app.model import Capture, VisitEnding
from tests.archive.deposits import all_captures
from tests.archive.readers import by_warcio, is_accepted
from tests.archive.test_keeper import Clock, full_disk
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Hit, Site, Web, html, redirect
from tests.store.rows import sql


class Archiving:
    """A worker with an archive, and what is in it."""

    def __init__(self, worker: Worker, home: Path) -> None:
        self.place = Place(home, None)
        writer = ArchiveWriter(
            worker.engine, self.place.folder, node=self.place.node, worker="w", limits=Limits(10**9, 3_600), about={}
        )
        self.clock = Clock()
        self.keeper = ArchiveKeeper(writer, self.place, reserve_bytes=0, spool_bytes=0, monotonic=self.clock)
        self.worker = replace(worker, archive=self.keeper)
        self.settings = load(home=home)
        self.archive = Archive(worker.engine, self.settings)

    @property
    def engine(self) -> Engine:
        return self.worker.engine

    def captures(self, site: Site) -> dict[str, Capture]:
        """The last capture of each path of a site."""
        return {each.url.removeprefix(site.url().rstrip("/")): each for each in all_captures(self.engine, 1)}

    def kinds(self, site: Site) -> dict[str, str]:
        return {path: each.kind for path, each in self.captures(site).items()}

    def close(self) -> list[Path]:
        """Make the segments final. Returns them; they are accepted by others' readers, and verified."""
        self.keeper.close()
        paths = sorted(self.place.folder.rglob("*.warc.gz"))
        assert is_accepted(*paths)
        assert verify(self.engine, self.settings, None).flaws == []
        return paths


@pytest.fixture
def archiving(worker: Worker, tmp_path: Path) -> Iterator[Archiving]:
    made = Archiving(worker, tmp_path)
    yield made
    made.keeper.close()


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
    sql(archiving.engine, "UPDATE crawls SET archive = true")
    for status in (200, 304):
        crawls.go_round(archiving.engine, "c")
        run(archiving.worker)
        assert site.log[-1].status == status
    assert archiving.archive.read(archiving.captures(site)["/"]).body == site.pages["/"].body  # type: ignore[union-attr]


NOARCHIVE = '<meta name="robots" content="noarchive">'


# the page, what the crawl honours → is its body kept?
@pytest.mark.parametrize(
    ("page", "honours", "is_kept"),
    [
        (html(text="secret"), False, True),
        (html(text="secret", headers={"X-Robots-Tag": "noarchive"}), False, False),
        (html(text="secret", head=NOARCHIVE), False, False),
        (html(text="secret", headers={"X-Robots-Tag": "noindex"}), False, True),
        (html(text="secret", headers={"TDM-Reservation": "1"}), False, True),
        (html(text="secret", headers={"TDM-Reservation": "1"}), True, False),
        (html(text="secret", headers={"TDM-Reservation": "1", "X-Robots-Tag": "noindex"}), True, False),
        (Answer(status=404, body=b"secret"), False, True),
        (Answer(status=404, body=b"secret", headers={"X-Robots-Tag": "noarchive"}), False, False),
        (Answer(status=404, body=b"secret", headers={"TDM-Reservation": "1"}), True, False),
    ],
)
def test_what_its_owner_does_not_want_kept_is_not(
    page: Answer, honours: bool, is_kept: bool, archiving: Archiving, web: Web
) -> None:
    site = web.site()
    site.pages["/"] = page
    start(archiving.worker, site.url(), honour_opt_outs=honours)
    run(archiving.worker)
    assert ("/" in archiving.captures(site)) is is_kept
    (path,) = archiving.close()
    records = by_warcio(path)
    assert any(b"secret" in each.body for each in records) is is_kept
    notes = [each.body for each in records if each.fields.get("WARC-Target-URI") == site.url()]
    assert any(b"kept: no" in each for each in notes) is not is_kept


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


def random_text() -> str:
    """Text that does not pack, larger than a full disk takes."""
    return "".join(sha256(str(n).encode()).hexdigest() for n in range(3_000))


def test_nothing_is_settled_without_its_stored_data(archiving: Archiving, web: Web) -> None:
    """A visit that cannot store an answer is cut off, and settles all that it has when the archive goes on."""
    site = web.site()
    site.pages |= {"/": html("/a", text=random_text()), "/a": html(text="next")}
    start(archiving.worker, site.url())
    with full_disk():
        with pytest.raises(CutOff, match=r"cannot be written .*File too large") as raised:
            go(archiving.worker)
        assert sql(archiving.engine, "SELECT state, fetched_at FROM urls") == [{"state": "queued", "fetched_at": None}]
        with pytest.raises(ServiceError, match="cannot be written"):
            return_host(raised.value.visit)
        assert all_captures(archiving.engine, 1) == []
    requests = len(site.log)
    assert return_host(raised.value.visit).ending == VisitEnding.ARCHIVE_STOPPED
    assert len(site.log) == requests
    assert archiving.archive.read(archiving.captures(site)["/"]).body == site.pages["/"].body  # type: ignore[union-attr]
    archiving.clock.now += LOOK_S
    run(archiving.worker)
    assert archiving.kinds(site).keys() == {"/robots.txt", "/", "/a"}
    assert site.paths == ["/robots.txt", "/", "/a"]


def test_while_the_archive_is_stopped_nothing_is_fetched(archiving: Archiving, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(archiving.worker, site.url())
    archiving.place.folder.parent.mkdir(exist_ok=True)
    archiving.place.folder.write_bytes(b"a file is in its place")
    with pytest.raises(CutOff, match="cannot be written"):
        go(archiving.worker)
    assert site.log == []
    archiving.place.folder.unlink()


def test_a_crawl_without_an_archive_goes_on_while_it_is_stopped(archiving: Archiving, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(archiving.worker, site.url(), archive=False)
    archiving.place.folder.write_bytes(b"a file is in its place")
    run(archiving.worker)
    assert site.paths == ["/robots.txt", "/"]
    archiving.place.folder.unlink()


def test_records_of_a_fenced_visit_have_no_row(archiving: Archiving, web: Web) -> None:
    site = web.site()

    def lose_the_lease(_: Hit) -> Answer:
        sql(archiving.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
        return html(text="too late")

    site.pages["/"] = lose_the_lease
    start(archiving.worker, site.url())
    (report,) = go(archiving.worker)
    assert report.ending == VisitEnding.FENCED
    assert all_captures(archiving.engine, 1) == []
    pointers = sql(archiving.engine, "SELECT fenced, segment_id FROM fetches WHERE kind = 'page'")
    assert pointers == [{"fenced": True, "segment_id": None}]
    (path,) = archiving.close()
    assert any(b"too late" in each.body for each in by_warcio(path))
