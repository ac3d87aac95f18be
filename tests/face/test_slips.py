"""A slip in a call of `tiptoe` is told in one line with what was meant."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

import tiptoe
from app.features.extract import handlers
from tests.store.rows import clean, make_crawl, make_host, sql
from tiptoe import _session

ITEM = """
    INSERT INTO items (host_id, crawl_id, key, handler, n, url, capture_id, version, stale, item)
    VALUES (:host, :crawl, sha256('a'), 'titles', 0, 'http://a.test/', 1, 1, false, '{}')"""


@pytest.fixture
def engine(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIPTOE_DATABASE_URL", database_url)
    with clean(database_url) as engine:
        sql(engine, ITEM, host=make_host(engine, "a.test"), crawl=make_crawl(engine, "pydoc"))
        make_crawl(engine, "other")
        yield engine


# call, a keyword of it → what the error ends with
@pytest.mark.parametrize(
    ("call", "keyword", "says"),
    [
        (tiptoe.crawl, "serach", "tiptoe.crawl() got an unexpected keyword argument 'serach'; did you mean search?"),
        (tiptoe.crawl, "nmae", "tiptoe.crawl() got an unexpected keyword argument 'nmae'; did you mean name?"),
        (tiptoe.crawl, "xyzzy", "'xyzzy'; it takes name, again, contact, delay, allow_networks, home, scope"),
        (tiptoe.export, "fromat", "tiptoe.export() got an unexpected keyword argument 'fromat'; did you mean format?"),
    ],
)
def test_a_keyword_that_there_is_not(call: Callable[..., Any], keyword: str, says: str) -> None:
    required = {"crawl": "docs", "to": "x"} if call is tiptoe.export else {}
    with pytest.raises(TypeError) as caught:
        call("pages", **required, **{keyword: True})
    assert says in str(caught.value)


def test_a_handler_that_there_is_not(engine: Engine) -> None:
    assert [found.url for found in tiptoe.items("pydoc", handler="titles")] == ["http://a.test/"]
    assert list(tiptoe.items("other", handler="titles")) == [], "it had no page of this crawl"
    with pytest.raises(tiptoe.InputError) as caught:
        list(tiptoe.items("pydoc", handler="titels"))
    assert str(caught.value) == "handler 'titels': does not exist; there are: titles"


def test_a_handler_that_the_script_declares_has_no_items_yet(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "_registered", [])
    tiptoe.handler(name="mine")(lambda page: None)
    assert list(tiptoe.items("pydoc", handler="mine")) == []


def test_a_profile_that_there_is_not(engine: Engine) -> None:
    with pytest.raises(tiptoe.InputError, match="profile dcos: use one of: general, docs"):
        tiptoe.crawl("http://127.0.0.1/", contact="you@example.org", allow_networks=["127.0.0.0/8"], profile="dcos")


def crawl(**given: object) -> object:
    return tiptoe.crawl("http://127.0.0.1/", **{"allow_networks": ["127.0.0.0/8"], **given})  # type: ignore[arg-type]


def export(**given: object) -> object:
    return tiptoe.export("pages", crawl="pydoc", to="x.csv", **given)  # type: ignore[arg-type]


def the_pages(**given: object) -> object:
    return list(tiptoe.pages("pydoc", **given))  # type: ignore[arg-type]


def the_items(**given: object) -> object:
    return list(tiptoe.items("pydoc", **given))  # type: ignore[arg-type]


def seeds(seeds: str) -> object:
    return tiptoe.add_seeds("pydoc", seeds)


@pytest.mark.parametrize(
    ("call", "keyword", "text"),
    [
        (crawl, "include", "/docs/"),
        (crawl, "exclude", "/blog/"),
        (crawl, "handlers", "books"),
        (crawl, "allow_networks", "127.0.0.0/8"),
        (export, "columns", "url"),
        (export, "where", "status=200"),
        (seeds, "seeds", "http://127.0.0.1/"),
    ],
)
def test_a_text_where_a_list_is_read(engine: Engine, call: Callable[..., object], keyword: str, text: str) -> None:
    """It would be read letter by letter: include="/docs/" takes in every URL with a slash."""
    with pytest.raises(tiptoe.InputError) as caught:
        call(**{keyword: text})
    assert str(caught.value) == f"{keyword}='{text}': is one text where a list is read; write ['{text}']"


@pytest.mark.parametrize("call", [export, the_pages, the_items])
def test_a_time_that_is_none(engine: Engine, call: Callable[..., object]) -> None:
    with pytest.raises(tiptoe.InputError, match="since='7d': is no datetime; write"):
        call(since="7d")


def test_a_time_without_a_zone_is_utc() -> None:
    assert _session.moment(datetime(2026, 11, 25, 12)) == datetime(2026, 11, 25, 12, tzinfo=UTC)


def test_the_docs_name_every_keyword() -> None:
    from app.model.crawl import CrawlOptions
    from tests.acceptance.pages import ROOT
    from tests.catalogue_tables import options
    from tiptoe._crawl import crawl

    said = (ROOT / "docs/python.md").read_text().partition("## Crawl\n")[2].partition("It returns")[0] + options()
    assert [
        each for each in (*(crawl.__kwdefaults__ or ()), *CrawlOptions.__annotations__) if f"`{each}`" not in said
    ] == []
