"""What a soak measures besides the invariants: memory over pages and time, claims early and late, tables and their
bloat, and the rate between the faults. Pure but for `sizes`."""

import bisect
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

import psycopg
from psycopg.rows import dict_row

from tests.faults.kit import Rig
from tests.faults.log_judge import Fault, see
from tests.faults.web import Line

MIB = 1024 * 1024
WARM_SHARE = 0.25  # of a worker's samples: its imports and caches
SAMPLES_LEAST = 8
Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Resident memory of a worker. at: monotonic seconds."""

    worker: str
    at: float
    rss_kib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """How a worker's memory grew once it was warm: MiB for each 1,000 requests, and for each hour."""

    worker: str
    minutes: float
    requests: int
    from_mib: float
    to_mib: float
    per_1000: float
    per_hour: float


def slopes(samples: Sequence[Sample], lines: Sequence[Line]) -> list[Slope]:
    """Of each worker that was looked at often enough, the longest-lived first."""
    found = []
    for name in dict.fromkeys(sample.worker for sample in samples):
        own = [sample for sample in samples if sample.worker == name]
        warm = own[int(len(own) * WARM_SHARE) :]
        starts = sorted(line.start for line in lines if line.worker == name)
        served = [bisect.bisect(starts, sample.at) for sample in warm]
        if len(warm) < SAMPLES_LEAST or served[0] == served[-1]:
            continue
        mib = [sample.rss_kib / 1024 for sample in warm]
        found.append(
            Slope(
                worker=name,
                minutes=(own[-1].at - own[0].at) / 60,
                requests=served[-1],
                from_mib=mib[0],
                to_mib=mib[-1],
                per_1000=1000 * statistics.linear_regression(served, mib).slope,
                per_hour=3600 * statistics.linear_regression([sample.at for sample in warm], mib).slope,
            )
        )
    return sorted(found, key=lambda slope: -slope.minutes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Milliseconds of claims that no fault overlapped."""

    n: int
    p50_ms: float
    p99_ms: float


def claims(events: Iterable[dict[str, object]], within: Span, faults: Sequence[Span]) -> Claims | None:
    """Of `dispatch.offered` events. within, faults: spans of wall-clock seconds. None: too few to say."""
    found = []
    for event in events:
        end = datetime.fromisoformat(str(event["timestamp"])).timestamp()
        took_s = float(str(event["claimed_s"]))
        if within[0] <= end < within[1] and not any(end - took_s <= to and since <= end for since, to in faults):
            found.append(1000 * took_s)
    if len(found) < SAMPLES_LEAST:
        return None
    hundredths = statistics.quantiles(found, n=100, method="inclusive")
    return Claims(n=len(found), p50_ms=hundredths[49], p99_ms=hundredths[98])


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Bytes of a table (its partitions together), of its indexes, and dead row versions."""

    table: int
    indexes: int
    rows: int
    dead: int

    @property
    def bytes(self) -> int:
        return self.table + self.indexes


SIZES = """
SELECT coalesce(parent.relname, c.relname) AS name,
       CAST(sum(pg_table_size(c.oid)) AS bigint) AS "table", CAST(sum(pg_indexes_size(c.oid)) AS bigint) AS indexes,
       CAST(sum(tuples.tuple_count) AS bigint) AS rows, CAST(sum(tuples.dead_tuple_count) AS bigint) AS dead
FROM pg_class AS c
CROSS JOIN LATERAL pgstattuple(c.oid) AS tuples
LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
LEFT JOIN pg_class AS parent ON parent.oid = i.inhparent
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
GROUP BY 1
"""


def sizes(rig: Rig) -> dict[str, Size]:
    """By table, counted row by row: the statistics of n_dead_tup do not outlive a crash."""
    place = {**rig.postgres.admin(), "dbname": rig.database_url.rpartition("/")[2]}
    with psycopg.connect(**place, autocommit=True, row_factory=dict_row) as connection:  # type: ignore[arg-type]
        connection.execute("CREATE EXTENSION IF NOT EXISTS pgstattuple")
        rows = connection.execute(SIZES).fetchall()
    return {row.pop("name"): Size(**row) for row in rows}


def total(found: dict[str, Size]) -> int:
    return sum(size.bytes for size in found.values())


def rate(lines: Sequence[Line], spans: Sequence[Span]) -> float:
    """Requests a second within the spans of monotonic seconds."""
    starts = sorted(line.start for line in lines)
    n = sum(bisect.bisect(starts, to) - bisect.bisect(starts, since) for since, to in spans)
    return n / max(sum(to - since for since, to in spans), 0.001)


def busier(answers: Sequence[Span], early: Span, late: Span) -> float:
    """How many times as long most answers took late as early. answers: moments, and seconds."""

    def most(span: Span) -> float:
        took = [seconds for at, seconds in answers if span[0] <= at < span[1]]
        return statistics.quantiles(took, n=10, method="inclusive")[8] if len(took) > 1 else 1.0

    return most(late) / most(early)


def recovered(rounds: Iterable[tuple[Sequence[Line], Sequence[Fault]]]) -> dict[str, float]:
    """By name of the fault: the longest that a host with something queued was left alone after it, the worst first."""
    found: dict[str, float] = {}
    for lines, faults in rounds:
        for at, fault in enumerate(faults):
            took_s = see(lines, truth=(), delay_s=0.0, faults=[fault, *_deaf(faults[at + 1 :])]).recovered_s
            found[fault.name] = max(found.get(fault.name, 0.0), took_s)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _deaf(faults: Sequence[Fault]) -> list[Fault]:
    """They come between, and nothing is asked of them themselves."""
    return [replace(fault, end=float("inf")) for fault in faults]


def between(faults: Sequence[Fault]) -> list[Span]:
    return [(one.end, other.begin) for one, other in pairwise(faults)]


def tally(faults: Sequence[Fault]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(Counter(fault.name for fault in faults).items()))
