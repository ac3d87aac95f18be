"""`for page in tiptoe.crawl(…)`: from an empty folder, a thread, a running loop; left, killed, run again."""

import json
import signal

import pytest

from tests.acceptance.conftest import kill_group, manual, serving, until
from tests.crawl.web import Answer, Web
from tests.face.conftest import Script, ended

pytestmark = pytest.mark.acceptance

CRAWL = """
    import sys
    import tiptoe

    for page in tiptoe.crawl(sys.argv[1]):
        known = len(page.text) > 100, page.html.startswith("<!doctype"), page.headers["content-type"]
        print(page.url, page.title, *known, flush=True)
"""
# within a running event loop, as a notebook's cell is
IN_A_LOOP = """
    import asyncio, sys
    import tiptoe

    async def cell():
        for page in tiptoe.crawl(sys.argv[1]):
            print(page.url, flush=True)

    asyncio.run(cell())
"""
IN_A_THREAD = """
    import sys, threading
    import tiptoe

    def work():
        for page in tiptoe.crawl(sys.argv[1]):
            print(page.url, flush=True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""
LEAVES = """
    import sys
    import tiptoe

    for page in tiptoe.crawl(sys.argv[1]):
        print(page.url, flush=True)
        if page.url.endswith("page-3.html"):
            break
    print("left", flush=True)
    print(len(list(tiptoe.pages(sys.argv[2]))), flush=True)
"""
LEFT_OPEN = """
    import sys
    import tiptoe

    pages = iter(tiptoe.crawl(sys.argv[1]))
    print(next(pages).url, flush=True)
"""


KEPT = """
    import sys
    import tiptoe

    def told(page):
        return len(page.body), page.headers["content-type"], len(page.links) > 0

    crawled = list(tiptoe.crawl(sys.argv[1]))
    stored = list(tiptoe.pages(sys.argv[2]))
    one = next(tiptoe.pages(sys.argv[2]))
    print({told(each)[1:] for each in (*crawled, *stored, one)})
    print(sorted(told(each) for each in crawled) == sorted(told(each) for each in stored))
"""
BODIES = """
    import sys
    import tiptoe

    for page in tiptoe.crawl(sys.argv[1]):
        pass
    columns = ["url", "html", "markdown"]
    print(tiptoe.export("pages", crawl=sys.argv[2], to="bodies.jsonl", columns=columns))
    print(tiptoe.export("pages", crawl=sys.argv[2], to="book", format="markdown"))
"""


def urls(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines() if line.startswith("http")]


@pytest.mark.smoke
def test_from_an_empty_folder_to_the_end_and_once_more_without_a_request(script: Script, web: Web) -> None:
    site = web.site()
    paths = manual(site, 12)
    with serving(script.tiptoe):
        first = script.run(CRAWL, site.url("/"))
        asked = len(site.log)
        second = script.run(CRAWL, site.url("/"))
    assert first.code == 0, first.err
    assert sorted(urls(first.out)) == sorted(site.url(path) for path in paths)
    ends = "True True text/html; charset=utf-8"
    assert [line for line in first.out.splitlines() if " Page " not in line or not line.endswith(ends)] == []
    assert first.err == ""
    assert sorted(urls(second.out)) == sorted(urls(first.out))
    assert len(site.log) == asked
    assert script.tiptoe.processes() == []


def test_a_page_that_is_kept_has_its_answer_after_the_loop(script: Script, web: Web) -> None:
    site = web.site()
    manual(site, 6)
    ran = script.run(KEPT, site.url("/"), site.host)
    assert (ran.code, ran.err, ran.out) == (0, "", "{('text/html; charset=utf-8', True)}\nTrue\n")
    assert script.tiptoe.processes() == [], "the database ends with the script"


def test_what_is_exported_from_the_archive_is_what_the_site_sent(script: Script, web: Web) -> None:
    site = web.site()
    paths = manual(site, 6)
    ran = script.run(BODIES, site.url("/"), site.host)
    assert (ran.code, ran.err, ran.out) == (0, "", "6\n6\n")
    rows = [json.loads(line) for line in (script.folder / "bodies.jsonl").read_text().splitlines()]
    sent = {site.url(path): answer.body.decode() for path in paths if isinstance(answer := site.pages[path], Answer)}
    assert {row["url"]: row["html"] for row in rows} == sent
    assert [row["url"] for row in rows if not row["markdown"].startswith("Words of page ")] == []
    assert len(list((script.folder / "book").glob("*/*.md"))) == 6


@pytest.mark.parametrize("text", [IN_A_LOOP, IN_A_THREAD], ids=["within a loop", "in a thread"])
def test_from_a_notebook_and_from_a_thread(script: Script, web: Web, text: str) -> None:
    site = web.site()
    paths = manual(site, 6)
    ran = script.run(text, site.url("/"))
    assert (ran.code, ran.err) == (0, "")
    assert sorted(urls(ran.out)) == sorted(site.url(path) for path in paths)
    assert script.tiptoe.processes() == []


def test_leaving_the_loop_pauses_the_crawl(script: Script, web: Web) -> None:
    site = web.site()
    paths = manual(site, 40)
    with serving(script.tiptoe):
        ran = script.run(LEAVES, site.url("/"), site.host)
        assert ran.code == 0, ran.err
        assert ran.out.splitlines()[-2] == "left"
        (crawl,) = script.tiptoe.sql("SELECT state FROM crawls")
        assert crawl == {"state": "paused"}
        again = script.run(CRAWL, site.url("/"))
    assert sorted(urls(again.out)) == sorted(site.url(path) for path in paths)
    assert sorted(site.pages_asked) == sorted(paths), "each page was asked for once"


def test_a_script_that_ends_within_the_loop_ends(script: Script, web: Web) -> None:
    site = web.site()
    manual(site, 200)
    with serving(script.tiptoe):
        ran = script.run(LEFT_OPEN, site.url("/"))
        assert (ran.code, ran.err, len(urls(ran.out))) == (0, "", 1)
        (crawl,) = script.tiptoe.sql("SELECT state FROM crawls")
        assert crawl == {"state": "paused"}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_script_that_was_ended_goes_on_when_it_is_run_again(script: Script, web: Web, how: signal.Signals) -> None:
    site = web.site()
    paths = manual(site, 60)
    with serving(script.tiptoe):
        running = script.start(CRAWL, site.url("/"))
        until(lambda: len(site.pages_asked) >= 10, "ten pages")
        if how is signal.SIGKILL:
            kill_group(running)
        else:
            running.send_signal(how)
            assert "KeyboardInterrupt" in ended(running).err
        again = script.run(CRAWL, site.url("/"))
    assert again.code == 0, again.err
    assert sorted(urls(again.out)) == sorted(site.url(path) for path in paths), "each once, those of before too"
    twice = len(site.pages_asked) - len(paths)
    assert twice == 0 if how is signal.SIGINT else twice <= 50  # a crash repeats one batch
