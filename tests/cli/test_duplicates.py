"""`tiptoe crawl duplicates` and `tiptoe host parameters`: tables, documents for scripts, one line for a mistake."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from app.crawl.state.setup import make_sender, make_worker
from app.features.near.find import find_near
from app.policy.focus.parameters import ENOUGH
from tests.cli.conftest import Tiptoe
from tests.crawl import loop
from tests.crawl.web import Site, Web, html
from tests.store.rows import clean

PROSE = " ".join(f"word{n}" for n in range(200))


@pytest.fixture
def crawled(database_url: str) -> Iterator[tuple[Engine, Site]]:
    """The crawl `c`: two pages that are nearly the same, and pages with and without `ref`."""
    settings = loop.make_settings(database_url)
    sender = make_sender(settings)
    with clean(database_url) as engine, Web() as web:
        site = web.site()
        paths = [f"/{n}" for n in range(ENOUGH)]
        site.pages["/"] = html("/a", "/b", *paths, *[f"{path}?ref=x" for path in paths], text="The front.")
        for path in paths:
            site.pages[path] = site.pages[f"{path}?ref=x"] = html(text=f"Page {path} of these.")
        site.pages["/a"] = html(text=f"{PROSE} read 17 times")
        site.pages["/b"] = html(text=f"{PROSE} read 918 times")
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:1")
        loop.start(worker, site.url())
        loop.run(worker)
        yield engine, site
    sender.close()


def test_duplicates_are_listed(tiptoe: Tiptoe, crawled: tuple[Engine, Site]) -> None:
    engine, site = crawled
    assert f"{ENOUGH + ENOUGH + 3} pages still to be compared" in tiptoe("crawl", "duplicates", "c").out
    find_near(engine)
    said = tiptoe("crawl", "duplicates", "c", "--kind", "near").out
    assert "still to be compared" not in said
    assert {site.url("/a"), site.url("/b")} <= set(said.split())
    (row,) = tiptoe("crawl", "duplicates", "c", "--kind", "near", "--json").json["rows"]
    assert (row["kind"], row["bits"] <= 5) == ("near", True)
    assert len(tiptoe("crawl", "duplicates", "c", "--json").json["rows"]) == ENOUGH + 1
    assert tiptoe("crawl", "duplicates", "c", "--kind", "review").out == "c: no duplicate of kind review\n"
    assert "nearly the same" in tiptoe("crawl", "report", "c").out
    assert "nearly the same: " in tiptoe("url", "why", row["url"]).out


def test_parameters_are_suggested_dropped_and_kept(tiptoe: Tiptoe, crawled: tuple[Engine, Site]) -> None:
    _, site = crawled
    assert "changes nothing: --drop ref" in tiptoe("host", "parameters", site.host).out
    said = tiptoe("host", "parameters", site.host, "--drop", "ref").out
    assert f"{site.host}: ref dropped: {ENOUGH} URLs folded into others" in said
    assert tiptoe("host", "parameters", site.host, "--json").json["dropped"] == ["ref"]
    assert tiptoe("host", "parameters", site.host, "--keep", "ref", "--json").json["dropped"] == []


# the command line → how the complaint begins
@pytest.mark.parametrize(
    ("asked", "begins"),
    [
        (["crawl", "duplicates", "none"], "tiptoe: crawl none: does not exist"),
        (
            ["crawl", "duplicates", "c", "--kind", "alike"],
            "tiptoe: --kind alike: is not a kind of duplicate; choose",
        ),
        (["host", "parameters", "nobody.test"], "tiptoe: "),
        (["host", "parameters", "HOST", "--drop", "x"], "tiptoe: parameter x: is not known to change nothing"),
        (["host", "parameters", "HOST", "--keep", "x"], "tiptoe: parameter x: is not dropped at"),
        (["host", "parameters", "HOST", "--keep", "x", "--drop", "y"], "tiptoe: --drop and --keep: exclude each other"),
    ],
)
def test_a_mistake_is_one_line(tiptoe: Tiptoe, crawled: tuple[Engine, Site], asked: list[str], begins: str) -> None:
    ran = tiptoe(*[crawled[1].host if word == "HOST" else word for word in asked])
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(begins)
