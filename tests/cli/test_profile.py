"""`tiptoe profile`, and a crawl's profile from the command line to its row."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.cli.conftest import Tiptoe
from tests.store.rows import clean, one

MINE = 'name = "mine"\n[[paths]]\nsegments = ["x"]\nlane = 2\nweight = 0.9\nevery = "1d"\n'


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


def test_try_shows_what_a_url_would_get_and_why(tiptoe: Tiptoe, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    ran = tiptoe("profile", "try", "http://h/x/1", "http://h" + "/a" * 9, "--profile", "mine.toml", "--json")
    one_, other = ran.json
    assert (one_["lane"], one_["branch"], one_["shape"], one_["refused"]) == (2, "x", "/x/#", None)
    assert one_["score"] == pytest.approx(0.9 - one_["parts"]["trap"])
    assert one_["first_s"] == pytest.approx(86_400, rel=0.01)
    assert (other["branch"], other["refused"]) == ("any other", "repeats")
    said = tiptoe("profile", "try", "http://h/x/1", "--profile", "mine.toml").out
    assert "p2, 0.87" in said
    assert "base 0.90 - trap 0.03" in said


def test_shipped_profiles_are_listed_and_shown(tiptoe: Tiptoe, tmp_path: Path) -> None:
    names = [row["name"] for row in tiptoe("profile", "list", "--json").json]
    assert names == ["general", "docs", "news", "shop", "forum"]
    assert max(map(len, tiptoe("profile", "list").out.splitlines())) <= 80
    (tmp_path / "mine.toml").write_text(tiptoe("profile", "show", "docs").out)
    assert tiptoe("profile", "try", "http://h/docs/x", "--profile", "mine.toml").code == 0


# arguments → the error in one line
@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["profile", "show", "x"], "tiptoe: profile x: use one of: general, docs, news, shop, forum"),
        (["profile", "try", "mailto:x"], "tiptoe: URL 'mailto:x': cannot be crawled; write it in full"),
        (["profile", "try", "http://h/", "--profile", "no.toml"], "tiptoe: profile no.toml: use one of: general"),
        (
            ["profile", "try", "http://h/", "--profile", "bad.toml"],
            "tiptoe: bad.toml: [rest]: weight = 7: use a number",
        ),
        (["profile", "try", "http://h/", "--profile", "latin.toml"], "tiptoe: latin.toml: cannot be read as UTF-8"),
        (["seed", "add", "c", "http://h/", "--profile", "bad.toml"], "tiptoe: bad.toml: [rest]: weight = 7"),
        (["host", "patterns", "nobody.test"], "tiptoe: "),
        (["crawl", "top", "none"], "tiptoe: "),
        (["crawl", "freshness", "none"], "tiptoe: "),
    ],
)
def test_what_cannot_work_is_one_line(tiptoe: Tiptoe, tmp_path: Path, args: list[str], error: str) -> None:
    (tmp_path / "bad.toml").write_text("[rest]\nweight = 7\n")
    (tmp_path / "latin.toml").write_bytes(b"name = 'caf\xe9'\n")
    ran = tiptoe(*args)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith(error)


def test_a_crawls_profile_reaches_its_row_and_changes(tiptoe: Tiptoe, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "bad.toml").write_text("[rest]\nweight = 7\n")
    assert tiptoe("seed", "add", "c", "http://h.test/", "--profile", "docs").code == 0
    assert one(engine, "SELECT profile FROM crawls") == "docs"
    assert "mine (its own)" in tiptoe("crawl", "edit", "c", "--profile", "mine.toml").out
    assert one(engine, "SELECT profile FROM crawls") == MINE
    assert tiptoe("crawl", "edit", "c", "--profile", "bad.toml").code == 2
    assert one(engine, "SELECT profile FROM crawls") == MINE


def test_top_and_freshness_of_a_crawl(tiptoe: Tiptoe) -> None:
    tiptoe("seed", "add", "c", "http://h.test/a", "http://h.test/b")
    rows = tiptoe("crawl", "top", "c", "--json").json
    assert [(row["url"], row["lane"], row["parts"][0]) for row in rows] == [
        ("http://h.test/a", 0, 1.0),
        ("http://h.test/b", 0, 1.0),
    ]
    assert "base 1.00" in tiptoe("crawl", "top", "c", "--limit", "1").out
    assert tiptoe("crawl", "freshness", "c", "--json").json["pages"] == 0
    assert "pages by how often they change" in tiptoe("crawl", "freshness", "c").out
    assert "no page of this host was fetched yet" in tiptoe("host", "patterns", "h.test").out
