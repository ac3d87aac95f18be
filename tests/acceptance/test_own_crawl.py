"""`tiptoe crawl` serves its own crawl: one that was stopped goes on by its own command."""

import signal

import pytest

from tests.acceptance.conftest import Tiptoe, kill_group, manual, serving, until
from tests.crawl.web import Web

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize("end", ["ctrl-c", pytest.param("kill -9", marks=pytest.mark.faults)])
def test_another_crawl_does_not_go_on_with_one_that_was_stopped(tiptoe: Tiptoe, web: Web, end: str) -> None:
    stopped, other = web.site(), web.site()
    paths = manual(stopped, 30)
    manual(other, 5)
    first = ("crawl", stopped.url("/"), "--name", "first", "--json")
    running = tiptoe.start(*first)
    until(lambda: len(stopped.log) >= 5, "five requests")
    if end == "ctrl-c":
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
        assert running.returncode == 130, err
        assert "run the same command to resume" in err
        assert "first (paused)" in err
    else:
        kill_group(running)

    with serving(tiptoe):
        asked = len(stopped.log)  # a request that was on its way is in the log by now
        second = tiptoe.run("crawl", other.url("/"), "--name", "second", "--json")
        asked_meanwhile = len(stopped.log) - asked
        last = tiptoe.run(*first)

    assert (second.code, second.summary["pages"]) == (0, 5), second.err
    assert asked_meanwhile == 0, "nothing of the first one"
    assert "are paused; resume each by its own command: first" in second.err
    assert (last.code, last.summary["state"]) == (0, "finished"), last.err
    assert set(stopped.pages_asked) == paths


def test_a_file_of_seeds_is_crawled_quietly_and_nothing_that_was_imported_with_it(tiptoe: Tiptoe, web: Web) -> None:
    """The imported crawl is set aside meanwhile, and active again at the end, for `tiptoe up` or its own command."""
    ours, imported = web.site(), web.site()
    manual(ours, 4)
    manual(imported, 4)
    folder = tiptoe.home.parent
    (folder / "seeds.txt").write_text(f"# ours\n{ours.url('/')}\nnonsense\n{ours.url('/')}\n", encoding="utf-8")
    (folder / "more.txt").write_text(imported.url("/"), encoding="utf-8")
    with serving(tiptoe):
        assert tiptoe.run("seed", "import", "more", "more.txt").code == 0
        ran = tiptoe.run("crawl", "seeds.txt", "--quiet", "--json")
        assert (ran.code, ran.err, ran.summary["crawl"], ran.summary["pages"]) == (0, "", ours.host, 4)
        assert imported.log == []
        states = {str(row["name"]): row["state"] for row in tiptoe.sql("SELECT name, state FROM crawls")}
        assert states == {"more": "active", ours.host: "finished"}

        told = tiptoe.run("crawl", ours.url("/"), "--again", "--json")
        assert "set aside until this crawl stops: more; tiptoe up serves them all" in told.err
        assert "starting beat and 1 worker …" in told.err
        assert imported.log == []

        (page,) = tiptoe.sql(f"SELECT url FROM pages WHERE url = '{ours.url('/')}'")
        assert tiptoe.run("url", "retry", str(page["url"])).code == 0
        retried = tiptoe.run("crawl", ours.url("/"), "--json")
        assert (retried.code, "resumes where it stopped" in retried.err) == (0, True), retried.err
        assert ours.pages_asked.count("/") == 3, "the URL that was queued again was fetched again"

        own = tiptoe.run("crawl", imported.url("/"), "--name", "more", "--json")
        assert (own.code, own.summary["pages"]) == (0, 4), own.err
