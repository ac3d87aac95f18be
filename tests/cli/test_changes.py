"""`tiptoe changes`: what is new, changed and gone in a crawl of two rounds, in a pipe, as JSON lines, and in Python."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

import tiptoe as face
from app.admin import crawls
from app.admin.changes import ChangesWish, changes
from app.crawl.state.setup import make_sender, make_worker
from app.store import crawls as crawl_rows
from app.store import db
from tests.cli.conftest import Ran, Tiptoe
from tests.crawl import loop
from tests.crawl.archiving import Archiving
from tests.crawl.web import Answer, Site, Web, html
from tests.features.changes.rebuilt import final
from tests.steering import steering
from tests.store.rows import clean, one

KEPT = "A passage that stays as it is, whatever else is said on this page of the site."
OLD, NEW = "The shop is open on Mondays.", "The shop is open on Tuesdays."


@dataclass(frozen=True)
class Twice:
    """A crawl `docs` of two rounds.   between: a moment after the first;   home: where its archive is"""

    site: Site
    between: datetime
    home: Path


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture(scope="module")
def crawled(database_url: str, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twice]:
    """Between its rounds /a changed, /b went, /new came; /c says the same in other bytes, /never was no page."""
    home = tmp_path_factory.mktemp("home")
    settings = loop.make_settings(database_url, home=home)
    sender = make_sender(settings)
    with Web() as web:
        site, other = web.site(), web.site()
        site.pages |= {
            "/": html("/a", "/b", "/c", "/never", text=KEPT),
            "/a": html(text=f"{KEPT}</p><p>{OLD}", title="A \x1b[31mpage"),
            "/b": html(text="A page that goes away."),
            "/c": html(text="A page that stays."),
        }
        other.pages["/"] = html(text="Words of another crawl.")
        made = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:0")
        archiving = Archiving(made, home)
        worker = archiving.worker
        loop.start(worker, site.url(), name="docs", archive=True)
        loop.start(worker, other.url(), name="other")
        loop.run(worker)
        between = one(engine, "SELECT clock_timestamp()")
        site.pages["/"] = html("/a", "/b", "/c", "/never", "/new", text=KEPT)
        site.pages["/a"] = html(text=f"{KEPT}</p><p>{NEW}", title="A \x1b[31mpage")
        site.pages["/b"] = Answer(status=410)
        site.pages["/c"] = html(text="A page that stays.", head="<!-- other bytes -->")
        site.pages["/new"] = html(text="A page that came.")
        crawls.go_round(engine, "docs", settings)
        loop.run(worker)
        archiving.close()
        final(engine)
        yield Twice(site, between, home)
    sender.close()


@pytest.fixture
def twice(crawled: Twice, tiptoe: Tiptoe, monkeypatch: pytest.MonkeyPatch) -> Twice:
    monkeypatch.setenv("TIPTOE_HOME", str(crawled.home))
    return crawled


def changes_of(ran: Ran) -> list[tuple[str, str]]:
    assert (ran.code, ran.err) == (0, "")
    *events, last = map(json.loads, ran.out.splitlines())
    assert [*last] == ["cursor"]
    return sorted((each["change"], each["url"]) for each in events)


def test_each_change_is_one_line_of_json(tiptoe: Tiptoe, twice: Twice) -> None:
    """No page of another crawl, none that was never a page, none that says the same as before."""
    ran = tiptoe("changes", "docs", "--since", twice.between.isoformat(), "--json")
    url = twice.site.url
    assert changes_of(ran) == [("changed", url("/a")), ("gone", url("/b")), ("new", url("/new"))]
    first = json.loads(ran.out.splitlines()[0])
    assert set(first) - {"why"} == {"change", "at", "crawl", "url", "host", "title", "cursor"}
    assert steering(ran.out) == []


def test_a_page_that_was_new_and_changed_has_both_in_their_order(tiptoe: Tiptoe, twice: Twice) -> None:
    lines = [json.loads(line) for line in tiptoe("changes", "docs", "--json").out.splitlines()[:-1]]
    of_a = [line for line in lines if line["url"] == twice.site.url("/a")]
    assert [line["change"] for line in of_a] == ["new", "changed"]
    assert of_a[0]["at"] < of_a[1]["at"]
    assert len([line for line in lines if line["change"] == "new"]) == 5


def test_the_end_of_a_crawl_counts_the_same(engine: Engine, twice: Twice) -> None:
    with db.transaction(engine) as tx:
        assert crawl_rows.brought(tx, 1, since=twice.between) == (1, 1, 1)


def test_a_person_sees_each_kind_and_how_many(tiptoe: Tiptoe, twice: Twice) -> None:
    ran = tiptoe("changes", "docs", "--since", twice.between.isoformat())
    assert (ran.code, ran.err.startswith("go on from here with --since tc1")) == (0, True)
    lines = ran.out.splitlines()
    assert [line for line in lines if line.endswith(", 1 page")] == ["new, 1 page", "changed, 1 page", "gone, 1 page"]
    assert lines[-1].startswith("1 new, 1 changed, 1 gone in docs since ")
    assert steering(ran.out) == []


@pytest.mark.parametrize("since", ["between", "7d"])
def test_passages_are_read_from_the_archive(tiptoe: Tiptoe, twice: Twice, since: str) -> None:
    before = len(twice.site.log)
    begins = twice.between.isoformat() if since == "between" else since
    ran = tiptoe("changes", "docs", "--since", begins, "--passages", "--json")
    (changed,) = [each for each in map(json.loads, ran.out.splitlines()) if each.get("change") == "changed"]
    assert [(each["kind"], each["text"]) for each in changed["passages"] if each["kind"] in "+-"] == [
        ("-", OLD),
        ("+", NEW),
    ]
    assert len(twice.site.log) == before
    shown = tiptoe("changes", "docs", "--passages").out.splitlines()
    assert f"- {OLD}" in shown
    assert f"+ {NEW}" in shown


def test_why_there_are_no_passages(
    tiptoe: Tiptoe, twice: Twice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its archive is elsewhere."""
    monkeypatch.setenv("TIPTOE_HOME", str(tmp_path))
    ran = tiptoe("changes", "docs", "--passages", "--json")
    (changed,) = [each for each in map(json.loads, ran.out.splitlines()) if each.get("change") == "changed"]
    assert (ran.code, changed["passages"]) == (0, None)
    assert changed["why_not"]


def test_a_page_that_takes_too_long_is_listed_without_passages(engine: Engine, database_url: str, twice: Twice) -> None:
    settings = loop.make_settings(database_url, home=twice.home)
    with db.transaction(engine) as other:
        other.execute(text("LOCK TABLE captures IN ACCESS EXCLUSIVE MODE"))
        found = list(changes(engine, settings, "docs", ChangesWish(passages=True, compared_s=0.2)).found)
    (changed,) = [each for each in found if each.change == "changed"]
    assert changed.passages is None
    assert changed.why_not == (
        f"comparing its texts: took longer than 0.2 s, and was stopped; try it alone: tiptoe page diff {changed.url}"
    )
    assert {str(each.change) for each in found} >= {"new", "changed"}, "the others are listed"


def test_nothing_happened(tiptoe: Tiptoe, twice: Twice) -> None:
    later = "2126-01-01"
    ran = tiptoe("changes", "docs", "--since", later)
    assert ran.out.splitlines()[-1].startswith("0 new, 0 changed, 0 gone in docs")
    assert changes_of(tiptoe("changes", "docs", "--since", later, "--json")) == []


@pytest.mark.parametrize(
    ("args", "why"),
    [(["dogs"], "did you mean docs?"), (["docs", "--since", "lately"], "is not a moment")],
    ids=["crawl", "since"],
)
def test_bad_input_is_one_line(tiptoe: Tiptoe, twice: Twice, args: list[str], why: str) -> None:
    ran = tiptoe("changes", *args, "--json")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert why in ran.err


def test_a_script_gets_them_too(twice: Twice) -> None:
    found = [(str(each.change), each.url) for each in face.changes("docs", since=twice.between)]
    url = twice.site.url
    assert sorted(found) == [("changed", url("/a")), ("gone", url("/b")), ("new", url("/new"))]


def test_a_cursor_goes_on_where_it_was_given(tiptoe: Tiptoe, twice: Twice) -> None:
    """Read in three parts, each from the cursor of the last line before, it is what is read at once."""
    whole = [json.loads(line) for line in tiptoe("changes", "docs", "--from", "start", "--json").out.splitlines()]
    middle, last = whole[3]["cursor"], whole[-1]["cursor"]
    rest = [json.loads(line) for line in tiptoe("changes", "docs", "--since", middle, "--json").out.splitlines()]
    assert rest == whole[4:]
    assert tiptoe("changes", "docs", "--since", last, "--json").json == {"cursor": last}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--kind", "gone", "--kind", "changed"], [("changed", "/a"), ("gone", "/b")]),
        (["--url", "*/new"], [("new", "/new")]),
        (["--words", "tuesdays OPEN"], [("changed", "/a"), ("new", "/a")]),
        (["--words", "tuesdays nonsense"], []),
    ],
)
def test_filters(tiptoe: Tiptoe, twice: Twice, options: list[str], wanted: list[tuple[str, str]]) -> None:
    ran = tiptoe("changes", "docs", *options, "--json")
    assert changes_of(ran) == [(kind, twice.site.url(path)) for kind, path in wanted]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--since", "tc1nonsense"], "is no cursor"),
        (["--from", "yesterday"], "write start"),
        (["--from", "start", "--since", "7d"], "give one of the two"),
        (["--kind", "moved"], "there are new, changed, gone, withdrawn, returned"),
        (["--words", " "], "give 1 to 16"),
        (["--to", "x.jsonl", "--follow"], "leave out --follow"),
        (["--to", "x", "--format", "markdown"], "is for pages"),
    ],
)
def test_what_cannot_be_asked_for(tiptoe: Tiptoe, twice: Twice, args: list[str], why: str) -> None:
    ran = tiptoe("changes", "docs", *args)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert why in ran.err


def test_a_folder_gets_increments(tiptoe: Tiptoe, twice: Twice, tmp_path: Path, engine: Engine) -> None:
    """With texts; a page that is gone is a tombstone. What is there already is not written again."""
    to = tmp_path / "changes"
    ran = tiptoe("changes", "docs", "--from", "start", "--to", str(to), "--json")
    first = [json.loads(line) for line in (to / "changes-00001.jsonl").read_text().splitlines()]
    assert (ran.json["rows"], ran.json["cursor"]) == (
        len(first),
        json.loads((to / "changes.json").read_text())["cursor"],
    )
    gone, new = (next(row for row in first if row["change"] == kind) for kind in ("gone", "new"))
    assert (gone["text"], gone["text_sha256"]) == (None, None)
    assert KEPT in new["text"]
    assert tiptoe("changes", "docs", "--to", str(to), "--json").json["file"] is None
    assert sorted(path.name for path in to.iterdir()) == ["changes-00001.jsonl", "changes.json"]
    assert "holds the changes of docs" in tiptoe("changes", "other", "--to", str(to)).err


def test_another_library_reads_parquet(tiptoe: Tiptoe, twice: Twice, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    to = tmp_path / "changes.parquet"
    assert tiptoe("changes", "docs", "--from", "start", "--to", str(to)).code == 0
    found = duckdb.sql(f"SELECT change, count(*), count(text) FROM '{to}' GROUP BY change ORDER BY change").fetchall()
    assert found == [("changed", 1, 1), ("gone", 1, 0), ("new", 5, 5)]


def test_following_shows_what_comes(twice: Twice, engine: Engine, database_url: str) -> None:
    found = changes(engine, loop.make_settings(database_url), "docs", ChangesWish(since=None))
    looks = []

    class Enough(Exception):
        """It has looked often enough."""

    def wait(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            raise Enough

    seen = []
    with pytest.raises(Enough):
        seen += [each.url for each in found.followed(wait)]
    assert len(looks) == 3
