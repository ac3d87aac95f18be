"""Seeds from files and standard input: good lines are kept, bad ones told by number, the first twenty in full."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.cli.conftest import Tiptoe
from tests.store.rows import clean, sql


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


def urls(engine: Engine) -> list[str]:
    return [row["url"] for row in sql(engine, "SELECT url FROM urls ORDER BY url")]


# file → URLs
@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"http://a.test/1\nhttp://a.test/2\n", ["http://a.test/1", "http://a.test/2"]),
        (b"\xef\xbb\xbfhttp://a.test/1\r\n\r\n# comment\r\nhttp://a.test/2", ["http://a.test/1", "http://a.test/2"]),
        (b'"http://a.test/1","x, y"\nhttp://a.test/2,"z"\n', ["http://a.test/1", "http://a.test/2"]),
        (b"http://a.test/1\tx\n", ["http://a.test/1"]),
        ("http://a.test/\xe4\nhttp://a.test/2\n".encode("latin-1"), ["http://a.test/%EF%BF%BD", "http://a.test/2"]),
        (b"http://a.test/1\nhttp://a.test/1#x\n", ["http://a.test/1"]),
    ],
)
def test_files(tiptoe: Tiptoe, tmp_path: Path, engine: Engine, content: bytes, found: list[str]) -> None:
    (tmp_path / "seeds").write_bytes(content)
    assert tiptoe("seed", "import", "docs", "seeds").code == 0
    assert urls(engine) == found


def test_standard_input(tiptoe: Tiptoe, engine: Engine) -> None:
    assert tiptoe("seed", "import", "docs", "-", stdin="http://a.test/1\n").code == 0
    assert urls(engine) == ["http://a.test/1"]


def test_bad_lines_are_told_by_number_the_first_twenty(tiptoe: Tiptoe, engine: Engine) -> None:
    lines = [f"bad{number}" if number % 2 else f"http://a.test/{number}" for number in range(1, 61)]
    ran = tiptoe("seed", "import", "docs", "-", stdin="\n".join(lines))
    told = ran.err.splitlines()
    assert ran.code == 0
    assert told[0] == "tiptoe: line 1: 'bad1': not a URL; write it in full, as https://example.org/"
    assert told[19].startswith("tiptoe: line 39: 'bad39'")
    assert told[20:] == ["tiptoe: … and 10 further bad lines"]
    assert ran.out == "docs: 30 seeds added, 0 known already, 30 bad lines\n"
    assert len(urls(engine)) == 30


def test_no_line_that_is_a_seed_makes_no_crawl(tiptoe: Tiptoe, tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n")
    ran = tiptoe("seed", "import", "new", "empty.txt")
    assert ran.code == 2
    assert "empty.txt: contains no valid seed; write one URL per line" in ran.err
    assert tiptoe("seed", "add", "other", "nonsense").code == 2
    assert sql(engine, "SELECT name FROM crawls") == []
    assert tiptoe("seed", "import", "new", "-", "--scope", "prefix", stdin="http://a.test/\n").code == 0
    assert [row["scope"] for row in sql(engine, "SELECT scope FROM crawls")] == ["prefix"]


def test_nothing_good_exits_2(tiptoe: Tiptoe) -> None:
    ran = tiptoe("seed", "import", "docs", "-", "--json", stdin="bad\n")
    assert ran.code == 2
    assert ran.json == {"crawl": "docs", "added": 0, "known": 0, "bad": 1}


@pytest.mark.parametrize(("name", "why"), [("nowhere", "no such file or directory"), (".", "is a directory")])
def test_a_file_that_cannot_be_read(tiptoe: Tiptoe, engine: Engine, name: str, why: str) -> None:
    ran = tiptoe("seed", "import", "docs", name)
    assert ran.code == 2
    assert ran.err == f"tiptoe: seed file '{name}': {why}; name a readable file, or - for standard input\n"
    assert sql(engine, "SELECT FROM crawls") == []


def test_a_finished_crawl_becomes_active(tiptoe: Tiptoe, engine: Engine) -> None:
    tiptoe("seed", "import", "docs", "-", stdin="http://a.test/1\n")
    tiptoe("crawl", "finish", "docs")
    tiptoe("seed", "import", "docs", "-", stdin="http://a.test/1\n")
    assert sql(engine, "SELECT state FROM crawls") == [{"state": "finished"}]
    tiptoe("seed", "import", "docs", "-", stdin="http://a.test/2\n")
    assert sql(engine, "SELECT state FROM crawls") == [{"state": "active"}]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "utf-8"])
@pytest.mark.parametrize("stdin", [False, True])
def test_a_file_is_read_by_its_byte_order_mark(
    tiptoe: Tiptoe, engine: Engine, tmp_path: Path, encoding: str, stdin: bool
) -> None:
    """As Windows' Notepad and Excel ("Unicode text") write them; bytes that are none spoil their line alone."""
    text = "url\r\nhttp://a.test/b\u00fccher\r\n\r\nhttp://a.test/2\r\n"
    octets = ("\ufeff" if encoding.endswith("be") else "").encode(encoding) + text.encode(encoding)
    (tmp_path / "seeds.csv").write_bytes(octets)
    given = {"stdin": octets} if stdin else {}
    ran = tiptoe("seed", "import", "docs", "-" if stdin else str(tmp_path / "seeds.csv"), "--json", **given)
    assert ran.json == {"crawl": "docs", "added": 2, "known": 0, "bad": 0}, ran.err
    found = {row["url"] for row in sql(engine, "SELECT url FROM urls WHERE kind = 'page'")}
    assert found == {"http://a.test/b%C3%BCcher", "http://a.test/2"}


# a file that carries no mark, or several
MARKED_ODDLY = [
    "http://a.test/1\r\nhttp://a.test/2\r\n".encode("utf-16-le"),
    "http://a.test/1\nhttp://a.test/2\n".encode("utf-16-be"),
    b"\xef\xbb\xbfhttp://a.test/1\n\xef\xbb\xbfhttp://a.test/2\n",  # of two files, one behind the other
]


@pytest.mark.parametrize("octets", MARKED_ODDLY)
@pytest.mark.parametrize("stdin", [False, True])
def test_a_file_without_a_mark_or_with_two(tiptoe: Tiptoe, tmp_path: Path, octets: bytes, stdin: bool) -> None:
    (tmp_path / "seeds.txt").write_bytes(octets)
    given = {"stdin": octets} if stdin else {}
    ran = tiptoe("seed", "import", "docs", "-" if stdin else str(tmp_path / "seeds.txt"), "--json", **given)
    assert ran.json == {"crawl": "docs", "added": 2, "known": 0, "bad": 0}, ran.err
