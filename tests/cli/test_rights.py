"""`tiptoe rights` and `tiptoe export --for`, as a person types them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.crawl.state.setup import make_sender, make_worker
from tests.cli.conftest import Tiptoe
from tests.crawl import loop
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import clean

LICENCE = b"""<rsl xmlns="https://rslstandard.org/rsl"><content url="/paid"><license><permits type="usage">all</permits>
<payment type="crawl"/></license></content></rsl>"""


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture(scope="module")
def site(database_url: str, engine: Engine) -> Iterator[Site]:
    settings = loop.make_settings(database_url)
    sender = make_sender(settings)
    with Web() as web:
        site, quiet = web.site(), web.site()
        site.robots = f"User-agent: *\nContent-Signal: /signed search=yes, ai-train=no\nLicense: {site.url('/l.xml')}\n"
        quiet.pages["/"] = html(text="Nothing is said here.")
        site.pages |= {
            "/": html("/signed", "/paid", "/open", quiet.url()),
            "/signed": html(text="x"),
            "/paid": html(text="y"),
            "/open": html(headers={"Content-Signal": "ai-train=yes"}),
            "/l.xml": Answer(body=LICENCE, headers={"Content-Type": "application/rsl+xml"}),
        }
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:0")
        loop.start(worker, site.url(), quiet.url(), name="docs")
        loop.run(worker)
        site.quiet = quiet.url()  # type: ignore[attr-defined]
        yield site
    sender.close()


def test_a_url_has_a_verdict_for_each_purpose_and_the_words_that_decided(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("rights", site.url("/signed"))
    assert ran.code == 0
    assert ran.out.splitlines()[0] == site.url("/signed")
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "by the files of the site, as they are known now" in lines
    assert any(line.startswith("in crawl docs, since 20") for line in lines)
    assert "search allowed, by search=yes (robots.txt Content-Signal)" in lines
    assert "ai-train refused, by ai-train=no (robots.txt Content-Signal)" in lines
    assert "ai-input unknown" in lines


def test_as_json_it_has_the_evidence(tiptoe: Tiptoe, site: Site) -> None:
    found = tiptoe("rights", site.url("/paid"), "--json").json
    in_crawl = next(each for each in found["stated"] if each["crawl"] == "docs")
    assert {each["purpose"]: each["answer"] for each in in_crawl["verdicts"]} == dict.fromkeys(
        ("archive", "search", "ai-input", "ai-train"), "refused"
    )
    assert in_crawl["verdicts"][0]["by"] == f"archive=no (RSL {site.url('/l.xml')}: permits all for payment (crawl))"
    assert f"license={site.url('/l.xml')} (robots.txt License)" in in_crawl["statements"]


def test_a_page_whose_owner_never_stated_anything_says_so(tiptoe: Tiptoe, site: Site) -> None:
    quiet: str = site.quiet  # type: ignore[attr-defined]
    ran = tiptoe("rights", quiet)
    assert "in crawl docs its owner never stated anything: every purpose is unknown" in ran.out
    found = tiptoe("rights", quiet, "--json").json
    assert (found["silent"], found["stated"]) == (["docs"], [])


def test_a_url_that_no_crawl_has_fetched_is_judged_by_the_files_of_its_site(tiptoe: Tiptoe, site: Site) -> None:
    found = tiptoe("rights", site.url("/signed/new"), "--json").json
    (stated,) = found["stated"]
    assert stated["crawl"] is None
    assert {each["purpose"]: each["answer"] for each in stated["verdicts"]}["ai-train"] == "refused"


def test_a_host_is_summed_up_by_what_its_pages_state(tiptoe: Tiptoe, site: Site) -> None:
    found = tiptoe("rights", site.host, "--json").json
    assert found["url"] is None
    pages = {each["example"]: each["pages"] for each in found["stated"] if each["crawl"] == "docs"}
    assert pages == {site.url(path): 1 for path in ("/", "/signed", "/paid", "/open")}
    assert "1 page such as" in tiptoe("rights", site.host).out


@pytest.mark.parametrize("asked", ["nowhere.example", "https://nowhere.example/", "ftp://x/"])
def test_what_no_crawl_has_met_is_an_error_in_one_line(tiptoe: Tiptoe, site: Site, asked: str) -> None:
    ran = tiptoe("rights", asked)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)


def test_an_export_for_a_purpose_says_what_it_left_out_and_why(tiptoe: Tiptoe, site: Site, tmp_path: Path) -> None:
    to = tmp_path / "pages.jsonl"
    ran = tiptoe("export", "pages", "--crawl", "docs", "--to", str(to), "--for", "ai-train", "--columns", "url")
    assert ran.code == 0
    (row,) = [json.loads(line) for line in to.read_text().splitlines()]
    assert row["url"] == site.url("/open")
    assert row["rights"]["ai-train"] == {"answer": "allowed", "by": "ai-train=yes (Content-Signal header)"}
    assert sorted(line for line in ran.err.splitlines() if line.startswith("left out")) == [
        "left out, 1 page: refused: ai-train=no (RSL)",
        "left out, 1 page: refused: ai-train=no (robots.txt Content-Signal)",
        "left out, 2 pages: unknown: no statement",
    ]
    as_json = tiptoe("export", "pages", "--crawl", "docs", "--to", str(to), "--for", "ai-train", "--json").json
    assert sum(as_json["left_out"].values()) == 4
    both = tiptoe(
        *("export", "pages", "--crawl", "docs", "--to", str(to), "--for", "ai-train", "--or-unknown", "--json")
    ).json
    assert (both["rows"], sum(both["left_out"].values())) == (3, 2)
