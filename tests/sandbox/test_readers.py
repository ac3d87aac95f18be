"""Processes that read a document apart: what they read, how they end, and how many there are."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest

from app.model import Page
from app.parse.html import html
from app.parse.sitemap.sitemap import Entry, SitemapReading
from app.sandbox.reader import Listing, PageOptions
from app.sandbox.readers import PAGES_MOST, Death, Readers
from tests.crawl.poisoned import HTML, ROOT, children, poison, poisoned_readers, reader_pids
from tests.faults.waiting import last, until
from tests.sandbox.documents import PAGES, SITEMAPS

AMPLE_S = 60.0


Make = Callable[..., Readers]
Pids = Callable[[], set[int]]


@pytest.fixture
def make() -> Iterator[Make]:
    """make(**changes): poisoned readers; nothing is left of them."""
    made: list[Readers] = []
    others = children()  # a server of another test: once it is dead, nothing tells it from a reader

    def readers(**changes: object) -> Readers:
        made.append(poisoned_readers(**changes))
        return made[-1]

    yield readers
    for each in made:
        each.close()
    assert reader_pids() <= others, "nothing is left"


@pytest.fixture
def readers(make: Make) -> Readers:
    return make(patience=100.0)  # a busy machine must not be taken for a loop


@pytest.fixture(scope="module")
def lasting() -> Iterator[Readers]:
    """Readers for documents that harm none: a start takes as long as reading ten."""
    made = poisoned_readers(deadline_s=AMPLE_S)
    yield made
    made.close()


def options(**changes: Any) -> PageOptions:
    chosen: dict[str, Any] = {
        "content_type": HTML,
        "content_language": None,
        "token": "tiptoe",
        "max_links": 5000,
        "want_text": True,
        **changes,
    }
    return cast(PageOptions, chosen)


def read(readers: Readers, document: str | bytes, *, within_s: float = AMPLE_S, **changes: Any) -> object:
    body = document.encode() if isinstance(document, str) else document
    return readers.page(body, options(**changes), within_s=within_s)


@pytest.mark.parametrize(("document", "changes"), PAGES)
def test_a_page_is_read_as_it_is_here(lasting: Readers, document: str | bytes, changes: dict[str, Any]) -> None:
    body = document.encode() if isinstance(document, str) else document
    assert read(lasting, body, **changes) == html.read(body, **options(**changes))


@pytest.mark.parametrize("body", SITEMAPS)
def test_a_sitemap_is_read_as_it_is_here(lasting: Readers, body: bytes) -> None:
    stream = BytesIO(body)
    stream.seek(0, os.SEEK_END)
    found = lasting.sitemap(stream, within_s=AMPLE_S)
    assert isinstance(found, Listing)
    here = SitemapReading(BytesIO(body))
    values = list(here)
    assert sorted(found, key=str) == sorted(values, key=str)
    assert (found.kind, found.problem, found.entries) == (here.kind, here.problem, here.entries)


@pytest.mark.faults
def test_a_sitemap_as_long_as_they_come_is_read(make: Make) -> None:
    lines = b"".join(b"http://a.test/%05d/%s\n" % (number, b"x" * 900) for number in range(50_000))
    found = make(deadline_s=AMPLE_S).sitemap(BytesIO(lines), within_s=AMPLE_S)
    assert isinstance(found, Listing)
    assert found.entries == 50_000
    assert found.pages[-1] == Entry(loc=f"http://a.test/49999/{'x' * 900}")


# --- how they end -----------------------------------------------------------------------------------------------

# deed, what the cause begins with, only the document can have done it
DEATHS = [
    ("abort", "parser died: signal SIGABRT", True),
    ("segfault", "parser died: signal SIGSEGV", True),
    ("loop", "parser took longer than 0.5 s", True),
    ("lock", "parser took longer than 0.5 s", True),
    ("sleep", "parser gave no answer within 1.5 s", False),
    ("fill", "parser needed more than 512 MiB", True),
    ("killed", "parser died: signal SIGKILL", False),
    ("exit", "parser ended with code 3", True),
    ("raise", "parser raised KeyError: 'no database'", True),
    ("recurse", "parser raised RecursionError: ", True),
]


@pytest.mark.faults
@pytest.mark.parametrize(("deed", "cause", "is_proof"), DEATHS)
def test_a_death_has_its_cause_and_the_next_page_is_read(
    make: Make, monkeypatch: pytest.MonkeyPatch, deed: str, cause: str, is_proof: bool
) -> None:
    monkeypatch.setenv("TIPTOE_DATABASE_URL", "a password")
    changes = {
        "sleep": {"patience": 3.0},
        "fill": {"deadline_s": AMPLE_S},
    }  # where memory is slow, 512 MiB take their time
    readers = make(**changes.get(deed, {"patience": 100.0}))  # a busy machine must not be taken for a loop
    found = read(readers, poison(deed))
    assert isinstance(found, Death)
    assert found.cause.startswith(cause)
    assert found.is_proof is is_proof
    assert f"poison: {deed}" in found.said, "what it wrote to standard error"
    assert read(readers, "<p>well") == html.read(b"<p>well", **options())


def test_where_it_died_is_told(readers: Readers) -> None:
    found = read(readers, poison("segfault"))
    assert isinstance(found, Death)
    assert "Segmentation fault" in found.said
    assert "charset.py" in found.said


@pytest.mark.faults
@pytest.mark.parametrize("deed", ["abort", "sleep"])
def test_a_sitemap_can_be_poison_too(make: Make, deed: str) -> None:
    found = make(patience=3.0).sitemap(BytesIO(f"<urlset><!-- POISON:{deed} --></urlset>".encode()), within_s=AMPLE_S)
    assert isinstance(found, Death)


@pytest.mark.faults
def test_memory_that_libxml2_lacks_is_told(make: Make) -> None:
    """It says so as if the markup were at fault, and the page would be taken for an empty one."""
    found = read(make(memory_bytes=100 * 1024 * 1024, deadline_s=AMPLE_S), "<p>x" * 400_000)
    assert isinstance(found, Death)
    assert found.cause == "parser needed more than 100 MiB"


def test_a_deadline_that_the_lease_cuts_short_is_kept(make: Make) -> None:
    readers = make(deadline_s=AMPLE_S)
    read(readers, "<p>x")  # to start one may take longer than the lease lasts
    found = read(readers, poison("sleep"), within_s=1.0)
    assert isinstance(found, Death)
    assert not found.is_proof


def test_words_on_standard_output_are_no_answer(make: Make) -> None:
    page = read(make(deadline_s=AMPLE_S), poison("say"))
    assert isinstance(page, Page)
    assert page.title == "Poison"


# what it sends in place of an answer: no page; no JSON; a frame longer than the worker's memory
@pytest.mark.parametrize(
    "lie", ["""wire.send(b'{"page": 7}')""", "wire.send(b'page')", "end.sendall(bytes([127]) * 12 + b'page')"]
)
def test_one_that_lies_is_not_believed(make: Make, lie: str) -> None:
    lies = f"""
import socket, sys
sys.path.insert(0, {str(ROOT)!r})
from app.sandbox.wire import Wire
end = socket.socket(fileno=int(sys.argv[1]))
wire = Wire(end)
wire.send(b"")
wire.receive()
{lie}
wire.receive()
"""
    found = read(make(argv=(sys.executable, "-c", lies)), "<p>x")
    assert isinstance(found, Death)
    assert (found.cause, found.is_proof) == ("parser made no sense", True)


# --- how many there are -----------------------------------------------------------------------------------------


def test_none_runs_before_it_is_needed(readers: Readers, own_readers: Pids) -> None:
    assert own_readers() == set()


def test_one_reads_page_after_page_and_is_renewed(make: Make, own_readers: Pids) -> None:
    readers, seen = make(patience=100.0), []
    for _ in range(PAGES_MOST + 1):
        read(readers, "<p>x")
        seen.append(frozenset(own_readers()))
    assert all(len(pids) == 1 for pids in seen[: PAGES_MOST - 1])
    assert len(set(seen[: PAGES_MOST - 1])) == 1
    assert seen[PAGES_MOST - 1] == frozenset(), "it has read enough"
    assert seen[PAGES_MOST] != seen[0]


def test_threads_wait_for_each_other(readers: Readers, own_readers: Pids) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(read(readers, "<p>x"))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [html.read(b"<p>x", **options())] * 12
    assert 1 <= len(own_readers()) <= 2


def test_who_waits_too_long_is_told(make: Make) -> None:
    assert read(make(most=0), "<p>x", within_s=0.2) == "busy"


def test_where_starting_one_takes_all_the_time_the_next_finds_it_ready(readers: Readers, own_readers: Pids) -> None:
    assert read(readers, "<p>x", within_s=0.01) == "busy"
    started = own_readers()
    assert len(started) == 1
    assert read(readers, "<p>x") == html.read(b"<p>x", **options())
    assert own_readers() == started


@pytest.mark.parametrize("argv", [("/nonexistent/python",), ("false",), (sys.executable, "-c", "print('hello')")])
def test_where_none_can_be_started_it_is_no_documents_fault(make: Make, argv: tuple[str, ...]) -> None:
    readers = make(argv=argv)
    assert read(readers, "<p>x") == "none"
    assert readers.sitemap(BytesIO(b"<urlset/>"), within_s=AMPLE_S) == "none"


def test_a_document_that_was_read_in_time_has_no_deadline_any_more(make: Make, own_readers: Pids) -> None:
    readers = make(deadline_s=2.0, patience=1.0)
    assert isinstance(read(readers, "<p>x"), Page)
    before = own_readers()
    last(2.4)
    assert {pid for pid in own_readers() if _state(pid) != "Z"} == before


def test_one_that_ended_while_it_was_idle_is_replaced(readers: Readers, own_readers: Pids) -> None:
    read(readers, "<p>x")
    (pid,) = own_readers()
    os.kill(pid, signal.SIGKILL)
    until(lambda: _state(pid) == "Z", "it is dead")
    assert read(readers, "<p>x") == html.read(b"<p>x", **options())
    assert pid not in own_readers()


PARENT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.crawl.poisoned import poison, poisoned_readers
from tests.sandbox.test_readers import read
read(poisoned_readers(deadline_s=0.5), poison(sys.argv[1]))
"""


@pytest.mark.faults
@pytest.mark.parametrize("deed", ["sleep", "loop"])
def test_one_whose_parent_is_killed_does_not_outlive_its_deadline(tmp_path: Path, deed: str) -> None:
    mark = f"LC_MARK={tmp_path}"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, deed], env={**os.environ, **dict([mark.split("=", 1)])}, process_group=0
    )
    (reader,) = until(lambda: {pid for pid in _marked(mark) if pid != parent.pid and _is_at(pid)}, "it reads")
    os.killpg(parent.pid, signal.SIGKILL)
    parent.wait()
    until(lambda: _state(reader) in {"", "Z"}, "it is gone", 10)


def _marked(mark: str) -> set[int]:
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.add(int(entry.name))
        except OSError:
            continue  # it ended while we looked
    return found


def _is_at(pid: int) -> bool:
    """It is at its document, and has said so."""
    try:
        return b"poison:" in Path(f"/proc/{pid}/fd/2").read_bytes()
    except OSError:
        return False


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
