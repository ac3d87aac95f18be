"""Pages are written as they come: into a folder like the site's, or as lines; each once until it is fetched again."""

import errno
import json
import os
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.admin import crawls
from app.errors import InputError
from app.features.export.follow import PageFollower, check, following
from tests.features.export.conftest import HOSTS, PAGES, Planted
from tests.store.rows import sql


def follow(planted: Planted, to: str) -> PageFollower:
    """Two looks, as a run has: one while it goes on, and the last."""
    place = str(planted.folder / to)
    check(place)
    with following(planted.engine, planted.settings, crawls.find(planted.engine, "docs"), place) as follower:
        follower.look()
        follower.look(is_last=True)
    return follower


def touch(planted: Planted, number: int) -> None:
    """A page of the first host is fetched again."""
    sql(
        planted.engine,
        "UPDATE pages SET fetched_at = clock_timestamp(), title = 'Again' WHERE crawl_id = 1 AND url = :url",
        url=f"http://h0.test/page-{number}",
    )


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_folder_is_like_the_site(planted: Planted) -> None:
    follow(planted, "site")
    files = {str(path.relative_to(planted.folder / "site")) for path in (planted.folder / "site").rglob("*.md")}
    assert files == {f"http_h{host}.test/page-{number}.md" for host in range(HOSTS) for number in range(PAGES)}
    assert not list((planted.folder / "site").rglob("*.part"))


def test_a_later_run_writes_what_is_new_into_the_folder(planted: Planted) -> None:
    follow(planted, "again")
    old = planted.folder / "again/http_h0.test/page-1.md"
    other = planted.folder / "again/http_h0.test/page-2.md"
    old.write_text("a mark"), other.write_text("a mark")
    touch(planted, 1)
    follow(planted, "again")
    assert 'title: "Again"' in old.read_text()
    assert other.read_text() == "a mark"


def test_lines_are_written_once_and_again_where_a_page_is_fetched_again(planted: Planted) -> None:
    follow(planted, "pages.jsonl")
    path = planted.folder / "pages.jsonl"
    first = rows(path)
    assert len(first) == len({row["url"] for row in first}) == HOSTS * PAGES
    assert {"text", "markdown", "title"} < first[0].keys()
    touch(planted, 3)
    follow(planted, "pages.jsonl")
    assert [row["url"] for row in rows(path)[len(first) :]] == ["http://h0.test/page-3"]


def test_a_torn_last_line_is_written_again(planted: Planted) -> None:
    follow(planted, "torn.jsonl")
    path = planted.folder / "torn.jsonl"
    whole = path.read_bytes()
    os.truncate(path, len(whole) - 7)
    follow(planted, "torn.jsonl")
    assert sorted(map(str, rows(path))) == sorted(str(json.loads(line)) for line in whole.splitlines())


@contextmanager
def full_from(octets: int) -> Iterator[None]:
    """As on a disk that is full: no file of this process grows beyond so many octets."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_no_part_of_a_line(planted: Planted) -> None:
    follow(planted, "whole.jsonl")
    lines = (planted.folder / "whole.jsonl").read_bytes()
    path = planted.folder / "full.jsonl"
    with full_from(len(lines) // 2), pytest.raises(InputError, match=r"cannot be written .*free space"):
        follow(planted, "full.jsonl")
    assert path.read_bytes()[-1:] in {b"", b"\n"}
    follow(planted, "full.jsonl")
    assert sorted(path.read_bytes().splitlines()) == sorted(lines.splitlines())


def test_a_folder_of_another_export_is_refused(planted: Planted) -> None:
    planted.export("pages", "book", form="markdown")
    with pytest.raises(InputError, match="holds another export"):
        follow(planted, "book")


# what stands in the way, within the folder
@pytest.mark.parametrize("name", ["http_h0.test", "http_h0.test/.page-0.md.part"])
def test_no_link_leads_out_of_the_folder(planted: Planted, tmp_path: Path, name: str) -> None:
    place = planted.folder / "linked"
    aside = tmp_path / "aside"
    aside.mkdir()
    crawl = crawls.find(planted.engine, "docs")
    with following(planted.engine, planted.settings, crawl, str(place)) as follower:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).symlink_to(aside / "file" if name.endswith(".part") else aside)
        with pytest.raises(InputError, match=rf"--to {re.escape(str(place))}: cannot be written"):
            follower.look()
    assert list(aside.iterdir()) == []


# place → words of the refusal
@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("s3://bucket/x/", "object store"),
        ("{folder}/full", "holds other files; name a new folder"),
        ("{folder}/pages.csv", "name a folder, or a file that ends in .jsonl"),
        ("/proc/nothing", os.strerror(errno.ENOENT)),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_starts(tmp_path: Path, to: str, words: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("mine")
    with pytest.raises(InputError, match=re.escape(words)):
        check(to.format(folder=tmp_path))


@pytest.mark.parametrize("text", ['{"name": "mine"}\n', '{"name": "mine"}', "mine", "\n", '{"url":1}'])
def test_a_file_of_other_lines_is_left_alone(planted: Planted, text: str) -> None:
    path = planted.folder / "other.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="holds other lines"):
        follow(planted, "other.jsonl")
    assert path.read_text() == text


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match="no plain file; name another"):
        check(str(tmp_path / "pipe.jsonl"))


def test_a_link_is_not_written_through(planted: Planted) -> None:
    empty = planted.folder.parent / "of-somebody.jsonl"
    empty.touch()
    link = planted.folder / "pages.jsonl"
    link.symlink_to(empty)
    with pytest.raises(InputError, match="is a link"):
        check(str(link))
    came_later = following(planted.engine, planted.settings, crawls.find(planted.engine, "docs"), str(link))
    with pytest.raises(InputError, match="cannot be opened"), came_later as follower:
        follower.look()
    assert empty.read_bytes() == b""
