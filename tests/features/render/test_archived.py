"""What a browser made of a page in the archive: its record, and where none is. With a stand-in for the browser."""

from dataclasses import replace
from typing import Any

import pytest

from app.admin import captures as shown
from app.crawl.state.worker import Worker
from app.errors import ArchiveStopped
from app.features.render.turn import TurnEnding
from app.model.render import RenderEnding
from tests.crawl.archiving import Archiving
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Site
from tests.features.archive.readers import by_warcio
from tests.features.render.archived import again, conversions, kinds, of_page
from tests.features.render.shells import DOCUMENT, Stand, render, rows, shell, turns
from tests.store.rows import sql


def test_the_document_is_a_record_beside_its_answer(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    assert render(keeping, Stand()) == 1
    answer, document = of_page(keeping, site)
    assert (answer.kind, answer.to_render, document.kind) == ("page", True, "rendered")
    assert (document.rendered_from, document.refers_to, document.body_bytes) == (answer.id, None, len(DOCUMENT))
    assert document.fetched_at > answer.fetched_at
    assert archiving.archive.read(document).body == DOCUMENT.encode()
    assert archiving.archive.plain(document)[1].body == archiving.archive.read(answer).body == shell().body
    (path,) = archiving.close()  # others' readers accept it, and it is verified
    (record,) = conversions(path)
    assert record.body == DOCUMENT.encode()
    assert record.fields["WARC-Target-URI"] == f"urn:rendered:{site.url('/')}"
    assert record.fields["Content-Type"] == "text/html; charset=utf-8"
    assert record.fields["WARC-Refers-To"] == f"<urn:uuid:{answer.record_id}>"
    assert record.fields["WARC-Block-Digest"].startswith("sha256:")
    (response,) = [
        each for each in by_warcio(path) if each.fields["WARC-Record-ID"] == f"<urn:uuid:{answer.record_id}>"
    ]
    assert (response.kind, response.fields["WARC-Target-URI"]) == ("response", site.url("/"))
    assert (record.offset, record.length) == (document.at_offset, document.length), "one gzip member"


def test_no_index_lists_the_document_in_place_of_the_answer(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    render(keeping, Stand())
    (path,) = archiving.close()
    (_, document) = of_page(keeping, site)
    lines = path.with_name(path.name.replace(".warc.gz", ".cdxj")).read_text().splitlines()
    assert f'"offset":"{document.at_offset}"' not in "".join(lines)
    (segment,) = rows(keeping, "SELECT records FROM segments")
    assert segment.records == len(lines)


# the plain answer, what a browser makes of it, the wishes of the crawl
@pytest.mark.parametrize(
    ("answer", "document", "wishes"),
    [
        (shell(), DOCUMENT, {"archive": False}),
        (shell(**{"X-Robots-Tag": "noarchive"}), DOCUMENT, {}),
        (shell(), DOCUMENT.replace("<title>", "<meta name=robots content=noarchive><title>"), {}),
        (
            shell(),
            DOCUMENT.replace("<title>", "<meta name=tdm-reservation content=1><title>"),
            {"honour_opt_outs": True},
        ),
    ],
)
def test_no_copy_is_kept_where_none_is_wanted(
    answer: Answer, document: str, wishes: dict[str, Any], archiving: Archiving, keeping: Worker, site: Site
) -> None:
    site.pages["/"] = answer
    start(keeping, site.url("/"), **wishes)
    go(keeping)
    render(keeping, Stand(html=document))
    assert "rendered" not in kinds(keeping, site)
    archiving.keeper.close()
    assert conversions(*archiving.place.folder.rglob("*.warc.gz")) == []


def test_a_meta_tag_that_the_scripts_remove_binds_all_the_same(
    archiving: Archiving, keeping: Worker, site: Site
) -> None:
    body = (shell().body or b"").replace(b"<title>", b"<meta name=robots content=noarchive><title>")
    site.pages["/"] = replace(shell(), body=body)
    start(keeping, site.url("/"))
    go(keeping)
    render(keeping, Stand())
    assert kinds(keeping, site) == []
    assert [row.main_text for row in rows(keeping, "SELECT main_text FROM pages")] == [None]


def test_a_304_that_wants_no_copy_binds_the_document_too(archiving: Archiving, keeping: Worker, site: Site) -> None:
    site.pages["/"] = lambda hit: (
        Answer(status=304, headers={"X-Robots-Tag": "noarchive"})
        if hit.headers.get("If-None-Match")
        else shell(ETag='"1"')
    )
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    again(keeping)
    assert render(keeping, Stand()) == 1
    assert "rendered" not in kinds(keeping, site)
    assert [row.main_text for row in rows(keeping, "SELECT main_text FROM pages")] == [None]


def test_a_document_that_is_cut_says_so(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    render(keeping, Stand(options={"ending": RenderEnding.DOM}))
    document = of_page(keeping, site)[-1]
    assert (document.kind, document.truncated) == ("rendered", True)
    assert archiving.archive.read(document).truncated
    (record,) = conversions(*archiving.close())
    assert record.fields["WARC-Truncated"] == "length"


def test_the_same_document_is_not_stored_twice(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    render(keeping, Stand())
    site.pages["/"] = shell(["/app.2.js"])
    again(keeping)
    assert render(keeping, Stand()) == 1
    assert kinds(keeping, site) == ["page", "rendered", "page"]
    assert shown.show(keeping.engine, archiving.settings, site.url("/")).answer.body == DOCUMENT.encode()
    (path,) = archiving.close()
    assert len(conversions(path)) == 1


def test_while_the_archive_cannot_be_written_no_page_is_opened(
    archiving: Archiving, keeping: Worker, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    archiving.keeper._stopped = ArchiveStopped("archive at /a", "is full")  # noqa: SLF001  # as a disk does
    archiving.keeper._looked_at = float("inf")  # noqa: SLF001  # it is not looked at again
    stand = Stand()
    assert turns(keeping, stand).run() is TurnEnding.DONE
    assert stand.opened == []
    (row,) = rows(keeping, "SELECT state, takes, attempts, cause, due_at > now() AS later FROM renders")
    assert (row.state, row.takes, row.attempts, row.later) == ("due", 0, 0, True)
    assert "is full" in row.cause


def test_a_document_that_could_not_be_written_is_made_again(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"))
    go(keeping)

    def fill() -> None:
        for file in archiving.keeper._writer._files.values():  # noqa: SLF001  # the disk fills while the page is open
            file.is_retired = True
        folder = archiving.place.folder / "c"
        folder.rename(folder.with_name("gone"))
        folder.write_text("no folder")

    def empty() -> None:
        folder = archiving.place.folder / "c"
        folder.unlink()
        folder.with_name("gone").rename(folder)

    turns(keeping, Stand(does=fill)).run()
    assert kinds(keeping, site) == ["page"]
    assert [tuple(row) for row in rows(keeping, "SELECT title, rendered_at FROM pages")] == [("App", None)]
    assert rows(keeping, "SELECT FROM urls WHERE url LIKE '%/made'") == [], "nor are its links found"
    (row,) = rows(keeping, "SELECT state, attempts, cause FROM renders")
    assert (row.state, row.attempts) == ("due", 0)
    empty()
    archiving.keeper._looked_at = -10.0  # noqa: SLF001  # a second later
    sql(keeping.engine, "UPDATE renders SET due_at = now()")
    assert render(keeping, Stand()) == 1
    assert kinds(keeping, site) == ["page", "rendered"]
