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
    asked = len(stopped.log)

    with serving(tiptoe):
        second = tiptoe.run("crawl", other.url("/"), "--name", "second", "--json")
        asked_meanwhile = len(stopped.log) - asked
        last = tiptoe.run(*first)

    assert (second.code, second.summary["pages"]) == (0, 5), second.err
    assert asked_meanwhile == 0, "nothing of the first one"
    assert "are paused; resume each by its own command: first" in second.err
    assert (last.code, last.summary["state"]) == (0, "finished"), last.err
    assert set(stopped.pages_asked) == paths
