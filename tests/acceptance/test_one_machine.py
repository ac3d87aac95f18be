"""`tiptoe crawl` from nothing to a finished crawl, through interruptions, and round again."""

import json
import os
import random
import signal
from urllib.parse import quote

import psycopg
import pytest

from tests.acceptance.conftest import Tiptoe, kill_group, manual, serving, until
from tests.cli.conftest import run
from tests.crawl.web import Web

pytestmark = pytest.mark.acceptance
SUMMARY = {
    *("crawl", "state", "pages", "fetches", "failed", "suppressed", "ended_because", "new", "changed", "gone", "bytes"),
    *("seconds", "dsn", "password_file", "home"),
}


@pytest.mark.smoke
def test_a_crawl_from_nothing_to_its_end_and_round_again(
    tiptoe: Tiptoe, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = web.site()
    paths = manual(site, 25)
    command = ("crawl", site.url("/"), "--name", "docs", "--json")

    first = tiptoe.run(*command)

    assert first.code == 0, first.err
    assert set(first.summary) == SUMMARY
    assert (first.summary["crawl"], first.summary["state"], first.summary["pages"]) == ("docs", "finished", 25)
    assert site.paths[0] == "/robots.txt"
    assert sorted(site.pages_asked) == sorted(paths)  # each once, /private/ never
    assert tiptoe.processes() == []

    with serving(tiptoe):
        finished = tiptoe.run(*command)
        assert finished.code == 0
        assert "--again" in finished.err
        assert len(site.pages_asked) == 25

        site.log.clear()
        again = tiptoe.run(*command, "--again")
        assert again.code == 0, again.err
        assert again.summary["pages"] == 25
        pages = [hit for hit in site.log if hit.path in paths]
        assert {hit.status for hit in pages} == {304}
        assert sum(hit.body_bytes for hit in pages) == 0

        for name in tiptoe.env.keys() - os.environ.keys():
            monkeypatch.setenv(name, tiptoe.env[name])
        monkeypatch.chdir(tiptoe.home.parent)
        titles = run("sql", "SELECT title FROM pages ORDER BY title", "--json").json  # in this process, as the next are
        assert len(titles) == 25
        assert titles[0] == {"title": "Page 0"}
        assert run("audit").code == 0
        assert "Disallow: /private/" in run("url", "why", site.url("/private/no.html")).out


@pytest.mark.faults
def test_killed_three_times_it_misses_nothing_and_hurries_nobody(tiptoe: Tiptoe, web: Web) -> None:
    """The whole process group by SIGKILL; repeats are at most one batch of the one visit, and gaps hold across
    restarts."""
    site = web.site()
    paths = manual(site, 60)
    command = ("crawl", site.url("/"), "--name", "docs", "--json")
    rng = random.Random(7)
    for _ in range(3):
        running = tiptoe.start(*command)
        enough = len(site.log) + rng.randint(5, 15)
        until(lambda enough=enough: len(site.log) >= enough, f"{enough} requests")  # type: ignore[misc]
        kill_group(running)

    last = tiptoe.run(*command)

    assert last.code == 0, last.err
    assert set(site.pages_asked) == paths
    assert len(site.pages_asked) - len(paths) <= 3 * 50
    assert site.paths.count("/robots.txt") <= 1 + 3
    assert min(site.gaps()) >= 0.05 - 0.005
    audit = tiptoe.run("audit", "--json")
    assert audit.code == 0, audit.out
    assert tiptoe.sql("SELECT count(*) AS n FROM hosts WHERE lease_token IS NOT NULL") == [{"n": 0}]
    states = tiptoe.sql("SELECT DISTINCT state FROM urls")
    assert {row["state"] for row in states} <= {"resting", "refused"}


@pytest.mark.faults
def test_ctrl_c_is_clean_and_the_same_command_goes_on(tiptoe: Tiptoe, web: Web) -> None:
    site = web.site()
    paths = manual(site, 40)
    command = ("crawl", site.url("/"), "--json")
    running = tiptoe.start(*command)
    until(lambda: len(site.log) >= 10, "ten requests")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate()

    assert running.returncode == 130, err
    assert "run the same command to resume" in err
    assert tiptoe.processes() == []
    assert tiptoe.sql("SELECT count(*) AS n FROM hosts WHERE state IN ('offered', 'taken')") == [{"n": 0}]

    last = tiptoe.run(*command)
    assert last.code == 0, last.err
    assert sorted(site.pages_asked) == sorted(paths)  # nothing twice: what was fetched was settled
    assert min(site.gaps()) >= 0.05 - 0.005


def test_packages_of_the_users_own_in_the_working_folder(tiptoe: Tiptoe, web: Web) -> None:
    """Named as ours and as what we stand on: none of them is imported, by no child."""
    site = web.site()
    paths = manual(site, 5)
    for name in ("app", "workers", "migrations", "celery", "kombu", "redis", "queue"):
        package = tiptoe.home.parent / name
        package.mkdir()
        (package / "__init__.py").write_text(f"raise SystemExit('{name} is the user\\'s')\n")
    ran = tiptoe.run("crawl", site.url("/"), "--json")
    assert ran.code == 0, ran.err
    assert ran.summary["pages"] == len(paths)


@pytest.mark.faults
def test_a_crawl_outlives_its_own_lost_connections(tiptoe: Tiptoe, web: Web) -> None:
    """Every connection to Postgres is cut, the command's own too: all go on."""
    site = web.site()
    paths = manual(site, 40)
    running = tiptoe.start("crawl", site.url("/"), "--json")
    until(lambda: len(site.log) >= 5, "five requests")
    password_file = tiptoe.home / "pgpass"
    port = password_file.read_text().split(":")[1]
    dsn = f"postgresql://tiptoe@127.0.0.1:{port}/tiptoe?passfile={quote(str(password_file), safe='')}"
    with psycopg.connect(dsn, autocommit=True, application_name="test") as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tiptoe'")
    out, err = running.communicate()
    assert running.returncode == 0, err
    assert set(site.pages_asked) == paths
    assert json.loads(out.splitlines()[-1])["state"] == "finished"


def test_no_password_is_printed(tiptoe: Tiptoe, web: Web) -> None:
    site = web.site()
    manual(site, 2)
    ran = tiptoe.run("crawl", site.url("/"), "--json")
    up = tiptoe.start("up", "--json")
    line = up.stdout.readline() if up.stdout else ""
    up.send_signal(signal.SIGINT)
    out, err = up.communicate()
    assert up.returncode == 130, err
    secrets = json.loads((tiptoe.home / "services.json").read_text())
    said = ran.out + ran.err + line + out + err
    assert "127.0.0.1" in said
    for service in secrets.values():
        for name, value in service.items():
            assert "password" not in name or value not in said
    assert ran.summary["password_file"] == str(tiptoe.home / "pgpass")


def test_a_page_budget_is_kept_exactly_and_can_be_raised(tiptoe: Tiptoe, web: Web) -> None:
    sites = [web.site() for _ in range(3)]
    for site in sites:
        manual(site, 20)
    seeds = [site.url("/") for site in sites]

    with serving(tiptoe):
        first = tiptoe.run("crawl", *seeds, "--name", "some", "--max-pages", "17", "--json")
        more = tiptoe.run("crawl", *seeds, "--name", "some", "--max-pages", "1000", "--json")

    assert first.code == 0, first.err
    assert first.summary["pages"] == 17
    assert "max_pages" in first.err
    assert more.code == 0, more.err
    assert more.summary["pages"] == 60
    assert sum(len(site.pages_asked) for site in sites) == 60
