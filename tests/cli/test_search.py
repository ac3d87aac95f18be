"""`tiptoe search` in a terminal, in a pipe and as JSON: what is shown, what steers nothing, and the remedies."""

from collections.abc import Iterator
from contextlib import redirect_stdout

import pytest
from sqlalchemy import Engine, text

from app.cli import out
from app.crawl.state.setup import make_sender, make_worker
from tests.cli.conftest import Terminal, Tiptoe
from tests.crawl import loop
from tests.crawl.web import Site, Web, html
from tests.steering import steering
from tests.store.rows import clean, one, sql


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def site(database_url: str, engine: Engine) -> Iterator[Site]:
    """Crawled to its end, as `docs`, which is searched, and as `plain`, which is not."""
    settings = loop.make_settings(database_url)
    sender = make_sender(settings)
    with Web() as web:
        site = web.site()
        long = "A polite crawler waits between two requests to a host. " * 8
        site.pages |= {
            "/": html("/a", text=long, title="Polite \x1b[31mcrawling"),
            "/a": html(text="Pasta \x1b]0;owned\x07 with salt\u202e."),
        }
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:0")
        loop.start(worker, site.url(), name="docs", search=True)
        loop.start(worker, site.url(), name="plain")
        loop.run(worker)
        yield site
    sender.close()


def test_what_is_found_and_where(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("search", "docs", "polite", "crawler")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith(" 1 Polite ")
    assert lines[1] == f"   {site.url()}"
    assert "polite crawler waits" in lines[2]
    assert lines[-1] == "1 page matches in docs"
    assert max(map(len, lines)) <= 80
    assert steering(ran.out) == []


def test_json_has_everything(tiptoe: Tiptoe, site: Site) -> None:
    found = tiptoe("search", "docs", "salted", "--json").json
    assert (found["crawl"], found["matches"], found["is_all"], found["waiting"]) == ("docs", 1, True, 0)
    (hit,) = found["hits"]
    assert hit["url"] == site.url("/a")
    assert [hit["passage"][start:end] for start, end in hit["marked"]] == ["salt"]


def test_a_page_that_steers_does_not(tiptoe: Tiptoe, site: Site) -> None:
    for args in ([], ["--json"]):
        ran = tiptoe("search", "docs", "pasta", *args)
        assert "salt" in ran.out
        assert steering(ran.out) == []


def test_the_words_stand_out_on_a_terminal() -> None:
    with redirect_stdout(Terminal()) as terminal:
        out.passage("a polite \x1b[31m host", [(2, 8)])
    assert terminal.getvalue() == "   a \x1b[1mpolite\x1b[0m \N{REPLACEMENT CHARACTER}[31m host\n"


def test_nothing_found_is_an_answer(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("search", "docs", "nowhere")
    assert (ran.code, ran.out) == (0, "0 pages match in docs\n")


def test_a_crawl_is_switched_on_and_off(tiptoe: Tiptoe, site: Site, engine: Engine) -> None:
    refused = tiptoe("search", "plain", "pasta")
    assert (refused.code, refused.out) == (2, "")
    remedy = "tiptoe crawl edit plain --search"
    assert refused.err == f"tiptoe: crawl plain: its pages are not indexed; run: {remedy}\n"
    assert tiptoe(*remedy.split()[1:]).code == 0
    assert tiptoe("search", "plain", "pasta", "--wait", "--json").json["matches"] == 1
    assert tiptoe("crawl", "edit", "plain", "--no-search").code == 0
    assert tiptoe("search", "plain", "pasta").code == 2


def test_it_says_what_is_not_indexed(tiptoe: Tiptoe, site: Site, engine: Engine) -> None:
    sql(engine, "INSERT INTO search_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM page_search")
    sql(engine, "DELETE FROM page_search")
    with engine.begin() as tx:
        tx.execute(text("SELECT FROM search_queue FOR UPDATE"))  # another process indexes
        ran = tiptoe("search", "docs", "pasta")
    assert ran.out == "0 pages match in docs\n"
    assert ran.err == "2 pages are not indexed yet; beat does it in time, --wait at once\n"
    assert one(engine, "SELECT count(*) FROM search_queue") == 2


# arguments → what is wrong, and what would do
# arguments, the line
BAD = [
    (["nix", "pasta"], "crawl nix: does not exist; there are: plain, docs"),
    (["docs", ""], "the words to search for: are missing; write one or more, such as: polite crawler"),
    (["docs", "--", "-pasta"], "'-pasta': only excludes; add a word that pages must have"),
    (["docs", "!!"], "'!!': has no word to search for; letters and digits make words"),
    (["docs", "pasta", "--limit", "0"], "--limit 0: is out of range; use 1 to 1,000"),
    (["docs", "pasta", "--host", "b.test"], "--host b.test: no crawl knows this host; tiptoe host list shows them"),
    (["docs"], "Missing argument 'WORDS…'; see tiptoe search --help"),
]


def test_bad_input_is_one_line_with_its_remedy(tiptoe: Tiptoe, site: Site) -> None:
    for args, said in BAD:
        ran = tiptoe("search", *args)
        assert (ran.code, ran.out, ran.err) == (2, "", f"tiptoe: {said}\n")
