"""One crawl by a real fleet over many hostile hosts at once, beside healthy ones: what each asked for is in the
origin's own log, what became of it in the database.

    sites = crawl_sites(rig, origin)          # to the end of all crawls
    sites.of("silent")                        # hosts of that behaviour
    sites.ending(host)                        # state, outcome and failure of its seed

The healthy hosts are the rig's own web. First they are alone, then beside the slow ones, for their rate; then all
others come, and one that is fine goes away for a while.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.admin import crawls, seeds
from app.crawl.state.setup import make_engine
from app.model import CrawlSpec, VisitEnding
from tests.faults.kit import Rig
from tests.faults.pace import quick_or_long
from tests.hostile import storms
from tests.hostile.judge import CAP_BYTES, ROBOTS_TRIES, TRIES
from tests.hostile.origin import Host, HostileOrigin

HEALTHY, HEALTHY_PAGES, DELAY_S = 8, quick_or_long(30, 200), 0.3
AWAY_S = quick_or_long(4.0, 8.0)
REQUESTS = quick_or_long(60, 240)  # that a rate is told by
PAGES = 12
AWAY_PAGES = 30  # of the host that goes away
BACKOFF_S, BACKOFF_MAX_S = 0.5, 1.0
RETRY_AFTER_MAX_S = 1.5
BREAKER_FAILURES, BREAKER_S = 4, 2.0
FAILURES_MOST = 30
SETTINGS: Mapping[str, object] = {
    "lease_s": 20.0,  # nobody dies here
    "request_deadline_s": 4.0,  # on a busy machine an answer that comes late is another ending
    "robots_deadline_s": 4.0,
    "max_body_bytes": CAP_BYTES,
    "attempts_max": TRIES,
    "new_host_failures_max": ROBOTS_TRIES,
    "host_failures_max": FAILURES_MOST,
    "backoff_base_s": BACKOFF_S,
    "backoff_max_s": BACKOFF_MAX_S,
    "retry_after_max_s": RETRY_AFTER_MAX_S,
    "adaptive_level_max": 1,
    "adaptive_base_min_s": DELAY_S,
    "breaker_failures": BREAKER_FAILURES,
    "breaker_base_s": BREAKER_S,
    "breaker_max_s": BREAKER_S,
}

SLOW = ("silent", "headerdrip", "bodydrip", "robotshang")
SLOW_EACH = quick_or_long(3, 25)
ENDLESS = ("endless", "endlesschunk", "endlessheaders")
BROKEN = (
    "short",
    "cutchunk",
    "badchunk",
    "twolength",
    "badstatus",
    "http09",
    "garbage",
    "reset",
    "resetmid",
    "gziplie",
    "gzipcut",
    "spurious304",
    "nocontent",
)
CIRCLES = ("redirself", "redirpong", "redirgrow", "redirhuge", "redirbad", "redirnone", "redirloop")
# behaviour, its Retry-After, how many are refused, seconds before which nobody comes
STORMS: Sequence[tuple[str, str | Callable[[], str] | None, int, float]] = (
    ("storm429", "1", 3, 1.0),
    ("storm429date", lambda: storms.in_date(2), 2, 1.0),  # whole seconds: 1 to 2
    ("storm429absurd", storms.ABSURD, 2, RETRY_AFTER_MAX_S),
    ("storm429absent", None, 3, BACKOFF_S),
    ("storm503", "1", 3, 1.0),
    ("storm503date", lambda: storms.in_date(2), 2, 1.0),
    ("storm503absurd", storms.ABSURD, 2, RETRY_AFTER_MAX_S),
    ("storm503absent", None, 3, BACKOFF_S),
)
ROBOTS = (
    "robots403",
    "robots404",
    "robots429",
    "robots500",
    "robots503",
    "robotsbig",
    "robotsbom",
    "robotscr",
    "robotsdrip",
    "robotsendless",
    "robotslatin1",
    "robotsloop",
    "robotsredos",
    "robotsreset",
    "robotsshort",
)


UNREAD = "SELECT h.name FROM visits AS v JOIN hosts AS h ON h.id = v.host_id WHERE v.ending = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """rate_kept: by the healthy hosts beside the slow ones.   grown_mib: by how much the worker that grew most did.
    away: monotonic seconds from, until;   tries: contacts of that host that failed meanwhile.
    unread: by host, answers that a busy machine gave back unread, and asked for again."""

    rig: Rig
    origin: HostileOrigin
    rate_kept: float
    grown_mib: float
    away: tuple[float, float]
    tries: int
    urls: Mapping[str, dict[str, Any]]
    failures: Mapping[str, str | None]
    unread: Counter[str]
    kept: Mapping[str, bool]

    def of(self, *names: str) -> list[Host]:
        return [host for host in self.origin.hosts.values() if host.name.partition("-")[0] in names]

    def only(self, name: str) -> Host:
        return self.origin.hosts[name]

    def ending(self, host: Host) -> tuple[str, str | None, str | None]:
        """State and outcome of its seed, and the failure of the last fetch."""
        row = self.urls[host.url()]
        return row["state"], row["outcome"], self.failures.get(host.url())

    def states(self, host: Host) -> set[str]:
        """Of all its URLs."""
        return {row["state"] for url, row in self.urls.items() if url.startswith(host.url())}


def crawl_sites(rig: Rig, origin: HostileOrigin) -> Sites:
    rig.seed()
    rig.until_ready()
    rig.until_share(0.05)
    before = _rate(rig, lambda: rig.more_requests(REQUESTS))
    rss = {child.name: child.rss_kib() for child in rig.fleet.workers}
    slow = [origin.add(name) for name, _ in itertools.product(SLOW, range(SLOW_EACH))]
    _crawl(rig, "slow", slow, sitemaps="none")
    meanwhile = _rate(rig, lambda: rig.more_requests(REQUESTS))
    away, maps = origin.add("outage", pages=AWAY_PAGES), origin.add("sitemaps")
    _crawl(rig, "guests", [away, *_guests(origin)], sitemaps="none")
    _crawl(rig, "maps", [maps], sitemaps="all")
    rig.until(lambda: len(away.pages_asked) >= AWAY_PAGES // 5, "some pages of the host that is to go")
    down_at = time.monotonic()
    origin.down(away.name)
    rig.last(AWAY_S)
    up_at = time.monotonic()
    tries = rig.sql("SELECT count(*) AS n FROM fetches WHERE url LIKE %s AND failure IS NOT NULL", away.url("%"))
    origin.up(away.name)
    rig.until(lambda: not rig.sql("SELECT name FROM crawls WHERE state <> 'finished'"), "all crawls end")
    assert origin.quiet(), "nobody holds a connection with an answer under way"
    grown = max(child.rss_kib() - rss[child.name] for child in rig.fleet.workers if child.name in rss)
    found = Sites(
        rig=rig,
        origin=origin,
        rate_kept=meanwhile / before,
        grown_mib=grown / 1024,
        away=(down_at, up_at),
        tries=tries[0]["n"],
        urls={
            row["url"]: row
            for row in rig.sql("SELECT url, state, outcome, cause, detail FROM urls WHERE kind = 'page'")
        },
        failures={row["url"]: row["failure"] for row in rig.sql("SELECT url, failure FROM fetches ORDER BY id")},
        unread=Counter(row["name"] for row in rig.sql(UNREAD, VisitEnding.READERS_BUSY.value)),
        kept={row["url"]: row["truncated"] for row in rig.sql("SELECT url, truncated FROM pages")},
    )
    _forget(rig, [host.address for host in origin.hosts.values()])
    return found


def _guests(origin: HostileOrigin) -> list[Host]:
    stormy = [origin.add(name, requests=refused, retry_after=asks) for name, asks, refused, _ in STORMS]
    others = [origin.add(name) for name in (*ENDLESS, *BROKEN, *CIRCLES, *ROBOTS, "flap")]
    return [*stormy, *others]


def _crawl(rig: Rig, name: str, hosts: Sequence[Host], *, sitemaps: str) -> None:
    """A crawl of their own, with the delay of the others."""
    settings = rig.settings.model_copy(update={"database_url": rig.database_url})
    engine = make_engine(settings)
    try:
        crawl = crawls.create(engine, name, CrawlSpec(sitemaps=sitemaps))
        seeds.add(engine, settings, crawl, [host.url() for host in hosts])
    finally:
        engine.dispose()


def _rate(rig: Rig, wait: Callable[[], None]) -> float:
    """Requests a second to the healthy hosts, until the wait is over."""
    began, before = time.monotonic(), len(rig.web.lines())
    wait()
    return (len(rig.web.lines()) - before) / (time.monotonic() - began)


def _forget(rig: Rig, names: Sequence[str]) -> None:
    """The rig's judge knows the rig's own web alone."""
    for table in ("urls", "fetches", "crawl_hosts"):
        rig.sql(f"DELETE FROM {table} WHERE host_id IN (SELECT id FROM hosts WHERE name = ANY(%s))", list(names))
