"""The web of the fault tests while it grows: nobody gets to its end before it is told to stop."""

import re
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.faults.web import FORBIDDEN, Web
from tests.faults.web_server import LANES

HOSTS, PAGES = 3, 4
_LINK = re.compile(r'href="([^"]+)"')


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with Web(tmp_path / "web", hosts=HOSTS, pages=PAGES) as web:
        yield web


def _links(url: str) -> set[str]:
    """Absolute ones."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        return {urljoin(url, link) for link in _LINK.findall(answer.read().decode())}


def _crawl(web: Web, most: int) -> tuple[set[str], set[str]]:
    """URLs that were asked for, so many at most; and those that were not."""
    asked: set[str] = set()
    waiting = deque(web.seeds)
    known = {*waiting, *(web.url(host, FORBIDDEN) for host in web.hosts)}
    while waiting and len(asked) < most:
        url = waiting.popleft()
        asked.add(url)
        fresh = _links(url) - known
        known |= fresh
        waiting.extend(sorted(fresh))
    return asked, set(waiting)


def _truth(web: Web) -> set[str]:
    web.lines()
    return {web.url(host, path) for host, path in web.truth}


def test_it_ends_unless_it_is_told_to_grow(web: Web) -> None:
    asked, waiting = _crawl(web, 1_000)
    assert asked == _truth(web)
    assert (len(asked), len(waiting)) == (HOSTS * PAGES, 0)


def test_every_host_always_has_more_until_it_is_released(web: Web) -> None:
    web.rule(grows=True)
    asked, waiting = _crawl(web, 300)
    assert len(asked) == 300
    assert {host for host in web.hosts if any(f"//{host}:" in url for url in waiting)} == set(web.hosts)
    assert len(waiting) <= HOSTS * LANES, "its end is near as soon as it is told"
    web.release()
    again, left = _crawl(web, 1_000)
    assert left == set()
    assert again == asked | waiting == _truth(web), "what was linked stays linked, and nothing else is"


def test_what_nobody_was_led_to_is_not_there(web: Web) -> None:
    web.rule(grows=True)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        _links(web.url(web.hosts[0], f"/page-{PAGES + LANES + 1}.html"))
    assert len(_truth(web)) == HOSTS * PAGES
