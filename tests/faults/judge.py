"""The judge: INV1 to INV8 of docs/reliability.md after a crawl, or after several rounds of it, each a crawl of its own,
from the web's log and by SQL, never from what the crawler counts alone.

INV7, that a late worker changes nothing, is asked three ways: requests that belong to no visit of their sender
(`unleased`), URLs whose result two visits wrote (`written_twice`), and whether the crawl's counters, which each settle
adds to, come out at exactly the pages there are (`counted`).
"""

import bisect
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.model import VisitEnding
from tests.faults.log_judge import Seen
from tests.faults.web import FORBIDDEN, Line, Web

Sql = Callable[..., list[dict[str, Any]]]
BUSY = (
    VisitEnding.READERS_BUSY.value
)  # the machine was too busy to read a page in isolation: brought, and brought again
CLOCKS_S = 0.005  # the web's and Postgres' reading of one clock, one after the other
RSS_GROWTH = 1.2
ROUNDS = "SELECT id FROM crawls WHERE name ~ '^faults(-[0-9]+)?$'"  # a test may have others beside them
OURS = f"crawl_id IN ({ROUNDS})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a fault may cost.

    kills, slots   INV3 and INV5: how often somebody was killed, and how many visits at a time
    batch          URLs that a visit may hold unsettled
    recovered_s, resumed_s   INV6;   attempts   INV3: requests for one URL
    missed  monotonic seconds from, until: of requests in between the database may know nothing, and make them again
    """

    kills: int
    slots: int
    batch: int
    recovered_s: float
    resumed_s: float
    attempts: int = 3
    missed: tuple[float, float] | None = None

    def repeats(self, lines: Sequence[Line]) -> int:
        return self.kills * self.slots * self.batch + sum(_is_within(line, self.missed) for line in lines)


@dataclass(slots=True, kw_only=True)
class Finding:
    """Figures, and which invariants they break."""

    figures: dict[str, Any] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def expect(self, invariant: str, holds: bool, **figures: Any) -> None:
        self.figures |= figures
        if not holds:
            told = ", ".join(f"{name}={value}" for name, value in figures.items())
            self.broken.append(f"{invariant}: {told}")


def judge(seen: Seen, sql: Sql, web: Web, lines: Sequence[Line], cost: Cost, *, lease_s: float) -> Finding:
    found = Finding(figures={"requests": seen.requests})
    _nothing_lost(found, seen, sql, web)
    _nothing_invented(found, sql, web, lines)
    unread = sql(f"SELECT count(*) AS n FROM visits WHERE ending = '{BUSY}'")[0]["n"]
    found.expect(
        "INV3 bounded repeats",
        seen.repeats <= cost.repeats(lines) + unread and seen.most_lines <= cost.attempts + unread,
        repeats=seen.repeats,
        repeats_allowed=cost.repeats(lines),
        most_lines=seen.most_lines,
        unread=unread,
    )
    found.expect(
        "INV4 politeness",
        seen.gaps_short == 0 and seen.concurrent <= 1,
        gap_min_s=round(seen.gap_min_s, 3),
        gaps_short=seen.gaps_short,
        concurrent=seen.concurrent,
    )
    found.expect(
        "INV5 robots",
        seen.disallowed == 0 and seen.before_robots == 0 and seen.robots_most <= 1 + cost.kills,
        disallowed=seen.disallowed,
        before_robots=seen.before_robots,
        robots_most=seen.robots_most,
    )
    found.expect(
        "INV6 recovery",
        seen.recovered_s <= cost.recovered_s and seen.resumed_s <= cost.resumed_s,
        recovered_s=round(seen.recovered_s, 1),
        resumed_s=round(seen.resumed_s, 1),
    )
    _fenced(found, sql, web, lines, cost.missed)
    _no_leak(found, sql, lease_s)
    return found


def unleased(sql: Sql, lines: Sequence[Line], missed: tuple[float, float] | None = None) -> list[Line]:
    """Requests sent by somebody whose visit to the host was not the latest one then. Visits name processes by their id,
    the log by their name: the two belong together that go together most often. missed: as in Cost; of these nobody can
    tell."""
    visits = sql(
        "SELECT h.name AS host, v.worker, extract(epoch FROM v.taken_at) AS taken_at "
        "FROM visits v JOIN hosts h ON h.id = v.host_id"
    )
    by_host: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for visit in visits:
        by_host[visit["host"]].append((float(visit["taken_at"]), visit["worker"]))
    for own in by_host.values():
        own.sort()
    held = [(line, _holder(by_host[line.host], line.wall)) for line in lines]
    pairs: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for line, worker in held:
        if not _is_within(line, missed):
            pairs[line.worker or "?"][worker or "?"] += 1
    known = {name: max(workers, key=lambda worker: workers[worker]) for name, workers in pairs.items()}
    told = [(line, worker) for line, worker in held if not _is_within(line, missed)]
    return [line for line, worker in told if worker is None or worker != known[line.worker or "?"]]


def _is_within(line: Line, span: tuple[float, float] | None) -> bool:
    return span is not None and span[0] <= line.start <= span[1]


def _holder(visits: Sequence[tuple[float, str]], wall: float) -> str | None:
    """visits: in order."""
    at = bisect.bisect_right(visits, wall + CLOCKS_S, key=lambda visit: visit[0])
    return visits[at - 1][1] if at else None


def _nothing_lost(found: Finding, seen: Seen, sql: Sql, web: Web) -> None:
    states: Mapping[tuple[int, str], tuple[str, bool]] = {
        (row["crawl_id"], row["url"]): (row["state"], row["retrying"])
        for row in sql(f"SELECT crawl_id, url, state, retrying FROM urls WHERE kind = 'page' AND {OURS}")
    }
    open_urls = sum(state == "queued" or retrying for state, retrying in states.values())
    truth = [(row["id"], web.url(host, path)) for row in sql(ROUNDS) for host, path in web.truth]
    ended = [page for page in truth if states.get(page, ("absent", False))[0] != "resting"]
    found.expect(
        "INV1 nothing lost",
        seen.missed == 0 and not open_urls and not ended,
        missed=seen.missed,
        open=open_urls,
        ended=len(ended),
    )


def _nothing_invented(found: Finding, sql: Sql, web: Web, lines: Sequence[Line]) -> None:
    rows = sql(
        "SELECT count(*) AS n, count(DISTINCT (crawl_id, key)) AS keys, count(DISTINCT (crawl_id, url)) AS urls "
        "FROM urls"
    )[0]
    settled = {row["url"] for row in sql(f"SELECT url FROM urls WHERE kind = 'page' AND state = 'resting' AND {OURS}")}
    known = {web.url(host, path) for host in web.hosts for path in (*web.paths, FORBIDDEN)}
    known |= {web.url(host, path) for host, path in web.truth}
    strange = {row["url"] for row in sql(f"SELECT url FROM urls WHERE kind = 'page' AND {OURS}")} - known
    brought = {web.url(line.host, line.path) for line in lines if line.brought}
    asked: dict[str, int] = defaultdict(int)
    for line in lines:
        asked[web.url(line.host, line.path)] += 1
    # What never arrived is in our log alone.
    stored = sql(
        "SELECT f.url, count(*) AS n FROM fetches f JOIN hosts h ON h.id = f.host_id "
        "WHERE f.status IS NOT NULL AND h.name = ANY(%s) GROUP BY f.url",
        list(web.hosts),
    )
    made_up = sum(row["n"] > asked[row["url"]] for row in stored)
    found.expect(
        "INV2 nothing invented",
        rows["n"] == rows["keys"] == rows["urls"] and not strange and settled <= brought and not made_up,
        doubled=rows["n"] - min(rows["keys"], rows["urls"]),
        strange=len(strange),
        settled_unseen=len(settled - brought),
        stored_unseen=made_up,
    )


def _fenced(found: Finding, sql: Sql, web: Web, lines: Sequence[Line], missed: tuple[float, float] | None) -> None:
    twice = sql(
        "SELECT url FROM fetches AS f WHERE kind = 'page' AND status IN (200, 304) AND NOT fenced "
        f"AND NOT EXISTS (SELECT FROM visits AS v WHERE v.id = f.visit_id AND v.ending = '{BUSY}') "
        "GROUP BY url, crawl_id HAVING count(*) > 1"
    )
    pages = sql(f"SELECT coalesce(sum(pages), 0) AS n FROM crawl_hosts WHERE {OURS}")[0]["n"]
    fenced = sql("SELECT count(*) AS n FROM fetches WHERE fenced")[0]["n"]
    without = unleased(sql, lines, missed)
    found.expect(
        "INV7 fencing",
        not twice and int(pages) == len(web.truth) * len(sql(ROUNDS)) and not without,
        written_twice=len(twice),
        counted=int(pages),
        unleased=len(without),
        fenced=fenced,
    )


def _no_leak(found: Finding, sql: Sql, lease_s: float) -> None:
    stale = sql(
        "SELECT name FROM hosts WHERE state IN ('offered', 'taken') "
        "AND lease_until < clock_timestamp() - make_interval(secs => %s)",
        2 * lease_s,
    )
    idle = sql(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%%' "
        "AND state_change < clock_timestamp() - interval '30 seconds'"
    )
    found.expect("INV8 no leak", not stale and not idle, stale_leases=len(stale), idle_in_transaction=len(idle))
