"""`tiptoe page show --screenshot`: a picture of what is kept, without a request; and bad input in one line each."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.browser.values import Chromium
from tests.browser.conftest import chromium
from tests.cli.archived import URL, Deposit, engine, put, put_rendered, writer
from tests.cli.conftest import Tiptoe
from tests.store.rows import sql

__all__ = ["chromium", "engine", "put", "put_rendered", "writer"]

PAGE = "<body style='margin:0;background:rgb(0,0,255)'><script src=/app.js></script><p>Lamps"
SCRIPT = "document.body.style.background = 'rgb(255,0,0)'"
PNG = b"\x89PNG\r\n"
JSON = {"head": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"}


def show(tiptoe: Tiptoe, *more: str, url: str = URL) -> tuple[int, str, str]:
    ran = tiptoe("page", "show", url, "--screenshot", "a.png", *more)
    return ran.code, ran.out, ran.err


def test_a_picture_shows_what_is_kept_and_sends_nothing(
    tiptoe: Tiptoe, put: Deposit, engine: Engine, chromium: Chromium
) -> None:
    put(PAGE)
    code, out, err = show(tiptoe)
    assert (code, err) == (0, "")
    assert out == f"a.png: picture of {URL}, in docs; 1 request of the page not answered; --load sends them\n"
    without = Path("a.png").read_bytes()
    Path("a.png").unlink()
    put(SCRIPT, url="http://site.test/app.js")
    found = tiptoe("page", "show", URL, "--screenshot", "a.png", "--json").json
    assert (found["asked"], found["unanswered"], found["ending"]) == (1, 0, "quiet")
    assert Path("a.png").read_bytes().startswith(PNG)
    assert without.startswith(PNG)
    assert Path("a.png").read_bytes() != without, "the script of the archive ran, and painted it"
    assert sql(engine, "SELECT FROM fetches") == []


MADE = "<body style='margin:0;background:rgb(0,255,0)'><div id=root><p>Lamps</p></div>"


def test_a_picture_shows_the_document_that_a_browser_made(
    tiptoe: Tiptoe, put: Deposit, put_rendered: Deposit, engine: Engine, chromium: Chromium
) -> None:
    """As it is: its scripts have run, and neither those nor a request are needed. `--plain` opens the answer."""
    document = put_rendered(put(PAGE, to_render=True), f"{MADE}<script>{SCRIPT}</script><script src=/app.js></script>")
    code, out, err = show(tiptoe)
    assert (code, err) == (0, "")
    assert out == f"a.png: picture of {URL}, in docs, as a browser left it (capture {document.id})\n"
    picture = Path("a.png").read_bytes()
    pictures = {}
    for name, more, page in (("plain", ["--plain"], PAGE), ("same", [], MADE)):
        Path("a.png").unlink()
        url = URL if more else "http://site.test/same"
        if not more:
            put(page, url=url)
        code, _, err = show(tiptoe, *more, url=url)
        assert (code, err) == (0, "")
        pictures[name] = Path("a.png").read_bytes()
    assert picture == pictures["same"], "no script painted it anew"
    assert picture != pictures["plain"]
    assert sql(engine, "SELECT FROM fetches") == []


# what stands at a.png, the rest of the command, what is said
BAD: list[tuple[str, list[str], str]] = [
    ("file", [], "tiptoe: a.png: exists already; choose another name, or remove it\n"),
    ("folder", [], "tiptoe: a.png: exists already; choose another name, or remove it\n"),
    ("", ["--html"], "tiptoe: --screenshot: is a picture, and no part of the answer; ask for either\n"),
    ("", ["--out", "b"], "tiptoe: --screenshot: is a picture, and no part of the answer; ask for either\n"),
]


@pytest.mark.parametrize(("stands", "more", "said"), BAD)
def test_bad_input_is_one_line(tiptoe: Tiptoe, put: Deposit, stands: str, more: list[str], said: str) -> None:
    put(PAGE)
    if stands == "file":
        Path("a.png").write_bytes(b"mine")
    if stands == "folder":
        Path("a.png").mkdir()
    assert show(tiptoe, *more) == (2, "", said)
    assert stands != "file" or Path("a.png").read_bytes() == b"mine"


def test_a_place_that_cannot_be_written_is_named_before_a_browser_starts(tiptoe: Tiptoe, put: Deposit) -> None:
    put(PAGE)
    Path("file").write_text("")
    ran = tiptoe("page", "show", URL, "--screenshot", "file/a.png")
    assert ran.code == 2
    assert ran.err.startswith("tiptoe: file/a.png: cannot be written (")
    assert ran.err.count("\n") == 1


def test_without_a_browser_no_file_is_left(tiptoe: Tiptoe, put: Deposit, monkeypatch: pytest.MonkeyPatch) -> None:
    put(PAGE)
    monkeypatch.setenv("TIPTOE_CHROMIUM", "/no/such/chromium")
    code, _, err = show(tiptoe)
    assert code == 2
    assert err.startswith("tiptoe: --screenshot: /no/such/chromium is not a program; ")
    assert err.count("\n") == 1
    assert not Path("a.png").exists()


def test_without_a_capture_no_file_is_left(tiptoe: Tiptoe, put: Deposit, chromium: Chromium) -> None:
    put(PAGE)
    code, _, err = show(tiptoe, url="http://site.test/other")
    assert code == 2
    assert err.startswith("tiptoe: http://site.test/other: no crawl has a capture of it in the archive")
    assert not Path("a.png").exists()


def test_what_is_no_page_has_no_picture(tiptoe: Tiptoe, put: Deposit, chromium: Chromium) -> None:
    put("{}", reply={**JSON, "headers": {"content-type": "application/json"}})
    _, _, err = show(tiptoe)
    assert err == f"tiptoe: {URL}: is not an HTML page in the archive, but page of application/json\n"


def test_load_belongs_to_a_picture(tiptoe: Tiptoe) -> None:
    ran = tiptoe("page", "show", URL, "--load")
    assert (ran.code, ran.err) == (2, "tiptoe: --load: says what a picture may ask for; add --screenshot FILE.png\n")
