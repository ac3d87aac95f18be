"""What `bench.scale` times: the product's own functions, one after the other on one connection, commits included.

An operation prepares untimed, and leaves the frontier as it was, or a few pages further. Its answer is milliseconds;
CPU is what the server process of the connection took, where /proc tells.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from sqlalchemy import Engine, text

from app.admin import explain, report
from app.beat import claim, finish, promote, rotate_logs, sweep, trim
from app.config import Settings
from app.crawl.page import fetch
from app.crawl.state.setup import make_worker
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.crawl.visit.visit import take_up
from app.model import Reply, Request, RequestKind, Url, VisitEnding
from app.policy.candidate import Candidate
from app.policy.lifecycle import VisitEvent
from app.store import db, suppressions, urls
from app.store.host_rows import Offer
from app.store.url_rows import Admission, admission
from bench.claim import GIVE_BACK
from bench.report import BenchError
from bench.scale_load import BIG

BATCH = 50
LINKS = 1_000
LINKS_A_PAGE = 20
PROMOTED = 500
_PATH = "/a/page/of/usual/length/"
VIEWS = {
    "v_host_status, 20": "SELECT * FROM v_host_status LIMIT 20",
    "v_due of a host, 20": "SELECT * FROM v_due WHERE host = :host ORDER BY lane, score DESC LIMIT 20",
    "v_recent_errors, 20": "SELECT * FROM v_recent_errors LIMIT 20",
    "v_politeness_audit of a host": "SELECT * FROM v_politeness_audit WHERE host_id = :host_id",
    "v_sitemaps, 20": "SELECT * FROM v_sitemaps LIMIT 20",
    "v_budgets, 20": "SELECT * FROM v_budgets LIMIT 20",
}
COUNTING = {
    "v_crawl_progress": "SELECT * FROM v_crawl_progress",
    "v_host_status, all": "SELECT waits_for, count(*) FROM v_host_status GROUP BY 1",
    "v_politeness_audit, all": "SELECT count(*) FROM v_politeness_audit",
    "v_address_audit, all": "SELECT count(*) FROM v_address_audit",
}


class Frontier:
    """One database under test. times: milliseconds, and CPU milliseconds of the server, by operation."""

    def __init__(self, engine: Engine, settings: Settings, rng: random.Random) -> None:
        self.engine = db.connect(engine.url.render_as_string(hide_password=False), pool_size=1)
        self.aside = engine
        self.settings = settings
        self.rng = rng
        self.worker: Worker = make_worker(settings, engine=self.engine, send=self._page, where=None, name="bench:1")
        self.times: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self.wal: list[int] = []
        self._made = 0
        with self.engine.connect() as connection:
            pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            self.hosts: int = connection.exec_driver_sql("SELECT count(*) FROM crawl_hosts").scalar_one()
        self._cpu = Path(f"/proc/{pid}/schedstat")

    def timed(self, what: str, act: Callable[[], object]) -> None:
        cpu, began = self.cpu_ms(), time.perf_counter()
        act()
        self.times[what].append((1000 * (time.perf_counter() - began), self.cpu_ms() - cpu))

    def cpu_ms(self) -> float:
        """Of our server process, so far; 0 where nobody tells."""
        return int(self._cpu.read_text().split()[0]) / 1e6 if self._cpu.exists() else 0.0

    def aside_sql(self, statement: str, **values: object) -> None:
        with self.aside.begin() as tx:
            tx.execute(text(statement), values)

    # --- a tick -----------------------------------------------------------------------------------------------

    def tick(self, visits: int) -> None:
        """A claim, some whole visits of 50 URLs, the rest given back."""
        offers: list[Offer] = []
        self.timed("claim", lambda: claim.dispatch(self.engine, self.settings, offers.extend, self.rng))
        if not offers:
            raise BenchError("nothing was claimed, though all hosts are due")
        for offer in offers[:visits]:
            self._visit(offer)
        self.aside_sql(GIVE_BACK, ids=[offer.host_id for offer in offers])

    def _visit(self, offer: Offer) -> None:
        self.aside_sql("UPDATE urls SET state = 'queued', due_at = NULL WHERE host_id = :id", id=offer.host_id)
        taken = []
        self.timed("take-up and pick", lambda: taken.append(take_up(self.worker, offer.host_id, offer.token)))
        visit = taken[0]
        if visit is None or not visit.picked.due:
            raise BenchError("an offer could not be taken up, or its host had no queued URL")
        visit.move(VisitEvent.SERVED)
        while visit.picked.due:
            fetch.fetch(visit, visit.picked.due.popleft())
        before = self._wal_bytes()
        self.timed(f"settle of {BATCH}", partial(settle.leave, visit, VisitEnding.STOPS))
        self.wal.append(self._wal_bytes() - before)

    def _wal_bytes(self) -> int:
        """Of the whole server, so far."""
        with self.aside.connect() as connection:
            return int(connection.exec_driver_sql("SELECT pg_current_wal_insert_lsn() - '0/0'").scalar_one())

    def _page(self, request: Request) -> Reply:
        """A page of its own words: links to known URLs of its host and of others, and a few new ones."""
        now, host = time.monotonic(), request.url.split("/")[2]
        self._made += 1
        known = [f"{_PATH}{self.rng.randint(1, 50)}.html" for _ in range(LINKS_A_PAGE // 2)]
        others = [f"http://{self._host()}{path}" for path in known[:5]]
        new = [f"http://{host}/new/{self._made}/{number}.html" for number in range(LINKS_A_PAGE // 4)]
        links = "".join(f'<a href="{link}">x</a>' for link in (*known, *others, *new))
        body = f"<html><title>Page {self._made}</title><p>Words of {request.url} only. {links}</html>".encode()
        return Reply(
            status=200,
            started_s=now,
            ended_s=now,
            headers={"content-type": "text/html"},
            body=body,
            wire_bytes=len(body),
        )

    def _host(self) -> str:
        return f"h{self.rng.randint(1, self.hosts - 1)}.test"

    # --- the rest -----------------------------------------------------------------------------------------------

    def admit(self) -> None:
        """1,000 links to 200 hosts: all known, then all new; the new ones are taken out again."""
        with db.transaction(self.aside) as tx:
            some = "SELECT host_id, url FROM urls WHERE host_id = ANY(:ids) AND url LIKE :path LIMIT :n"
            ids = [self.rng.randint(1, self.hosts - 1) for _ in range(300)]
            rows = tx.execute(text(some), {"ids": ids, "path": f"%{_PATH}%", "n": LINKS}).all()
        known = [self._admission(row.host_id, row.url) for row in rows]
        new = [self._admission(row.host_id, f"{row.url}?{self.rng.random()}") for row in rows]
        self.timed(f"admit of {LINKS} known links", lambda: self._admit(known, 0))
        self.timed(f"admit of {LINKS} new links", lambda: self._admit(new, len(new)))
        self.aside_sql("DELETE FROM urls WHERE host_id = ANY(:ids) AND url LIKE '%?%'", ids=ids)

    def _admit(self, rows: list[Admission], expected: int) -> None:
        with db.transaction(self.engine) as tx:
            if urls.admit(tx, rows).rows != expected:
                raise BenchError("not as many links were new as should be")

    def _admission(self, host_id: int, found: str) -> Admission:
        url = self.worker.canon.canonicalise(found)
        if not isinstance(url, Url):
            raise BenchError(f"{found} is no URL")
        link = Candidate(1, url, RequestKind.PAGE, lane=1, score=0.5, depth=2, hops=0, found_on="http://h1.test/")
        return admission(link, host_id)

    def promote(self) -> None:
        """500 retries and 500 recrawls that are due, and their hosts woken."""
        ids = [self.rng.randint(1, self.hosts - 1) for _ in range(80)]
        due = """UPDATE urls SET due_at = clock_timestamp() - interval '1 minute', retrying = :retrying
                 WHERE ctid = ANY(ARRAY(SELECT ctid FROM urls WHERE host_id = ANY(:ids) AND state = 'resting' LIMIT
                 :n))"""
        for half, retrying in ((ids[:40], True), (ids[40:], False)):
            self.aside_sql(due, ids=half, retrying=retrying, n=PROMOTED)
        self.aside_sql("UPDATE crawls SET keep_fresh = true")
        self.timed(f"promote of {2 * PROMOTED}", lambda: promote.promote(self.engine))
        self.aside_sql("UPDATE crawls SET keep_fresh = false")
        back = """UPDATE urls SET state = 'resting', due_at = clock_timestamp() + interval '9 days'
                  WHERE host_id = ANY(:ids) AND id % 2 = 0"""
        self.aside_sql(back, ids=ids)

    def maintain(self) -> None:
        self.aside_sql("UPDATE crawls SET max_pages = 1000000000000")
        self.timed("finish", lambda: finish.finish(self.engine))
        self.aside_sql("UPDATE crawls SET max_pages = NULL")
        self.timed("sweep", lambda: sweep.sweep(self.engine))
        self.timed("trim", lambda: trim.trim(self.engine, self.settings))
        self.timed("retain", lambda: rotate_logs.retain(self.engine, self.settings))
        self.timed(f"forget {LINKS // 10} refusals", self._forget)

    def _forget(self) -> None:
        """The oldest; put back by nobody."""
        with db.transaction(self.engine) as tx:
            until = tx.execute(text("SELECT clock_timestamp()")).scalar_one()
            suppressions.prune(tx, crawl_id=1, until=until, n=LINKS // 10)

    def look(self) -> None:
        """What a person asks, of a host of usual size and of the big one."""
        number = self.rng.randint(1, self.hosts - 1)
        for view, query in VIEWS.items():
            self.timed(view, partial(self._ask, query, number))
        for host, of in ((f"h{number}.test", ""), (BIG, ", on the big host")):
            for nth, state in ((13, "resting"), (14, "queued")):
                url = f"http://{host}{_PATH}{nth}.html"
                self.timed(f"url why, {state}{of}", partial(explain.why, self.engine, self.settings, url))
        self.timed("status", lambda: report.status(self.engine))

    def count(self) -> None:
        """What reads everything."""
        for view, query in COUNTING.items():
            self.timed(view, partial(self._ask, query, 1))
        self.timed("crawl report", lambda: report.report(self.engine, "bench"))

    def _ask(self, query: str, number: int) -> None:
        wanted = {
            name: value for name, value in (("host", f"h{number}.test"), ("host_id", number)) if f":{name}" in query
        }
        with db.transaction(self.engine) as tx:
            tx.execute(text(query), wanted).all()

    def seeds(self, n: int, hosts: int) -> Iterator[str]:
        """Lines of a file of seeds, new to the frontier."""
        self._made += 1
        return (f"http://seed{self._made}-{number % hosts}.test/page/{number // hosts}.html" for number in range(n))
