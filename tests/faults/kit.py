"""The kit of the fault tests: a web, a Postgres, a Valkey and a fleet, all in processes of their own; faults; the
judge.

    def test_ft99_something(make_rig, rng):
        rig = make_rig(hosts=8, pages=20, delay_s=0.3, workers=2)    # web, database, fleet; `rig.seed()` makes the
                                                                     crawl
        rig.seed()
        rig.until_requests(20)                                       # waits for what happens, never for time
        with rig.fault("Valkey is gone", total=True):                # noted for INV6: what was waiting, from when to
                                                                     when
            rig.valkey.kill()
            rig.last(3)
            rig.valkey.start()
        rig.until_finished()
        rig.judge(kills=0)                                           # INV1 to INV8, and the row of docs/reliability.md

Pieces: `rig.web` (tests.faults.web: hold, rule, lines, truth), `rig.postgres` and `rig.valkey` (servers: kill, crash,
freeze, start), `rig.fleet` (worker, beat; their kill, freeze, thaw, terminate), `rig.sql`, `rig.figures` (what the test
itself measured: it goes into the row).

Settings are the product's, but for those that would make a test long. Shortened: requests end after 1.5 s, so that a
lease may be 7 s and an offer 3 s. Turned off, where a test is not about them: jitter, the budget of an address (each
host here has its own) and the delay's floor by latency (pages are held open on purpose). The delay D is 0.3 s: more
than a visit lingers, so that it is parked between two requests; with delay_s=0.2 it stays in its thread. FAULTS=long
runs the long forms, on loopback as it is; the quick ones are crawled at the end of a road (tests.faults.web), unless a
test says road=None.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from app.config import load
from app.config.constants import variable
from bench.delays import Delays
from tests.faults.fleet import NOTHING, Child, Fleet
from tests.faults.judge import Cost, Finding, judge, unleased
from tests.faults.log_judge import Fault, see, short_pairs, told
from tests.faults.pace import IMPATIENCE_S, IS_LONG, RESUMED_S, SETTINGS, Pace, at_most_s
from tests.faults.servers import OwnPostgres, OwnValkey
from tests.faults.waiting import PATIENCE_S, T, last, until
from tests.faults.web import ROAD, Line, Web

CRAWL = "faults"
SLOTS = 4  # visits at once, of each worker
EVIDENCE_MOST = 10
WARM = 10  # requests after which a worker's imports are done


class Rig:
    """One crawl and everything it runs on. `make_rig` makes it; it is gone with the test."""

    def __init__(
        self,
        folder: Path,
        postgres: OwnPostgres,
        valkey: OwnValkey,
        *,
        hosts: int,
        pages: int,
        delay_s: float,
        settings: Mapping[str, object],
        addresses: Sequence[str] = (),
        names: Sequence[str] = (),
        env: Mapping[str, str] = NOTHING,
        road: Delays | None = None if IS_LONG else ROAD,
    ) -> None:
        chosen = {**SETTINGS, "default_delay_s": delay_s, **settings}
        self.settings = load(**chosen)
        self.folder, self.postgres, self.valkey = folder, postgres, valkey
        self.database_url = postgres.make_database()
        with valkey.client() as client:
            client.config_set("maxmemory", 0)
            client.flushall()
        self._cleanup = ExitStack()
        self.web = self._cleanup.enter_context(
            Web(folder / "web", hosts=hosts, pages=pages, addresses=addresses, names=names, road=road)
        )
        trusted = {"SSL_CERT_FILE": str(self.web.authority)} if self.web.authority else {}
        self.env = {
            "TIPTOE_HOME": str(folder / "home"),
            "TIPTOE_DATABASE_URL": self.database_url,
            "TIPTOE_BROKER_URL": valkey.url,
            **{variable(name): str(value) for name, value in chosen.items()},
            **trusted,
            **env,
        }
        self.fleet = Fleet(folder, self.env)
        self._cleanup.callback(self.fleet.close)
        self.faults: list[Fault] = []
        self.figures: dict[str, Any] = {}
        self._connection: psycopg.Connection[dict[str, Any]] | None = None

    @property
    def pace(self) -> Pace:
        return Pace.of(self.settings)

    def move(self, database_url: str) -> None:
        """What is started from now on, and the test itself, finds the database there."""
        self.database_url = database_url
        self.fleet.env["TIPTOE_DATABASE_URL"] = database_url
        if self._connection is not None:
            self._connection.close()

    def also(self, other: AbstractContextManager[T]) -> T:
        """Something else that the test needs: it is gone with the rig."""
        return self._cleanup.enter_context(other)

    def start(self, *, workers: int = 2, beats: int = 1, slots: int = SLOTS) -> None:
        for _ in range(beats):
            self.fleet.beat()
        for _ in range(workers):
            self.fleet.worker(slots)

    def seed(self) -> None:
        """One crawl over all hosts, as a user makes it."""
        self.fleet.tiptoe("seed", "add", CRAWL, *self.web.seeds)

    def sql(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Rows, over a connection that is kept. Raises psycopg.OperationalError while Postgres is away."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(
                    self.database_url,
                    autocommit=True,
                    row_factory=dict_row,
                    connect_timeout=2,
                    application_name="tests",
                )
            found = self._connection.execute(query, values or None)
            return found.fetchall() if found.description else []
        except psycopg.OperationalError:
            self._connection = None
            raise

    def settled(self) -> int:
        """Pages whose result is committed."""
        return int(
            self.sql("SELECT count(*) AS n FROM urls WHERE kind = 'page' AND state = 'resting' AND NOT retrying")[0][
                "n"
            ]
        )

    def until(self, condition: Callable[[], T | None], what: str, timeout_s: float = PATIENCE_S) -> T:
        """Wait for it; whatever of the fleet ends by itself meanwhile is started again."""
        return until(lambda: self.fleet.tend() or condition(), what, timeout_s)

    def last(self, seconds: float) -> None:
        """A fault lasts so long."""
        last(seconds, self.fleet.tend)

    def is_finished(self) -> bool:
        try:
            return bool(self.sql("SELECT state FROM crawls WHERE name = %s", CRAWL)[0]["state"] == "finished")
        except psycopg.OperationalError:
            return False

    def until_ready(self) -> None:
        """Every worker waits for messages: it is up."""
        with self.valkey.client() as client:
            self.until(
                lambda: sum(each["cmd"] == "brpop" for each in client.client_list()) >= len(self.fleet.workers),
                "all workers listen",
            )

    def until_requests(self, n: int) -> None:
        self.until(lambda: len(self.web.lines()) >= n, f"{n} requests")

    def until_share(self, share: float) -> None:
        """So much of the truth is fetched."""
        self.until(lambda: len(self.web.pages_brought()) >= share * len(self.web.truth), f"{share:.0%} of all pages")

    def until_finished(self) -> None:
        self.until(self.is_finished, "the crawl ends", IMPATIENCE_S)

    def more_requests(self, n: int) -> None:
        """So many from now on, or the crawl ends."""
        wanted = len(self.web.lines()) + n
        self.until(lambda: len(self.web.lines()) >= wanted or self.is_finished(), f"{n} more requests")

    def until_in_flight(self, children: list[Child], held: Collection[str] = ()) -> Line:
        """A request that one of them has open just now; held: that has just begun, for one of these paths."""
        names, since = {child.name for child in children}, time.monotonic()

        def is_it(line: Line) -> bool:
            return line.worker in names and (not held or (line.path in held and line.start >= since))

        return self.until(
            lambda: next((line for line in self.web.in_flight() if is_it(line)), None),
            f"a request of {sorted(names)}",
        )

    def waiting(self) -> frozenset[str]:
        """Hosts with something queued."""
        rows = self.sql("SELECT DISTINCT h.name FROM hosts h JOIN urls u ON u.host_id = h.id WHERE u.state = 'queued'")
        return frozenset(row["name"] for row in rows)

    @contextmanager
    def fault(self, name: str, *, total: bool = False) -> Iterator[None]:
        """It lasts as long as the block. total: nobody can crawl meanwhile."""
        self._note_rss()
        waiting, begin = self.waiting(), time.monotonic()
        yield
        self.faults.append(Fault(name=name, begin=begin, end=time.monotonic(), waiting=waiting, is_total=total))

    def judge(
        self,
        *,
        kills: int = 0,
        slots: int = SLOTS,
        exempt: frozenset[int] = frozenset(),
        recovered_s: float | None = None,
        missed: tuple[float, float] | None = None,
        attempts: int | None = None,
    ) -> None:
        """Every invariant, as this fault may bend it. Fills the row; fails naming what is broken.

        kills, slots   INV3, INV5: visits were torn off so many times, so many at a time at most
        exempt         requests that were in flight when their worker was stopped
        recovered_s    INV6, where a test has a bound of its own
        attempts       INV3: requests for one URL, where a test has a bound of its own
        missed         monotonic seconds from, until: INV3, INV7: of requests in between the database may know nothing
                       any more
        """
        pace, lines = self.pace, self.web.lines()
        cost = Cost(
            kills=kills,
            slots=slots,
            batch=pace.batch,
            recovered_s=at_most_s(recovered_s or pace.recovered_s),
            resumed_s=at_most_s(RESUMED_S),
            attempts=attempts or self.settings.attempts_max,
            missed=missed,
        )
        seen = see(lines, truth=self.web.truth, delay_s=pace.delay_s, faults=self.faults, exempt=exempt)
        found = judge(seen, self.sql, self.web, lines, cost, lease_s=pace.lease_s)
        self._memory(found)
        self.figures.update(found.figures, mended=len(self.fleet.mended))
        evidence = short_pairs(lines, pace.delay_s, exempt) + [
            f"unleased: {told(line)}" for line in unleased(self.sql, lines, missed)
        ]
        assert not found.broken, "\n".join(
            [*found.broken, *evidence[:EVIDENCE_MOST], f"faults at {[(f.name, round(f.end, 3)) for f in self.faults]}"]
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._cleanup.close()

    def _note_rss(self) -> None:
        """Before the first fault that finds it at work."""
        served = Counter(line.worker for line in self.web.lines())
        for child in self.fleet.workers:
            if child.rss_before is None and served[child.name] >= WARM:
                child.rss_before = child.rss_kib()

    def _memory(self, found: Finding) -> None:
        """INV8: what workers that lived through the faults hold, against before. A young process grows by itself: its
        imports and caches are no leak, so 32 MiB are free."""
        grown = [child.rss_kib() / child.rss_before for child in self.fleet.workers if child.rss_before]
        too_much = [
            child.name
            for child in self.fleet.workers
            if child.rss_before and child.rss_kib() > 1.2 * child.rss_before + 32 * 1024
        ]
        found.expect("INV8 memory", not too_much, rss=round(max(grown, default=0.0), 2))


MakeRig = Callable[..., Rig]
Rng = random.Random
