"""Handlers in their process: what they yield, and that whatever they do to it costs no more than it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import InputError
from app.features.extract import process
from app.features.extract.process import Handled, HandlerProcess, PageForHandler
from tests.faults.waiting import until
from tests.features.extract.conftest import MEMORY_BYTES, page
from tests.steering import steering

Start = Callable[..., HandlerProcess]
DEADLINE_S = 30.0


def handle(
    started: HandlerProcess, name: str = "books", *, body: bytes = b"<title>A book</title>", s: float = DEADLINE_S
) -> Handled:
    return started.handle(page(body), name, deadline_s=s, before=lambda _: None)


def test_items_and_links_of_a_page(start: Start) -> None:
    started = start("""
        @handler(match=r"/books/", version=3, deadline_s=90)
        def books(page):
            yield {"title": page.title, "heads": page.css("h1::text").getall(), "crawl": page.crawl}
            yield follow("/next", lane=0, score=2)
    """)
    spec = started.specs["books"]
    assert (spec.version, spec.match, spec.fits("http://a.test/books/1"), spec.fits("http://a.test/")) == (
        3,
        ("/books/",),
        True,
        False,
    )
    assert spec.deadline_s == 90
    found = handle(started, body=b"<title>A book</title><h1>One</h1><h1>Two</h1>")
    assert found.items == [{"title": "A book", "heads": ["One", "Two"], "crawl": "shop"}]
    assert found.follows == [{"url": "/next", "lane": 0, "score": 2.0}]
    assert (found.failed, found.cause) == (None, None)


# what the handler does, kind of its failure, words of the cause, words of the traceback
ENDINGS = [
    ("raise ValueError('no price\\nhere')", "raised", "raised ValueError: no price here (books.py:5)", "no price"),
    ("1 / 0", "raised", "raised ZeroDivisionError: division by zero (books.py:5)", "ZeroDivisionError"),
    ("import sys; sys.exit(3)", "raised", "raised SystemExit: 3", "books.py"),
    ("raise KeyboardInterrupt", "raised", "raised KeyboardInterrupt: (books.py:5)", "books.py"),
    ("import asyncio; raise asyncio.CancelledError", "raised", "raised CancelledError: (books.py:5)", "books.py"),
    ("import os; os._exit(3)", "exit", "ended its process with code 3", ""),
    ("print('at', page.url); import os; os._exit(3)", "exit", "ended its process with code 3", "at http://a.test"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "exit", "died of SIGSEGV", "books.py"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", "was killed by SIGKILL", ""),
    ("while True: pass", "deadline", "took longer than 0.5 s", "books.py"),
    ("import time; time.sleep(60)", "deadline", "took longer than 0.5 s", "books.py"),
    ("import signal as s, time; s.signal(14, s.SIG_IGN); time.sleep(60)", "deadline", "took longer than 0.5 s", ""),
    ("b'x' * (3 << 30)", "memory", "needed more than 512 MiB (books.py:5)", "MemoryError"),
    ("raise ValueError('no \\ud800price')", "raised", "raised ValueError: no \ufffdprice (books.py:5)", "\ufffdprice"),
    ("yield 7", "misfit", "yielded 7 (int); yield dicts, dataclasses", ""),
    ("yield {'a': b'x'}", "misfit", "'a' is b'x', a bytes", ""),
    ("yield {1: 2}", "misfit", "JSON cannot hold", ""),
    ("yield from ({} for _ in range(10_001))", "misfit", "more than 10,000 items", ""),
]  # fmt: skip


@pytest.mark.parametrize(("act", "kind", "cause", "place"), ENDINGS, ids=[row[0][:40] for row in ENDINGS])
def test_how_a_handler_can_end(start: Start, act: str, kind: str, cause: str, place: str) -> None:
    started = start(f"""
        @handler()
        def books(page):
            {act}
            yield {{"title": page.title}}
        @handler()
        def others(page):
            yield {{"url": page.url}}
    """)
    started.child.margin_s = 1.0 if "SIG_IGN" in act else DEADLINE_S  # it does not heed its own end
    found = handle(started, s=0.5 if kind == "deadline" else DEADLINE_S)
    assert (found.failed, found.items) == (kind, ())
    assert found.cause is not None
    assert cause in found.cause
    assert "\n" not in found.cause
    assert place in (found.traceback or "")
    goes_on = kind in ("raised", "misfit")
    assert started.is_usable == goes_on
    if goes_on:
        assert handle(started, "others").items == [{"url": "http://a.test/books/1"}]


def test_what_is_no_text_costs_its_characters_alone(start: Start) -> None:
    """Half of a surrogate pair: in a value that JSON-LD escapes, in a link, and in the page's own words."""
    started = start("""
        import json
        @handler()
        def books(page):
            found = json.loads(page.css("script::text").get())
            yield {"name": found["name"], found["name"]: 1}
            yield follow("/next?" + found["name"])
    """)
    found = handle(started, body=b'<script type=\'application/ld+json\'>{"name": "A\\ud83d book"}</script>')
    assert (found.failed, found.items) == (None, [{"name": "A\ufffd book", "A\ufffd book": 1}])
    assert [each["url"] for each in found.follows] == ["/next?A\ufffd book"]
    assert started.is_usable


def test_what_a_handler_prints_is_no_answer(start: Start) -> None:
    started = start("""
        import sys
        @handler()
        def books(page):
            print("looking at", page.url)
            print("oh", file=sys.stderr)
            yield {}
    """)
    assert [handle(started).items for _ in range(3)] == [[{}]] * 3


def test_what_was_printed_over_another_page_is_not_shown(start: Start) -> None:
    started = start("""
        import os
        @handler()
        def books(page):
            print("title", page.title)
            if page.title == "Second":
                os._exit(3)
    """)
    assert handle(started, body=b"<title>First</title>").failed is None
    assert handle(started, body=b"<title>Second</title>").traceback == "title Second\n"


def test_what_a_handler_prints_of_a_page_steers_no_terminal(start: Start) -> None:
    """It goes to the terminal of `extract try`, as it is printed."""
    started = start("""
        import os, sys
        @handler()
        def books(page):
            print(page.title, sys.stdout.isatty())
            print(page.title, file=sys.stderr)
            sys.stdout.writelines([page.title])
            os._exit(3)
    """)
    body = "<title>a\x1b]52;c;b3du\x07\x9b2J\u202eb</title>".encode()
    said = handle(started, body=body).traceback or ""
    assert (steering(said), said.count("]52;c;b3du"), "False" in said) == ([], 3, True)


def test_a_body_of_fifty_mebibytes_and_its_earlier_one(start: Start) -> None:
    started = start("""
        @handler()
        def books(page):
            was = page.previous
            yield {"bytes": len(page.body), "before": was and was.title, "twice": page.previous is was}
    """)
    asked: list[int] = []

    def before(capture: int) -> PageForHandler:
        asked.append(capture)
        return page(b"<title>Before</title>")

    body = b"<p>" + b"x" * (50 << 20)
    found = started.handle(page(body), "books", deadline_s=30.0, before=before)
    assert found.items == [{"bytes": len(body), "before": "Before", "twice": True}]
    assert asked == [7]


def test_it_gets_of_our_environment_what_is_listed(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TIPTOE_DATABASE_URL", "TIPTOE_WEB_USERS", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "SHOP_KEY"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LC_TIME", "C")
    path = write("""
        import os
        @handler()
        def books(page):
            secret = [name for name in os.environ if os.environ[name] == "secret"]
            yield {"secret": secret, "time": os.environ["LC_TIME"]}
    """)
    for variables, found in (((), []), (("SHOP_KEY",), ["SHOP_KEY"])):
        started = process.start([path], memory_bytes=MEMORY_BYTES, variables=variables)
        assert handle(started).items == [{"secret": found, "time": "C"}]
        started.end()


def test_it_ends_with_all_that_it_started(start: Start) -> None:
    started = start("""
        import subprocess
        @handler()
        def books(page):
            yield {"pid": subprocess.Popen(["sleep", "600"]).pid}
    """)
    (item,) = handle(started).items
    assert _runs(item["pid"])
    started.end()
    until(lambda: not _runs(item["pid"]), "it has ended", 10)


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 11)"])
def test_what_it_started_does_not_outlive_its_death(start: Start, tmp_path: Path, end: str) -> None:
    started = start(f"""
        import os, pathlib, subprocess
        @handler()
        def books(page):
            pid = subprocess.Popen(["sleep", "600"]).pid
            pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(pid))
            {end}
    """)
    assert handle(started).failed == "exit"
    until(lambda: not _runs(int((tmp_path / "pid").read_text())), "it has ended", 10)


def _runs(pid: int) -> bool:
    """It is there, and no zombie that nobody here can wait for."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# files (name: text), the words of the refusal
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nothing_of_this_name", "does not import: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("x = [", "does not import: SyntaxError"),
        ("raise RuntimeError('no key')", "does not import: RuntimeError: no key (books.py:2); correct it"),
        ("import sys; sys.exit('not today')", "does not import: SystemExit: not today"),
        ("import os; os._exit(4)", "does not import: it ended its process with code 4"),
        ("x = 1", "declares no handler"),
        ("@handler()\ndef books(page, other): ...", "handler books (", ),
        ("@handler()\ndef books(page): ...\n@handler(name='books')\ndef more(page): ...", "declared twice, at"),
        ("@handler(deadline_s=0)\ndef books(page): ...", "deadline_s 0 is no deadline; write seconds above 0"),
        ("@handler(deadline_s='9')\ndef books(page): ...", "deadline_s '9' is no deadline"),
        ("@handler(items=int)\ndef books(page): ...", "is neither a dataclass nor a pydantic model"),
    ],
)  # fmt: skip
def test_handlers_that_do_not_load_are_one_line(write: Callable[..., str], text: str, words: str) -> None:
    path = write("")
    with open(path, "a") as file:
        file.write(text)
    with pytest.raises(InputError) as refused:
        process.start([path], memory_bytes=MEMORY_BYTES)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_files_may_not_share_a_name_of_a_handler(write: Callable[..., str]) -> None:
    sources = [write("@handler()\ndef books(page): ...\n", name) for name in ("one.py", "two.py")]
    with pytest.raises(InputError, match=r"handler books: declared twice, at .*one\.py:2 and .*two\.py:2"):
        process.start(sources, memory_bytes=MEMORY_BYTES)


@pytest.mark.parametrize(
    ("source", "words"), [("./gone.py", "does not exist"), ("no_module_of_mine", "there is no such module here")]
)
def test_a_source_that_is_not_there(source: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        process.start([source], memory_bytes=MEMORY_BYTES)
