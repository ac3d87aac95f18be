"""`tiptoe page get`: one page now, under robots.txt and the host's pace, kept and shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.cli.conftest import Tiptoe
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import clean, sql


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def site(tiptoe: Tiptoe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("TIPTOE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TIPTOE_DEFAULT_DELAY_S", "0.1")
    monkeypatch.setenv("TIPTOE_ADDRESS_GAP_S", "0.1")
    with Web() as web:
        site = web.site()
        site.robots = "User-agent: *\nDisallow: /private\n"
        prose = "<h1>News</h1>" + "<p>Words of a page that is long enough to be prose, one after the other.</p>" * 3
        site.pages |= {
            "/": html("/a", text=prose),
            "/a": html(),
            "/moved": Answer(status=301, headers={"Location": "/"}),
        }
        yield site


def test_one_page_is_fetched_kept_and_shown(tiptoe: Tiptoe, site: Site, engine: Engine) -> None:
    for asked in (1, 2):
        ran = tiptoe("page", "get", site.url("/"), "--text")
        assert (ran.code, ran.err.count("\n")) == (0, 1), ran.err
        assert "kept in the crawl single-pages" in ran.err
        assert "long enough to be prose" in ran.out
        assert site.pages_asked == ["/"] * asked, "the page alone, and none of its links"
    assert site.paths[0] == "/robots.txt"
    assert min(site.gaps()) >= 0.1 - 0.005
    assert tiptoe("page", "show", site.url("/"), "--crawl", "single-pages", "--headers").out.startswith("200")
    states = {row["name"]: row["state"] for row in sql(engine, "SELECT name, state FROM crawls")}
    assert states == {"single-pages": "finished"}
    assert tiptoe("page", "get", site.url("/"), "--json").json["status"] == 200
    assert tiptoe("page", "get", site.url("/"), "--markdown", "--out", "page.md").code == 0
    assert "long enough to be prose" in Path("page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/private", ("was not fetched as a page", "Disallow: /private")),
        ("/none", ("was not fetched as a page", "404")),
        ("/moved", ("is at another address", "tiptoe page get http://")),
    ],
)
def test_what_is_no_page_is_one_line(tiptoe: Tiptoe, site: Site, path: str, words: tuple[str, ...]) -> None:
    ran = tiptoe("page", "get", site.url(path), "--text")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
    for word in words:
        assert word in ran.err
    assert (path in site.pages_asked) is (path != "/private")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://10.1.2.3/", "nonsense"])
def test_what_may_not_be_contacted_makes_no_crawl(tiptoe: Tiptoe, engine: Engine, url: str) -> None:
    ran = tiptoe("page", "get", url)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert sql(engine, "SELECT name FROM crawls") == []
