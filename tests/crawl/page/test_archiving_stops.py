"""An archive that cannot be written, a lease that is lost, and owners who want nothing kept."""

from hashlib import sha256

import pytest

from app.crawl.visit.visit import CutOff, return_host
from app.errors import ServiceError
from app.features.archive.keep import UNSTORED
from app.features.archive.keeper import LOOK_S
from app.model import VisitEnding
from tests.crawl.archiving import Archiving
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Hit, Web, html
from tests.features.archive.deposits import all_captures
from tests.features.archive.readers import by_warcio
from tests.features.archive.test_keeper import full_disk
from tests.store.rows import sql

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


def random_text(hashes: int = 3_000, name: str = "") -> str:
    """Text that packs to a half at best, by itself larger than a full disk takes."""
    return "".join(sha256(f"{name}{n}".encode()).hexdigest() for n in range(hashes))


# the text of each page → is it in the archive before the settle?
@pytest.mark.parametrize(("text", "is_stored"), [("small", False), (random_text(), True)])
def test_small_answers_wait_for_the_settle(text: str, is_stored: bool, archiving: Archiving, web: Web) -> None:
    site, segments = web.site(), []

    def look(_: Hit) -> Answer:
        segments.append(list(archiving.place.folder.rglob("*.open")))
        return html(text=text)

    site.pages |= dict.fromkeys(["/", "/a"], look)
    start(archiving.worker, site.url(), site.url("/a"))
    run(archiving.worker)
    assert [bool(found) for found in segments] == [False, is_stored]
    assert archiving.kinds(site).keys() == {"/robots.txt", "/", "/a"}


def test_small_answers_that_cannot_be_written_wait_on(archiving: Archiving, web: Web) -> None:
    """Some of a batch are stored, the disk takes no more: nothing is settled, and later all of it is."""
    site = web.site()
    site.pages |= {f"/{n}": html(text=random_text(800, str(n))) for n in range(4)}
    start(archiving.worker, *map(site.url, site.pages))
    with full_disk():
        with pytest.raises(CutOff, match="cannot be written") as raised:
            go(archiving.worker)
        assert raised.value.visit.leaving is VisitEnding.ARCHIVE_STOPPED
        assert 0 < len(raised.value.visit.batch.rows(UNSTORED)) < len(site.pages)
        assert sql(archiving.engine, "SELECT id FROM fetches WHERE kind = 'page'") == []
    assert return_host(raised.value.visit).ending == VisitEnding.ARCHIVE_STOPPED
    for path, capture in archiving.captures(site).items():
        assert path == "/robots.txt" or archiving.archive.read(capture).body == site.pages[path].body  # type: ignore[union-attr]
    assert archiving.captures(site).keys() == {"/robots.txt", *site.pages}
    archiving.close()


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
