"""`tiptoe demo` as a person runs it: one command, and an answer that is true."""

import json
import os
import signal

import pytest

from app.local.demo import BUSY, CALENDAR, LIBRARY, PRIVATE, SLOW
from tests.acceptance.conftest import Tiptoe, until

pytestmark = pytest.mark.acceptance


def test_one_command_shows_what_each_host_did(tiptoe: Tiptoe) -> None:
    ran = tiptoe.run("demo", "--seconds", "45", "--no-web", "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    hosts = {each["host"]: each for each in told["hosts"]}
    assert set(hosts) == {LIBRARY, CALENDAR, SLOW, BUSY, PRIVATE}
    assert hosts[LIBRARY]["pages"] >= 10
    assert hosts[CALENDAR]["refused"]["trap"] > 20
    assert hosts[BUSY]["rate_limited"] >= 1
    assert hosts[BUSY]["most_delay_s"] > hosts[BUSY]["least_delay_s"]
    assert hosts[SLOW]["most_delay_s"] > hosts[SLOW]["least_delay_s"]
    assert f"--home {tiptoe.home.name}/demo page list" in ran.err, "the home of the demo is not the usual one"
    assert (hosts[PRIVATE]["pages"], hosts[PRIVATE]["asked"]) == (0, 1), "its robots.txt, and nothing else"
    assert all(each["asked"] == each["requests"] for each in hosts.values()), "the log is what the hosts counted"
    assert Tiptoe(tiptoe.home / "demo").processes() == []
    looked = Tiptoe(tiptoe.home / "demo").run("audit", told["crawl"])
    assert looked.code == 0, looked.out
    assert "no violation" in looked.out + looked.err


def test_ctrl_c_ends_it_with_its_answer(tiptoe: Tiptoe) -> None:
    process = tiptoe.start("demo", "--no-web")
    until(lambda: (tiptoe.home / "demo" / "logs" / "worker-1.log").exists(), "its worker starts")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the demo, and the crawl that it runs
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "look at it:" in err
    assert out == ""
    assert Tiptoe(tiptoe.home / "demo").processes() == []
