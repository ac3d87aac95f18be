"""Hosts of traps, and those with a hostile robots.txt, seen by a plain client."""

import itertools
import re

import pytest

from tests.hostile import robots
from tests.hostile.client import ask, connect, get, links, listen, raw
from tests.hostile.origin import HostileOrigin

# --- traps ------------------------------------------------------------------------------------------


def test_the_honeypot_has_two_doors_for_people(origin: HostileOrigin) -> None:
    host = origin.add("honeypot")
    found = links(get(host)[2])
    assert [link for link in found if not link.startswith("/trap/")] == ["/open/1", "/open/2"]
    assert len(found) == 11
    assert links(get(host, "/trap/hidden")[2]) == ["/trap/hidden/deeper"]


def test_spaces_without_end(origin: HostileOrigin) -> None:
    for name in ("calendar", "depth", "sessions"):
        host = origin.add(name)
        seen: set[str] = set()
        target = "/"
        for _ in range(30):
            new = [link for link in links(get(host, target)[2]) if link not in seen]
            assert new, "there is always more"
            seen.update(new)
            target = new[0]
    assert links(get(origin.hosts["calendar"], "/calendar/2024/12")[2])[:2] == [
        "/calendar/2024/11",
        "/calendar/2025/01",
    ]


def test_a_million_links(origin: HostileOrigin) -> None:
    few = origin.add("millionlinks", links=2_500)
    body = get(few)[2]
    assert (len(links(body)), links(body)[-1]) == (2_500, "/l/0002499")
    with connect(origin.add("millionlinks")) as sock:
        ask(sock)
        head = listen(sock, limit=1)[0]
    assert b"Content-Length: 30000000" in head


def test_absurd_documents(origin: HostileOrigin) -> None:
    assert get(origin.add("deepdom"))[2].count(b"<div>") == 200_000
    for name in ("bigattr", "bigname", "manyattrs"):
        body = get(origin.add(name))[2]
        assert max(map(len, re.split(rb"[<>]", body))) > 90_000
        assert links(body)[-1] == "/after"
    assert get(origin.add("nul"))[2].count(b"\0") > 5


# --- robots.txt -------------------------------------------------------------------------------------

# behaviour, status of /robots.txt, pattern within it
ROBOTS = [
    ("robotsallow", 200, rb"Allow: /\n$"),
    ("robotsdeny", 200, rb"Disallow: /\n$"),
    ("robots404", 404, rb""),
    ("robots403", 403, rb""),
    ("robots429", 429, rb""),
    ("robots500", 500, rb""),
    ("robots503", 503, rb""),
    ("robotsloop", 302, rb""),
    ("robotsbom", 200, rb"^\xef\xbb\xbfUser-agent: \*\nDisallow: /x\n$"),
    ("robotslatin1", 200, rb"/caf\xe9\nDisallow: /x\n$"),
    ("robotscr", 200, rb"^User-agent: \*\rDisallow: /x\r$"),
    ("robotsbig", 200, rb"^User-agent: \*\nDisallow: /x\n"),
    ("robotsbigbeyond", 200, rb"\nUser-agent: \*\nDisallow: /x\n$"),
    ("robotsredos", 200, rb"Disallow: /(\*a){100}b\n[^x]*\nDisallow: /x\n$"),
    ("robotsbinary", 200, rb"\0"),
    ("robotshtml", 200, rb"^<!doctype html>"),
    ("robotscrawldelay", 200, rb"Crawl-delay: 864000000\n"),
    ("robotscrawldelaynegative", 200, rb"Crawl-delay: -5\n"),
    ("robotscrawldelaywords", 200, rb"Crawl-delay: ten seconds\n"),
]


@pytest.mark.parametrize(("name", "status", "pattern"), ROBOTS, ids=[row[0] for row in ROBOTS])
def test_robots(origin: HostileOrigin, name: str, status: int, pattern: bytes) -> None:
    host = origin.add(name)
    got, headers, body = get(host, "/robots.txt")
    assert got == status
    assert re.search(pattern, body), body[:200]
    if "big" in name:
        assert len(body) == int(headers["content-length"]) > robots.FILE_BYTES
    assert get(host)[0] == 200


def test_the_site_behind_the_robots(origin: HostileOrigin) -> None:
    host = origin.add("robotsdeny")
    found = links(get(host)[2])
    assert found == ["/ok", "/x", robots.LONG]
    assert {get(host, link)[0] for link in found} == {200}


def test_robots_that_hang_reset_or_lead_away(origin: HostileOrigin) -> None:
    assert raw(origin.add("robotshang"), "/robots.txt", is_silent=True) == (b"", "quiet")
    assert raw(origin.add("robotsreset"), "/robots.txt") == (b"", "reset")
    octets, ending = raw(origin.add("robotsshort"), "/robots.txt")
    assert (octets.endswith(b"\r\n\r\n" + robots.RULE), ending) == (True, "closed")
    for name in ("robotsdrip", "robotsendless"):
        octets, ending = raw(origin.add(name), "/robots.txt", limit=150)
        assert (b"\r\n\r\n" + robots.RULE + b"# a" in octets, ending) == (True, "limit")
    host = origin.add("robotsredirect")
    assert host.beside is not None
    assert get(host, "/robots.txt")[1]["location"] == host.beside.url("/robots.txt")
    assert get(host.beside, "/robots.txt")[2] == b"User-agent: *\nAllow: /\n"
    assert host.address != host.beside.address
    hops = itertools.islice(iter(["/robots.txt", "/robots-too.txt"] * 2), 3)
    loop = origin.add("robotsloop")
    assert [get(loop, hop)[1]["location"] for hop in hops] == ["/robots-too.txt", "/robots.txt", "/robots-too.txt"]


def test_a_crawl_delay_of_ones_choice(origin: HostileOrigin) -> None:
    assert b"Crawl-delay: 1e9\n" in get(origin.add("robotscrawldelay", value="1e9"), "/robots.txt")[2]
