"""The hostile origin: many hosts in one process and one thread, each bad in a way of its own, with an access log.

    with HostileOrigin("silent", "bodydrip") as origin:
        slow = [origin.add("slow", after_s=2.0) for _ in range(100)]
        ... crawl origin.url("silent"), origin.url("bodydrip", "/x"), slow[0].url() ...
        origin.down("silent")                     # connections end, new ones are refused, until origin.up("silent")
        assert origin.quiet()                     # nothing is under way any more
        (line,) = origin.log("bodydrip")
        assert line.hung_up and line.took_s < 3.0

A host's name is its address, such as 127.192.3.2: a host of its own to a crawler, and nobody needs a name server. Hosts
that are not about robots.txt answer 404 there. A second host of a behaviour is called slow-2, the next slow-3.

`python -m tests.hostile.origin [name …]` serves them (all, when none is named) and prints their addresses, until
Ctrl-C.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from tests.hostile import broken, maps, redirects, robots, storms, traps
from tests.hostile.behaviour import Behaviour, always, flooding, healthy
from tests.hostile.host import NETWORK, Host
from tests.hostile.peer import Answer, Line

__all__ = ["BEHAVIOURS", "NETWORK", "Behaviour", "Host", "HostileOrigin", "Line"]

T = TypeVar("T")
CALL_S = 60.0  # a call into the origin's thread ends within
QUIET_S = 60.0
LOOK_S = 0.005


def _once(name: str) -> Callable[[], Answer]:
    return always(broken.OCTETS[name](), then_close=True)


def _storm(status: int, retry_after: str | Callable[[], str] | None) -> Callable[..., Answer]:
    return lambda retry_after=retry_after, **options: storms.storm(status, retry_after, **options)


BEHAVIOURS: dict[str, Behaviour] = {
    "healthy": Behaviour(healthy, "a small linked site that answers at once: pages=12"),
    # time
    "silent": Behaviour(broken.silent, "accepts, reads the request, never answers"),
    "slow": Behaviour(broken.slow, "answers a page after after_s=1.0"),
    "headerdrip": Behaviour(broken.headerdrip, "headers byte by byte, without end"),
    "bodydrip": Behaviour(broken.bodydrip, "half a page, then a byte every 20 ms"),
    # length
    "endless": Behaviour(
        flooding(broken.STATUS + b"Connection: close\r\n\r\n", broken.endless_body), "a body without length or end"
    ),
    "endlesschunk": Behaviour(flooding(broken.CHUNKED, broken.endless_chunks), "chunks without end"),
    "endlessheaders": Behaviour(flooding(broken.STATUS, broken.header_lines), "header lines without end"),
    "gzipbomb": Behaviour(broken.gzipbomb, "mebibytes=512 of spaces, gzipped to a thousandth"),
    # framing
    "short": Behaviour(_once("short"), "Content-Length is twice the body, then the end"),
    "cutchunk": Behaviour(_once("cutchunk"), "ends within a chunk"),
    "badchunk": Behaviour(_once("badchunk"), "the second chunk's size is no number"),
    "twolength": Behaviour(_once("twolength"), "two Content-Length that differ"),
    "badstatus": Behaviour(_once("badstatus"), "a status that is no number"),
    "http09": Behaviour(_once("http09"), "a body without status line and headers"),
    "garbage": Behaviour(_once("garbage"), "random octets"),
    "reset": Behaviour(broken.reset, "RST instead of an answer"),
    "resetamong": Behaviour(broken.resetamong, "one page is reset, pages=120 beside it are fine"),
    "resetmid": Behaviour(broken.resetmid, "RST within the body"),
    "gziplie": Behaviour(_once("gziplie"), "says gzip, is not"),
    "gzipcut": Behaviour(_once("gzipcut"), "the gzip stream ends too soon, the framing is right"),
    "spurious304": Behaviour(always(broken.OCTETS["spurious304"]()), "304 that nobody asked for"),
    "nocontent": Behaviour(always(broken.OCTETS["nocontent"]()), "204"),
    # redirects
    "redirself": Behaviour(redirects.to_itself, "redirects to itself"),
    "redirpong": Behaviour(redirects.pong, "/ and /pong redirect to each other"),
    "redirgrow": Behaviour(redirects.grow, "each hop is by=150 characters longer"),
    "redirhuge": Behaviour(always(redirects.huge()), "a Location of a megabyte"),
    "redirbad": Behaviour(always(redirects.bad()), "Location: http://[::1"),
    "redirnone": Behaviour(always(redirects.nowhere()), "302 without Location"),
    "redirloop": Behaviour(redirects.hops, "n=20 hops to a page"),
    "redirssrf": Behaviour(redirects.forbidden, "/ links to /to/…, which redirect to addresses nobody may dial"),
    # asking for time, coming and going
    "storm429": Behaviour(_storm(429, "5"), "429, Retry-After in seconds, for requests=3 or seconds=…; then healthy"),
    "storm429date": Behaviour(_storm(429, lambda: storms.in_date(5)), "the same, Retry-After is a date"),
    "storm429absurd": Behaviour(_storm(429, storms.ABSURD), "the same, in the year 2199"),
    "storm429absent": Behaviour(_storm(429, None), "the same without Retry-After"),
    "storm503": Behaviour(_storm(503, "5"), "503, Retry-After in seconds, for requests=3 or seconds=…; then healthy"),
    "storm503date": Behaviour(_storm(503, lambda: storms.in_date(5)), "the same, Retry-After is a date"),
    "storm503absurd": Behaviour(_storm(503, storms.ABSURD), "the same, in the year 2199"),
    "storm503absent": Behaviour(_storm(503, None), "the same without Retry-After"),
    "flap": Behaviour(storms.flap, "bad=2 of=3 answers are 503"),
    "outage": Behaviour(healthy, "healthy; a test takes it down() and up()"),
    # blocks
    "challenge": Behaviour(storms.turning(storms.CHALLENGE, 0), "after=0 pages 403 with cf-mitigated: challenge"),
    "captcha200": Behaviour(storms.turning(storms.CAPTCHA, 0), "after=0 pages 200 that wants a proof of work"),
    "softblock": Behaviour(storms.turning(storms.DENIED, 3), "after=3 pages 200 Access denied, for all"),
    # traps
    "honeypot": Behaviour(traps.honeypot, "hidden and nofollow links to /trap/…"),
    "calendar": Behaviour(traps.calendar, "months before and after, for all times"),
    "depth": Behaviour(traps.depth, "every page links to one deeper"),
    "sessions": Behaviour(traps.sessions, "ten pages, every link to them with a new session"),
    "millionlinks": Behaviour(traps.millionlinks, "one page of links=1,000,000"),
    "deepdom": Behaviour(always(traps.deepdom()), "200,000 elements within each other"),
    "bigattr": Behaviour(always(traps.bigattr()), "a tag of 100 kB, and a link of that length"),
    "bigname": Behaviour(always(traps.bigname()), "a tag whose name is 100 kB"),
    "manyattrs": Behaviour(always(traps.manyattrs()), "a tag of 12,000 attributes"),
    "siege": Behaviour(traps.siege, "stars in robots.txt, names, codings and a drip, all on one host", robots=True),
    "nul": Behaviour(always(traps.nul()), "NUL octets everywhere"),
    # robots.txt
    "robotsallow": Behaviour(robots.text(b"User-agent: *\nAllow: /\n"), "allows all", robots=True),
    "robotsdeny": Behaviour(robots.text(b"User-agent: *\nDisallow: /\n"), "forbids all", robots=True),
    "robots404": Behaviour(robots.missing, "404", robots=True),
    "robots403": Behaviour(robots.error(403), "403", robots=True),
    "robots429": Behaviour(robots.error(429), "429", robots=True),
    "robots500": Behaviour(robots.error(500), "500", robots=True),
    "robots503": Behaviour(robots.error(503), "503", robots=True),
    "robotshang": Behaviour(robots.hang, "never answers", robots=True),
    "robotsreset": Behaviour(robots.reset, "RST instead of an answer", robots=True),
    "robotsshort": Behaviour(robots.short, "Content-Length is longer than the file", robots=True),
    "robotsdrip": Behaviour(robots.drip, "our rule, then a byte every 20 ms", robots=True),
    "robotsendless": Behaviour(robots.endless, "our rule, then comments without end", robots=True),
    "robotsloop": Behaviour(robots.loop, "redirects in a circle of two", robots=True),
    "robotsredirect": Behaviour(robots.elsewhere, "that of a host that allows all", robots=True, beside="robotsallow"),
    "robotsbom": Behaviour(robots.text(b"\xef\xbb\xbf" + robots.RULE), "begins with a BOM", robots=True),
    "robotslatin1": Behaviour(robots.text(robots.latin1()), "is Latin-1", robots=True),
    "robotscr": Behaviour(robots.text(robots.RULE.replace(b"\n", b"\r")), "lines end with CR alone", robots=True),
    "robotsbig": Behaviour(robots.big(rule_first=True), "6 MB, our rule comes first", robots=True),
    "robotsbigbeyond": Behaviour(robots.big(rule_first=False), "6 MB, our rule comes last", robots=True),
    "robotsredos": Behaviour(robots.text(robots.redos()), "/*a*a*a… that backtracks", robots=True),
    "robotsbinary": Behaviour(robots.text(robots.binary()), "random octets and NULs", robots=True),
    "robotshtml": Behaviour(robots.octets(robots.PAGES["/"]), "200 and a page of HTML", robots=True),
    "robotscrawldelay": Behaviour(robots.delay("864000000"), "Crawl-delay: 864000000 (or value=)", robots=True),
    "robotscrawldelaynegative": Behaviour(robots.delay("-5"), "Crawl-delay: -5", robots=True),
    "robotscrawldelaywords": Behaviour(robots.delay("ten seconds"), "Crawl-delay: ten seconds", robots=True),
    # sitemaps
    "sitemaps": Behaviour(maps.sick, "robots.txt names sitemaps in circles, too deep, cut and packed", robots=True),
}


class HostileOrigin:
    """Hosts by the names of BEHAVIOURS. Context manager: nothing of it is left afterwards.

    Raises at its end what a behaviour raised: a bug of the origin's.
    """

    def __init__(self, *names: str) -> None:
        self.hosts: dict[str, Host] = {}
        self.errors: list[Exception] = []
        self._names = names
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hostile origin", daemon=True)

    def add(self, name: str, **options: object) -> Host:
        """One more host. options: the behaviour's, as `about` in BEHAVIOURS names them."""
        behaviour = BEHAVIOURS[name]
        number = sum(host.behaviour is behaviour for host in self.hosts.values()) + 1
        host = Host(
            name=name if number == 1 else f"{name}-{number}",
            behaviour=behaviour,
            page=behaviour.make(**options),
            errors=self.errors,
            beside=self.add(behaviour.beside) if behaviour.beside else None,
        )
        self._call(host.listen())
        self.hosts[host.name] = host
        return host

    def url(self, name: str, target: str = "/") -> str:
        return self.hosts[name].url(target)

    def log(self, name: str) -> list[Line]:
        """Requests in the order they began, as far as they have come."""
        return list(self.hosts[name].log)

    def down(self, name: str) -> None:
        """Closes the host's connections and its listener."""
        self._call(self.hosts[name].close())

    def up(self, name: str) -> None:
        """Lets clients in again, at the same address and port."""
        self._call(self.hosts[name].listen())

    def quiet(self, within_s: float = QUIET_S) -> bool:
        """Waits until every request has its end, and says whether that came."""
        until = time.monotonic() + within_s
        while any(line.end is None for host in self.hosts.values() for line in list(host.log)):
            if time.monotonic() > until:
                return False
            threading.Event().wait(LOOK_S)
        return True

    def __enter__(self) -> "HostileOrigin":
        self._thread.start()
        for name in self._names:
            self.add(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for name in self.hosts:
                self.down(name)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CALL_S)
        assert not self._thread.is_alive(), "the origin outlives its context"
        self._loop.close()
        if self.errors and error is None:
            raise self.errors[0]

    def _call(self, act: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(act, self._loop).result(CALL_S)


def main(names: list[str]) -> None:
    with HostileOrigin(*(names or BEHAVIOURS)) as origin:
        for name, host in origin.hosts.items():
            print(f"{name:24} {host.url():32} {host.behaviour.about}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main(sys.argv[1:])
