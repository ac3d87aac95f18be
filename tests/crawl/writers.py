"""Every writer of the frontier at once: visits, alone and gathered, the janitors, and operators who know no mercy.

The web is a transport in this process, so that the database is what everybody waits for. It keeps a log of its
requests. A writer does a number of acts, or goes on until a moment; visits go on until the last writer has ended.
"""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from app.admin import crawls, edit, explain, hosts, parameters, seeds
from app.admin.run import prepare
from app.beat import claim
from app.beat.finish import finish
from app.beat.measure import measure
from app.beat.promote import promote
from app.beat.rotate_logs import retain
from app.beat.trim import trim
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import CutOff, VisitReport, go_on, return_host, settle_together, visit
from app.errors import InputError
from app.features.near.find import find_near
from app.features.search.find import index_pages
from app.model import Budgets, CrawlChange, CrawlSpec, Reply, Request, Unsent, Whereabouts
from app.runtime.delay_queue import DelayQueue
from app.runtime.group_commit import CommitGroup, GroupCommit
from app.store import migrate
from app.store.host_rows import Offer
from tests.store.rows import sql

HOSTS, PAGES = 14, 60
DELAY_S, SLOW_S = 0.03, 0.5  # every other host asks for the longer one: its visits are parked, and settled together
THREADS = 6
PROSE = " ".join(f"word{n}" for n in range(60))  # pages are near duplicates of each other
CRAWLS = {"whole": None, "large": 400, "small": 40}  # by name: pages
ASLEEP = """SELECT count(*) FROM hosts AS h
            WHERE h.state = 'idle' AND h.next_fetch_at IS NULL
              AND EXISTS (SELECT FROM crawls AS c JOIN urls AS u ON u.crawl_id = c.id
                          WHERE c.state = 'active' AND u.host_id = h.id AND u.state = 'queued')"""
SETTINGS: dict[str, Any] = {
    "default_delay_s": DELAY_S,
    "address_gap_s": 0.01,
    "domain_gap_s": 0.01,
    "requests_per_s_max": 2_000.0,
    "frontier_max_per_crawl": 150,
    "frontier_max_per_host": 40,
    "suppressions_max": 20,
    "dispatch_tick_s": 0.05,
    "visit_max_s": 1.5,
    "retry_base_s": 0.05,
}


class Webmaster:
    """A web of HOSTS hosts that answers at once; also what comes late for its slot, on a busy machine.

    Fast ones share addresses and domains; a slow one has its own, so that its visits are parked.

    log: by host, when its requests began and ended.
    """

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.names = [f"h{n}.{'site' if n % 2 == 0 else 'own'}{n % 4 if n % 2 == 0 else n}.test" for n in range(HOSTS)]
        self.log: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def delay_s(self, name: str) -> float:
        return SLOW_S if self.names.index(name) % 2 else DELAY_S

    def where(self, url: str, prefer: str | None, timeout_s: float) -> Whereabouts:
        return Whereabouts(addresses=(self._address(urlsplit(url).hostname or ""),), dns_ms=0.0)

    def send(self, request: Request) -> Reply | Unsent:
        begun = time.monotonic()
        if request.gate is not None and not request.gate.open():
            return Unsent(begun_s=begun, ended_s=time.monotonic())
        started = time.monotonic()
        if request.gate is not None:
            request.gate.sent(started)
        name = urlsplit(request.url).hostname or ""
        status, kind, body = self._page(name, urlsplit(request.url).path)
        ended = time.monotonic()
        self.log[name].append((started, ended))
        headers = {"content-type": kind}
        return Reply(
            status, started, ended, headers=headers, body=body, wire_bytes=len(body), address=self._address(name)
        )

    @property
    def requests(self) -> int:
        return sum(map(len, list(self.log.values())))

    def short_gaps(self) -> list[tuple[str, float]]:
        """From the end of a request to the start of the next; not after the first, which says what the host asks
        for."""
        return [
            (name, after - before)
            for name, log in self.log.items()
            for (_, before), (after, _) in pairwise(sorted(log)[1:])
            if after - before < self.delay_s(name) - 0.001
        ]

    def _address(self, name: str) -> str:
        number = self.names.index(name)
        return f"127.9.{number % 2}.{number if number % 2 else number % 6}"

    def _page(self, name: str, path: str) -> tuple[int, str, bytes]:
        if path == "/robots.txt":
            shut = self._dice.choice(["/1", "/2", "/nothing"])
            delay = f"Crawl-delay: {SLOW_S}\n" if self.delay_s(name) == SLOW_S else ""
            return 200, "text/plain", f"User-agent: *\nDisallow: {shut}\n{delay}".encode()
        if self._dice.random() < 0.03:
            return 500, "text/plain", b"not now"
        links = [f"http://{self._dice.choice(self.names)}/{self._dice.randrange(PAGES)}" for _ in range(8)]
        links += [f"/{self._dice.randrange(PAGES)}?ref={self._dice.randrange(3)}" for _ in range(2)]
        links += ["http://[broken", "mailto:x@y.test", "http://elsewhere.test/", "/1", "/2", "/0"]
        anchors = "".join(f'<a href="{link}">to {link}</a> ' for link in links)
        return 200, "text/html", f"<html><body><p>{PROSE} {path}.</p>{anchors}</body></html>".encode()


class Fleet:
    """Beat and workers on `worker`, until `stop`. errors: of visits that failed in a way that they do not expect."""

    def __init__(self, worker: Worker) -> None:
        parking: DelayQueue[Any] = DelayQueue(self._resume, most=HOSTS * 2, threads=THREADS)
        self.worker = replace(worker, stays=replace(worker.stays, parking=parking, gatherer=GroupCommit(parking)))
        self.endings: Counter[str] = Counter()
        self.errors: list[BaseException] = []
        self._pool = ThreadPoolExecutor(THREADS)
        self._beat = threading.Thread(target=self._tick, daemon=True)
        self._beat.start()

    def stop(self) -> None:
        self.worker.stop()
        self._beat.join()
        self._pool.shutdown()
        self.worker.join()

    def _tick(self) -> None:
        while not self.worker.stopping.wait(0.02):
            offers: list[Offer] = []
            claim.dispatch(self.worker.engine, self.worker.settings, offers.extend, random.Random())
            for offer in offers:
                self._pool.submit(self._attend, partial(visit, self.worker, offer.host_id, offer.token))

    def _resume(self, parked: "Visit | CommitGroup[Visit]") -> None:
        if not isinstance(parked, CommitGroup):
            self._attend(lambda: go_on(parked))
            return
        try:
            then = settle_together(parked.close())
        except BaseException as error:  # noqa: BLE001  # told at the end
            self.errors.append(error)
            return
        for _, act in then:
            self._attend(act)

    def _attend(self, act: Callable[[], VisitReport]) -> None:
        try:
            self.endings[act().ending] += 1
        except CutOff as error:
            self.errors.append(error)
            return_host(error.visit)
        except BaseException as error:  # noqa: BLE001  # told at the end
            self.errors.append(error)


class Writers:
    """Operators and janitors on one database."""

    def __init__(self, worker: Worker, web: Webmaster, dice: random.Random, url: str) -> None:
        self._worker, self._web, self._dice, self._url = worker, web, dice, url
        self.done: Counter[str] = Counter()

    def acts(self) -> dict[str, Callable[[], object]]:
        engine, settings = self._worker.engine, self._worker.settings
        return {
            "trim": lambda: trim(engine, settings),
            "promote": lambda: promote(engine),
            "finish": lambda: finish(engine),
            "retention": lambda: retain(engine, settings),
            "index": lambda: index_pages(engine, within_s=0.2),
            "near": lambda: find_near(engine, within_s=0.2),
            "measure": lambda: measure(engine),
            "fold": lambda: parameters.drop(engine, settings, self._dice.choice(self._web.names), ["ref"], force=True),
            "unfold": lambda: parameters.keep(engine, self._dice.choice(self._web.names), ["ref"]),
            "search": lambda: edit.edit(engine, settings, self._crawl(), CrawlChange(search=self._dice.random() < 0.8)),
            "upgrade": lambda: migrate.upgrade(self._url),
            "seed": lambda: seeds.add(
                engine, settings, crawls.find(engine, self._crawl()), [self._page() for _ in range(20)]
            ),
            "pause": self._pause,
            "pause crawl": self._pause_crawl,
            "forget": lambda: explain.forget(engine, settings, self._page(), None),
            "retry": lambda: explain.retry(engine, settings, self._page(), None),
            "again": lambda: crawls.go_round(engine, self._crawl(), settings),
            "again, capped": self._again,
            "robots": lambda: hosts.forget(engine, self._dice.choice(self._web.names)),
            "slow": lambda: hosts.slow_domain(
                engine, self._dice.choice(["site0.test", "site2.test", "own3.test"]), None
            ),
        }

    def run(self, *, least: int, requests: int, seconds: float | None) -> None:
        """Until each has done `least` acts and the web had so many requests; or for some seconds.

        Raises what any of them raised that is not a person's mistake, such as a pause of a crawl that has just ended.
        """
        until = None if seconds is None else time.monotonic() + seconds
        with ThreadPoolExecutor(20) as pool:
            for each in [
                pool.submit(self._repeat, name, act, least, requests, until) for name, act in self.acts().items()
            ]:
                each.result()

    def _repeat(self, name: str, act: Callable[[], object], least: int, requests: int, until: float | None) -> None:
        def goes_on() -> bool:
            if until is not None:
                return time.monotonic() < until
            return self.done[name] < least or self._web.requests < requests

        while goes_on():
            self.done[name] += 1
            try:
                act()
            except InputError:
                continue

    def _pause(self) -> None:
        name = self._dice.choice(self._web.names)
        try:
            hosts.pause(self._worker.engine, name)
        finally:
            hosts.resume(self._worker.engine, name)

    def _pause_crawl(self) -> None:
        name = self._crawl()
        crawls.pause(self._worker.engine, name)
        crawls.resume(self._worker.engine, name)

    def _again(self) -> None:
        """As the command does it that is given once more."""
        name = self._crawl()
        wish = CrawlChange(exact={"max_pages": CRAWLS[name]})
        found = seeds.read(self._worker.settings, [self._page()])
        prepare(self._worker.engine, self._worker.settings, name, wish, found.urls, again=True)

    def _crawl(self) -> str:
        return self._dice.choice(list(CRAWLS))

    def _page(self) -> str:
        return f"http://{self._dice.choice(self._web.names)}/{self._dice.randrange(PAGES)}"


def plant(worker: Worker, web: Webmaster) -> None:
    """The crawls, each with a seed at every host."""
    for name, pages in CRAWLS.items():
        crawl = crawls.create(
            worker.engine, name, CrawlSpec(scope="domain", sitemaps="none", budgets=Budgets(max_pages=pages))
        )
        seeds.add(worker.engine, worker.settings, crawl, [f"http://{host}/" for host in web.names])


MISCOUNTED = """SELECT crawl_id, sum(pages) AS pages, sum(bytes) AS bytes FROM (
                    SELECT crawl_id, pages, bytes FROM crawl_hosts
                    UNION ALL SELECT crawl_id, -pages, -bytes FROM crawl_counts) AS kept
                GROUP BY crawl_id HAVING sum(pages) <> 0 OR sum(bytes) <> 0"""


def overdrawn(worker: Worker) -> list[dict[str, Any]]:
    """Crawls that got more pages than their budget grants, or counted fewer as granted than came."""
    return sql(
        worker.engine,
        """SELECT * FROM (
               SELECT c.name, c.max_pages, c.pages_reserved, coalesce(sum(ch.pages), 0) AS pages
               FROM crawls AS c LEFT JOIN crawl_hosts AS ch ON ch.crawl_id = c.id
               WHERE c.max_pages IS NOT NULL GROUP BY c.id) AS got
           WHERE pages > max_pages OR pages > pages_reserved OR pages_reserved > max_pages""",
    )
