"""A crawl of shells and plain pages: their rows, and what `url why`, `crawl report` and the export say of them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from app.admin import crawls, rendering, report
from app.crawl.state.setup import make_sender, make_worker
from app.crawl.state.worker import Worker
from app.store import db, renders
from tests.cli.conftest import Tiptoe
from tests.crawl import loop
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import clean, sql

PROSE = "This sentence is long enough to be read as one by whoever counts the letters in it. " * 8
DATA = json.dumps({"props": {"post": PROSE}})
BUNDLE = "<script src=/static/js/main.3f2a91bc.js></script>"
SHELL = f"<!doctype html><html lang=en><title>S</title><div id=root></div>{BUNDLE}"
STATE = f"<script id=__NEXT_DATA__ type=application/json>{DATA}</script>"
NEXT = f"<!doctype html><html lang=en><title>N</title><div id=__next></div>{STATE}{BUNDLE}"


def served(markup: str) -> Answer:
    return Answer(headers={"Content-Type": "text/html; charset=utf-8"}, body=markup.encode())


@pytest.fixture
def crawled(database_url: str) -> Iterator[tuple[Worker, Site]]:
    """The crawl `c`: two shells, one of them with data, and three plain pages."""
    settings = loop.make_settings(database_url)
    sender = make_sender(settings)
    with clean(database_url) as engine, Web() as web:
        site = web.site()
        site.pages["/"] = html("/shell", "/next", "/short", "/long", text="The front.")
        site.pages |= {"/shell": served(SHELL), "/next": served(NEXT)}
        site.pages |= {"/short": html(text="Back soon.", head=BUNDLE), "/long": html(text=PROSE, head=BUNDLE)}
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:1")
        loop.start(worker, site.url())
        loop.run(worker)
        yield worker, site
    sender.close()


def evidence(engine: Engine) -> dict[str, dict[str, str]]:
    return {
        row["url"]: row["needs_script"]
        for row in sql(engine, "SELECT url, needs_script FROM pages")
        if row["needs_script"] is not None
    }


def test_shells_have_evidence_in_their_rows_and_plain_pages_have_none(crawled: tuple[Worker, Site]) -> None:
    worker, site = crawled
    common = {"scripts": "1 script", "text": "0 characters"}
    assert evidence(worker.engine) == {
        site.url("/shell"): {"empty_root": "#root", **common},
        site.url("/next"): {"empty_root": "#__next", "data": "#__NEXT_DATA__, 672 characters", **common},
    }
    assert len(sql(worker.engine, "SELECT FROM pages")) == 5


def test_a_page_that_brings_its_text_loses_the_evidence(crawled: tuple[Worker, Site]) -> None:
    worker, site = crawled
    site.pages["/shell"] = html(text=PROSE)
    crawls.go_round(worker.engine, "c")
    loop.run(worker)
    assert evidence(worker.engine).keys() == {site.url("/next")}


def test_url_why_shows_it(tiptoe: Tiptoe, crawled: tuple[Worker, Site]) -> None:
    _, site = crawled
    said = tiptoe("url", "why", site.url("/next")).out.splitlines()
    assert [line.split("  ")[-1] for line in said if line.startswith("  empty without JavaScript  ")] == [
        "#__next is empty",
        "1 script; 0 characters of text",
        "prose in JSON: #__NEXT_DATA__, 672 characters",
    ]
    assert "JavaScript" not in tiptoe("url", "why", site.url("/short")).out
    (here,) = tiptoe("url", "why", site.url("/shell"), "--json").json["crawls"]
    assert here["page"]["needs_script"]["empty_root"] == "#root"
    assert here["rendering"] == [
        "waits for a browser: it is empty without JavaScript",
        "no worker renders here; start one with -Q render, or see `tiptoe doctor`",
    ]


@pytest.mark.parametrize(
    # a worker's problem, a crawl's mode, what is said
    ("problem", "mode", "said"),
    [
        (None, "auto", []),
        ("no Chromium was found; install one", "auto", ["no Chromium was found; install one"]),
        (None, "never", ["its crawl renders nothing now; see `tiptoe crawl edit --render`"]),
    ],
)
def test_url_why_says_what_a_shell_waits_for(
    tiptoe: Tiptoe, crawled: tuple[Worker, Site], problem: str | None, mode: str, said: list[str]
) -> None:
    worker, site = crawled
    with db.transaction(worker.engine) as tx:
        renders.seen(tx, name="test:1", browser=None if problem else "156.0", problem=problem)
    tiptoe("crawl", "edit", "c", "--render", mode)
    (here,) = tiptoe("url", "why", site.url("/shell"), "--json").json["crawls"]
    assert here["rendering"][1:] == said


def test_a_command_that_is_stopped_says_that_it_opens_them_when_resumed(crawled: tuple[Worker, Site]) -> None:
    """Its own workers have ended with it: they are not missing."""
    with db.transaction(crawled[0].engine) as tx:
        (crawl,) = tx.execute(text("SELECT id FROM crawls")).scalars()
        waits, why = rendering.waiting(tx, crawl, "auto", is_paused=True)
        assert (waits, why) == ("2 pages wait for a browser", "the same command opens them")
        assert rendering.waiting(tx, crawl, "auto", is_paused=False)[1] == rendering.NO_WORKER


def test_the_report_counts_them_by_host(tiptoe: Tiptoe, crawled: tuple[Worker, Site]) -> None:
    _, site = crawled
    said = tiptoe("crawl", "report", "c").out.partition("\nempty without JavaScript\n")[2].partition("\n\n")[0]
    assert said.splitlines()[:4] == [
        "2 pages of 1 host: an empty shell each.",
        "2 pages wait for a browser.",
        "no worker renders here; start one with -Q render, or see `tiptoe doctor`.",
        "1 page holds prose as JSON, for a handler to read.",
    ]
    assert all(len(line) <= 80 for line in said.splitlines())
    row = {"host": site.host, "pages": 2, "with_data": 1, "with_routes": 0, "example": site.url("/next")}
    assert tiptoe("crawl", "report", "c", "--json").json["needs_script"] == [row]


def test_the_status_counts_them_by_crawl(tiptoe: Tiptoe, crawled: tuple[Worker, Site]) -> None:
    said = tiptoe("status").out
    told = said.partition("\nempty without JavaScript (`tiptoe crawl report NAME` names their hosts)\n")[2]
    assert told.splitlines()[0] == "  c  2 pages"
    assert max(map(len, said.partition("last visits")[0].splitlines())) <= 80
    assert tiptoe("status", "--json").json["needs_script"] == [{"crawl": "c", "pages": 2, "is_least": False}]


def test_the_status_counts_no_more_than_it_must(crawled: tuple[Worker, Site]) -> None:
    (found,) = report.status(crawled[0].engine, most=1).needs_script
    assert found == {"crawl": "c", "pages": 1, "is_least": True}


def test_the_status_says_nothing_where_every_page_has_its_text(tiptoe: Tiptoe, crawled: tuple[Worker, Site]) -> None:
    sql(crawled[0].engine, "UPDATE pages SET needs_script = NULL")
    assert "JavaScript" not in tiptoe("status").out
    assert tiptoe("status", "--json").json["needs_script"] == []


def test_the_export_has_it(tiptoe: Tiptoe, crawled: tuple[Worker, Site], tmp_path: Path) -> None:
    _, site = crawled
    tiptoe("export", "pages", "--crawl", "c", "--to", str(tmp_path / "out"), "--format", "jsonl")
    rows = [json.loads(line) for part in (tmp_path / "out").rglob("*.jsonl*") for line in part.read_text().splitlines()]
    found = {row["url"]: row["needs_script"] for row in rows}
    assert found[site.url("/shell")]["empty_root"] == "#root"
    assert found[site.url("/short")] is None
