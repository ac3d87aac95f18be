"""How a crawl is told to honour opt-outs and which sitemaps to read, and how commands show what pages say."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from app.crawl.state.setup import make_sender, make_worker
from tests.cli.conftest import Tiptoe
from tests.crawl import loop
from tests.crawl.web import Site, Web, html
from tests.store.rows import clean, sql

SITE_OPTED_OUT = "kept out of pages: its site opts out of text and data mining"
SEED = "http://a.test/"


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def site(database_url: str, engine: Engine) -> Iterator[Site]:
    """Crawled to its end, as `docs`, by who honours opt-outs; and as `other`."""
    settings = loop.make_settings(database_url)
    sender = make_sender(settings)
    with Web() as web:
        site = web.site()
        site.robots = "User-agent: *\nContent-Usage: /opted train-ai=n\nAllow: /\n"
        site.pages |= {
            "/": html("/opted", "/said", "/a"),
            "/opted": html(text="x"),
            "/said": html("/b", headers={"X-Robots-Tag": "noarchive, nofollow"}),
            "/a": html(headers={"X-Robots-Tag": "noindex"}),
        }
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:0")
        loop.start(worker, site.url(), name="docs", honour_opt_outs=True)
        loop.start(worker, site.url(), name="other")
        loop.run(worker)
        yield site
    sender.close()


def manners(engine: Engine) -> list[tuple[str, bool]]:
    return [tuple(row.values()) for row in sql(engine, "SELECT sitemaps, honour_opt_outs FROM crawls ORDER BY id")]


# options of the first command, of the second → what the crawl does after each
@pytest.mark.parametrize(
    ("first", "then", "made", "left"),
    [
        ([], [], ("all", False), ("all", False)),
        (["--honour-opt-outs"], [], ("all", True), ("all", True)),  # a promise does not end by an option left out
        (["--honour-opt-outs"], ["--no-honour-opt-outs"], ("all", True), ("all", False)),
        ([], ["--honour-opt-outs", "--sitemaps", "none"], ("all", False), ("none", True)),
        (["--sitemaps", "declared"], [], ("declared", False), ("declared", False)),
        (["--sitemaps", "declared"], ["--sitemaps", "all"], ("declared", False), ("all", False)),
    ],
)
def test_what_is_given_holds_from_here_on_and_the_rest_stays(
    tiptoe: Tiptoe, engine: Engine, first: list[str], then: list[str], made: tuple[str, bool], left: tuple[str, bool]
) -> None:
    assert tiptoe("seed", "add", "docs", SEED, *first).code == 0
    assert manners(engine) == [made]
    assert tiptoe("seed", "import", "docs", "-", *then, stdin=SEED).code == 0
    assert manners(engine) == [left]


@pytest.mark.parametrize(
    "args",
    [
        ("crawl", SEED, "--sitemaps", "some"),
        ("seed", "add", "docs", SEED, "--sitemaps", "some"),
        ("seed", "import", "docs", "-", "--sitemaps", "some"),
    ],
)
@pytest.mark.parametrize("exists", [False, True])
def test_what_is_no_choice_is_one_line(tiptoe: Tiptoe, engine: Engine, args: tuple[str, ...], exists: bool) -> None:
    if exists:
        tiptoe("seed", "add", "docs", SEED)
    before = manners(engine)
    ran = tiptoe(*args, stdin=SEED)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tiptoe: sitemaps 'some': use one of: none, declared, all\n"
    assert manners(engine) == before


def test_list_and_report_show_them(tiptoe: Tiptoe) -> None:
    tiptoe("seed", "add", "docs", SEED, "--honour-opt-outs", "--sitemaps", "declared")
    (row,) = tiptoe("crawl", "list", "--json").json
    assert (row["honour_opt_outs"], row["sitemaps"]) == (True, "declared")
    document = tiptoe("crawl", "report", "docs", "--json").json
    assert (document["crawl"]["honour_opt_outs"], document["crawl"]["sitemaps"]) == (True, "declared")
    said = [line.split() for line in tiptoe("crawl", "report", "docs").out.splitlines()]
    assert ["sitemaps", "declared"] in said
    assert ["honour", "opt", "outs", "true"] in said


def facts(said: str, crawl: str) -> dict[str, str]:
    """{name: value} of what `url why` says of a crawl."""
    _, _, rest = said.partition(f"in crawl {crawl} ")
    lines = [line.strip().split("  ", 1) for line in rest.splitlines()[1:] if line.startswith("  ")]
    return {line[0]: line[1].strip() for line in lines if len(line) == 2}


def test_url_why_tells_what_a_page_says_and_what_came_of_it(tiptoe: Tiptoe, site: Site) -> None:
    said = tiptoe("url", "why", site.url("/said"))
    assert facts(said.out, "docs")["directives"] == "noarchive, nofollow"
    assert "nofollow: its links are not followed" in said.out
    assert "noarchive: its text is not kept" in said.out
    noindex = facts(tiptoe("url", "why", site.url("/a")).out, "docs")
    assert (noindex["directives"], noindex["cause"]) == ("noindex", "kept out of pages: noindex")


def test_url_why_tells_opt_outs_and_what_each_crawl_makes_of_them(tiptoe: Tiptoe, site: Site) -> None:
    said = tiptoe("url", "why", site.url("/opted")).out
    docs, other = said.split("in crawl other")
    record = "train-ai=n (robots.txt Content-Usage)"
    assert record in docs
    assert SITE_OPTED_OUT in docs
    assert record in other
    assert "kept out" not in other
    assert "opt-out: recorded only, the crawl does not honour them" in other
    assert other.count(record) == 2, "of the page, and of robots.txt"
    document = tiptoe("url", "why", site.url("/opted"), "--json").json
    assert [row["url"]["opt_out"] for row in document["crawls"]] == [record, record]
    assert [row["effects"] for row in document["crawls"]] == [
        [],
        ["opt-out: recorded only, the crawl does not honour them"],
    ]
    assert document["robots"]["opt_out"] == record


def test_the_report_counts_what_was_not_kept(tiptoe: Tiptoe, site: Site) -> None:
    causes = {row["cause"]: row["urls"] for row in tiptoe("crawl", "report", "docs", "--json").json["causes"]}
    assert causes == {"kept out of pages: noindex": 1, SITE_OPTED_OUT: 1}
    assert "resting  1     kept out of pages: noindex" in tiptoe("crawl", "report", "docs").out


def test_robots_check_and_host_show_tell_them_for_a_url(tiptoe: Tiptoe, site: Site) -> None:
    record = "train-ai=n (robots.txt Content-Usage)"
    assert record in tiptoe("robots", "check", site.url("/opted")).out
    assert record not in tiptoe("robots", "check", site.url()).out
    assert tiptoe("host", "show", site.url("/opted"), "--json").json["robots"][0]["opt_out"] == record
    assert record in tiptoe("host", "show", site.url("/opted")).out
    assert record not in tiptoe("host", "show", site.host).out.partition("latest visits")[0]
