import json
import tracemalloc
from pathlib import Path

import pytest
import surt
from cdxj_indexer.main import CDXJIndexer

from app.features.archive import record, recording, segment
from app.features.archive.record import IndexEntry
from tests.features.archive import answers
from tests.features.archive.answers import BEGUN


@pytest.mark.parametrize(
    "url",
    [
        "http://www.Example.org/",
        "http://example.org",
        "https://example.org:8443/A/B/?b=1&a=2&a=1",
        "http://127.0.0.1:8000/x/",
        "http://www2.example.co.uk/a?",
        "http://a.test/c?x=y&&z",
        "http://a.test/?jsessionid=0123456789abcdef0123456789abcdef&x=1",
        "http://a.test/c;jsessionid=0123456789abcdef0123456789abcdef",
        "http://a.test/%7Efoo/%41?q=%20",
        "http://a.test/a//b/",
        "http://xn--bcher-kva.example/x",
        "http://a.test?x=1",
        "http://a.test/c%c3%a9",
        "http://a.test/%2525",
        "http://a.test/?x=%26",
        "http://www.com/",
        "http://a.test:80/",
    ],
)
def test_the_key_is_the_one_that_pywb_looks_up(url: str) -> None:
    assert record.key(url) == surt.surt(url)


def test_a_line_says_what_an_indexer_finds(tmp_path: Path) -> None:
    answer = answers.recording(crawl_id=1, url="http://site.test/a?b=1")
    digest = record.digest(answer.payload)
    member = recording.response(answer, record.new_id(), digest)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(member)
    CDXJIndexer(str(tmp_path / "theirs"), [str(path)]).process_all()
    ours = record.line(
        IndexEntry(
            url=answer.url,
            moment=BEGUN,
            mime="text/html",
            status=200,
            digest=record.labelled(digest),
            length=len(member),
            offset=0,
            name="a.warc.gz",
        )
    )
    assert split(ours) == split((tmp_path / "theirs").read_bytes())


def split(line: bytes) -> tuple[bytes, bytes, object]:
    key, stamp, rest = line.split(b" ", 2)
    return key, stamp, json.loads(rest)


def test_a_finished_index_is_in_the_order_of_its_keys_each_line_once(tmp_path: Path) -> None:
    lines = [b"test,b)/ 2026 {}\n", b"test,a)/ 2027 {}\n", b"test,a)/ 2026 {}\n", b"test,b)/ 2026 {}\n", b"test,a)/ 20"]
    assert finished(tmp_path, lines) == b"test,a)/ 2026 {}\ntest,a)/ 2027 {}\ntest,b)/ 2026 {}\n"


def test_an_index_of_any_length_is_sorted_in_little_memory(tmp_path: Path) -> None:
    """Of 30,000 lines, 10 MB: their order is that of runs, merged."""
    lines = [b"test,%05d)/ 2026 {%s}\n" % (n * 7_919 % 30_000, bytes(300)) for n in range(30_000)]
    tracemalloc.start()
    found = finished(tmp_path, lines)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == b"".join(sorted(lines))
    assert peak - len(found) < 10_000_000


def test_what_cannot_be_sorted_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a.cdxj").mkdir()
    with pytest.raises(IsADirectoryError):
        finished(tmp_path, [b"test,a)/ 2026 {}\n"])
    assert (tmp_path / "a.cdxj.open").read_bytes() == b"test,a)/ 2026 {}\n"
    assert (tmp_path / "a.warc.gz.open").exists()


def finished(folder: Path, lines: list[bytes]) -> bytes:
    """The index of a segment with these lines, once it is final."""
    path = folder / "a.warc.gz.open"
    path.touch()
    with open(segment.index_of(path), "wb") as file:
        file.writelines(lines)
    segment.finish(path)
    assert {each.name for each in folder.iterdir()} == {"a.warc.gz", "a.cdxj"}
    return (folder / "a.cdxj").read_bytes()
