"""The demo's web: what each host answers, and where it is served. tests/acceptance/test_demo.py runs the command."""

import re
import urllib.error
import urllib.request

import pytest

from app.local import demo
from app.local.demo import BUSY, CALENDAR, LIBRARY, PRIVATE, SLOW, DemoSite, DemoWeb, seed, serve, sites

PORT = 4711
SITES = {site.name: site for site in sites(PORT)}


def links(body: str) -> list[str]:
    return re.findall(r'href="([^"]+)"', body)


def reached(site: DemoSite, most: int) -> set[str]:
    """Paths of a host that lead from one to the next, from its home on; those of other hosts left out."""
    found, todo = {"/"}, ["/"]
    while todo and len(found) < most:
        for link in links(site.answer(todo.pop(0)).body):
            if link.startswith("/") and link not in found:
                found.add(link)
                todo.append(link)
    return found


def test_the_seed_leads_to_every_host() -> None:
    home = SITES[LIBRARY].answer("/").body
    assert seed(PORT) == f"http://{LIBRARY}:{PORT}/"
    assert {link for link in links(home) if link.startswith("http")} == {
        f"http://{name}:{PORT}/" for name in SITES if name != LIBRARY
    }


# host, paths that lead from one to the next
REACHED = [(LIBRARY, demo.BOOKS + 2), (SLOW, demo.SLOW_PAGES + 1)]


@pytest.mark.parametrize(("name", "paths"), REACHED)
def test_a_site_has_an_end(name: str, paths: int) -> None:
    found = reached(SITES[name], 1_000)
    assert len(found) == paths
    statuses = [SITES[name].answer(path).status for path in found]
    assert statuses.count(404) == (1 if name == LIBRARY else 0)


def test_the_calendar_has_none() -> None:
    assert len(reached(SITES[CALENDAR], 2_000)) >= 2_000
    months = {SITES[CALENDAR].answer(f"/month/{year}-07").body.split("<ul>")[0] for year in (2026, 2099, 3000)}
    assert len(months) == 1, "none says anything new"


def test_the_busy_one_says_429_now_and_then() -> None:
    site = next(site for site in sites(PORT) if site.name == BUSY)
    answers = [site.answer("/item/1") for _ in range(2 * demo.BUSY_EVERY)]
    assert [answer.status for answer in answers].count(429) == 2
    assert {answer.retry_after_s for answer in answers if answer.status == 429} == {demo.RETRY_AFTER_S}


def test_the_slow_one_takes_its_time_and_the_closed_one_forbids() -> None:
    assert SITES[SLOW].answer("/").wait_s == demo.SLOW_S
    assert SITES[PRIVATE].answer("/robots.txt").body == "User-agent: *\nDisallow: /\n"


@pytest.mark.parametrize(
    "path", ["/book/0", "/book/37", "/book/x", "/book/1/2", "/month/2026-13", "/../etc/passwd", "/٣"]
)
def test_what_is_not_there_is_404(path: str) -> None:
    assert {SITES[name].answer(path).status for name in (LIBRARY, CALENDAR, SLOW, BUSY)} == {404}


def ask(web: DemoWeb, name: str, path: str) -> tuple[int, str]:
    request = urllib.request.Request(
        f"http://{web.addresses[name]}:{web.port}{path}", headers={"Host": f"{name}:{web.port}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_each_host_is_served_by_its_name_and_counts() -> None:
    with serve() as web:
        assert all(address.startswith("127.") for address in web.addresses.values())
        assert ask(web, LIBRARY, "/book/3")[0] == 200
        assert ask(web, LIBRARY, "/book/99")[0] == 404
        assert "Disallow: /" in ask(web, PRIVATE, "/robots.txt")[1]
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(f"http://{web.addresses[LIBRARY]}:{web.port}/", timeout=10)
        assert dict(web.asked) == {LIBRARY: 2, PRIVATE: 1}
    with pytest.raises(OSError, match="refused"):
        ask(web, LIBRARY, "/")
