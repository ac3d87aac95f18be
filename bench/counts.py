"""What a run costs, told by the servers and the kernel: SQL statements and transactions, messages, CPU seconds by role.

Postgres counts its statements (pg_stat_statements, of the embedded wheel), the broker its commands, /proc the CPU. A
`Meter` takes readings while the crawler runs; what lies between two of them is divided by the pages that the origin
answered in between. Counting costs Postgres a few microseconds a statement.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import redis

from app.local.home import open_home
from app.local.services import data_dir, start_postgres, start_valkey
from app.store import db
from bench import cpu
from bench.report import BenchError, Cell
from bench.web import Line

_CONF = "shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.save = off\n"
_VALUE = re.compile(r"--[^\n]*|'[^']*'|\$\d+(?:::(?:DOUBLE PRECISION|\w+)(?:\[\])?)?|(?<!:):\w+|\b\d+(?:\.\d+)?\b")
ALIKE = 0.85
NEARLY = 0.95
_STATEMENTS = """
SELECT query, calls, total_exec_time, rows FROM pg_stat_statements
WHERE userid = current_user::regrole AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND query IS NOT NULL  -- Postgres may have dropped a text
"""
_COMMITTED = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
# The statements that each visit and each settle has once.
VISIT, SETTLE = "hosts.take_up", "hosts.lock_leased"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything so far. at: Unix seconds, as the origin's log has them.   statements, sql_ms, rows: calls, time and
    rows by named query."""

    at: float
    statements: Counter[str]
    sql_ms: Counter[str]
    rows: Counter[str]
    transactions: int
    messages: int
    cpu: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of the pages between two readings, the first of them at begin (Unix seconds)."""

    pages: int
    begin: float
    seconds: float
    statements: Counter[str]
    sql_ms: Counter[str]
    rows: Counter[str]
    transactions: int
    messages: int
    cpu: Mapping[str, float]

    @property
    def queries(self) -> int:
        """Statements but for those that open and close transactions."""
        return sum(calls for name, calls in self.statements.items() if name not in {"BEGIN", "COMMIT", "ROLLBACK"})

    @property
    def crawler_cpu(self) -> float:
        """CPU seconds of everything but the origin."""
        return sum(used for role, used in self.cpu.items() if role != cpu.ORIGIN)

    def per_page(self) -> dict[str, Cell]:
        """A row: messages, visits, settles, transactions and statements a page, and CPU milliseconds."""
        of: dict[str, int] = {
            "messages": self.messages,
            "visits": self.statements[VISIT],
            "settles": self.statements[SETTLE],
            "transactions": self.transactions,
            "statements": self.queries,
        }
        row: dict[str, Cell] = {name: round(n / self.pages, 4) for name, n in of.items()}
        return row | {"cpu ms": self.ms(self.crawler_cpu)}

    def cpu_rows(self) -> list[dict[str, Cell]]:
        """A row for each role, the most first."""
        roles = sorted(((role, used) for role, used in self.cpu.items() if used), key=lambda item: -item[1])
        return [
            {"process": role, "ms/page": self.ms(used), "share of a core": round(used / self.seconds, 3)}
            for role, used in roles
        ]

    def statement_rows(self) -> list[dict[str, Cell]]:
        """A row for each query that comes at least once in a hundred pages, the most first."""
        ranked = Counter(self.statements).most_common()
        return [
            {"query": name, "per page": round(n / self.pages, 3), "ms/page": round(self.sql_ms[name] / self.pages, 3)}
            for name, n in ranked
            if n >= self.pages / 100
        ]

    def ms(self, used: float) -> float:
        """CPU seconds of these pages as milliseconds of one."""
        return round(1000 * used / self.pages, 3)


@dataclass(slots=True, kw_only=True)
class Meter:
    """Call it now and then: it takes a reading every `every_s` seconds at most."""

    database_url: str
    broker_url: str
    database: psycopg.Connection[tuple[Any, ...]]
    broker: redis.Redis
    every_s: float = 1.0
    readings: list[Reading] = field(default_factory=list)

    def __call__(self) -> None:
        """Take a reading if it is time."""
        if not self.readings or time.time() - self.readings[-1].at >= self.every_s:
            self.readings.append(self.read())

    def read(self) -> Reading:
        """A reading now."""
        calls: Counter[str] = Counter()
        sql_ms: Counter[str] = Counter()
        rows: Counter[str] = Counter()
        for query, n, ms, found in self.database.execute(_STATEMENTS):
            calls[name_of(query)] += n
            sql_ms[name_of(query)] += ms
            rows[name_of(query)] += found
        committed = self.database.execute(_COMMITTED).fetchone()
        pushed = self.broker.info("commandstats").get("cmdstat_lpush", {})
        return Reading(
            at=time.time(),
            statements=calls,
            sql_ms=sql_ms,
            rows=rows,
            transactions=committed[0] if committed else 0,
            messages=pushed.get("calls", 0),
            cpu=cpu.seconds(),
        )

    def cost(self, lines: list[Line], begin: float, end: float) -> Cost:
        """What lies between the first reading after begin and the last before end. Raises BenchError for fewer than
        two."""
        within = [reading for reading in self.readings if begin <= reading.at <= end]
        if len(within) < 2:
            raise BenchError(f"a run of {end - begin:.1f} s is too short to read the counters twice")
        first, last = within[0], within[-1]
        pages = sum(
            first.at < line["t"] <= last.at and line["status"] == 200 and line["uri"] != "/robots.txt" for line in lines
        )
        if not pages:
            raise BenchError("no page was fetched between two readings of the counters")
        return Cost(
            pages=pages,
            begin=first.at,
            seconds=last.at - first.at,
            statements=last.statements - first.statements,
            sql_ms=last.sql_ms - first.sql_ms,
            rows=last.rows - first.rows,
            transactions=last.transactions - first.transactions,
            messages=last.messages - first.messages,
            cpu=cpu.used_by_role(first.cpu, last.cpu),
        )


@contextmanager
def metered(home: Path) -> Iterator[Meter]:
    """The embedded services of a new home, started here and counting, so that they outlive the crawl. Raises
    BenchError."""
    if missing := {VISIT, SETTLE} - _known().keys():
        raise BenchError(f"there is no query {missing.pop()} any more: say in bench/counts.py what to count instead")
    with start_postgres(home, print):
        pass  # makes the database
    with (data_dir(home) / "yours.conf").open("a") as conf:
        conf.write(_CONF)
    with start_postgres(home, print) as postgres, start_valkey(home, print) as valkey:
        _extend(home, postgres.url)
        with psycopg.connect(postgres.url, autocommit=True) as database, redis.Redis.from_url(valkey.url) as broker:
            yield Meter(database_url=postgres.url, broker_url=valkey.url, database=database, broker=broker)


def _extend(home: Path, url: str) -> None:
    password = open_home(home).recall("postgres")["admin_password"]
    with psycopg.connect(url, user="postgres", password=password, autocommit=True) as admin:
        try:
            admin.execute("CREATE EXTENSION pg_stat_statements")
        except psycopg.Error as error:
            raise BenchError(f"this Postgres cannot count statements: {error}") from error


def steady(hosts: int, lines: list[Line]) -> tuple[float, float]:
    """A polite run's window: from when nearly every host has been contacted to the last request. Raises BenchError."""
    first = sorted({line["host"]: line["t"] for line in reversed(lines)}.values())
    nearly = math.ceil(NEARLY * hosts)
    if len(first) < nearly:
        raise BenchError(f"only {len(first)} of {hosts} hosts were contacted; more --seconds")
    return first[nearly - 1], lines[-1]["t"]


@cache
def name_of(statement: str) -> str:
    """room.name of a query as Postgres shows it, constants and parameters numbered; else its first words.

    It numbers more than one would think (`extract(epoch …)`, lists after IN), hence the likest instead of the same.
    """
    words = _words(statement)
    name, likeness = max(((name, _likeness(words, own)) for name, own in _known().items()), key=lambda pair: pair[1])
    return name if likeness > ALIKE else " ".join(statement.split()[:6])


def query_files() -> list[Path]:
    """All files of queries, of the features too."""
    return sorted(path for path in Path(db.__file__).parents[1].rglob("*.sql") if path.stem != "views")


@cache
def _known() -> dict[str, Counter[str]]:
    return {
        f"{file.stem}.{name}": _words(str(query))
        for file in query_files()
        for name, query in db.queries(file.stem, str(file)).items()
    }


def _words(statement: str) -> Counter[str]:
    """Without comments, literals, parameters and the casts that SQLAlchemy gives them."""
    return Counter(re.findall(r"\w+", _VALUE.sub(" ", statement)))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(min(times, other[word]) for word, times in one.items() if word in other)
    return 2 * shared / max(one.total() + other.total(), 1)
