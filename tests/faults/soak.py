"""Endurance: a crawl that goes round and round while a random fault comes every few seconds.

    python -m tests.faults.soak --minutes 10 --seed 7       # or: make soak ARGS="--minutes 10 --seed 7"

Two beats and three workers crawl the whole web again and again, each round a crawl of its own in the same database. The
first tenth of the time is calm. When the time is up, faults end, the round is crawled to its end, and all of it is
judged: the invariants of docs/reliability.md over all rounds, and the bars of `Told.broken`. Exit code 1: one is
broken.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.faults import soak_faults
from tests.faults.judge import Cost, Finding, judge, unleased
from tests.faults.kit import CRAWL, EVIDENCE_MOST, Rig
from tests.faults.log_judge import Fault, see, short_pairs, told
from tests.faults.pace import RESUMED_S, at_most_s
from tests.faults.servers import OwnPostgres, OwnValkey
from tests.faults.soak_faults import FAULTS
from tests.faults.soak_figures import (
    Sample,
    Size,
    Span,
    between,
    busier,
    claims,
    rate,
    recovered,
    sizes,
    slopes,
)
from tests.faults.soak_told import Told, table
from tests.faults.waiting import last, until
from tests.faults.web import Line

HOSTS, PAGES, DELAY_S = 40, 100, 0.3
EVERY_S = (2.0, 7.0)
LOOK_S = 1.0  # for memory, and whether the round is over
CALM_SHARE = 0.1
LONG_S = 200.0  # from so long a run on, slopes and percentiles say something
END_S = 300.0  # of the last round
RECOVERED_S = 30.0  # with a broker that was away; one fault follows another here

# Hosts that need somebody after the fault: what a visit has under way may be their last URL of the round.
WAITING = """
SELECT h.name FROM hosts AS h JOIN urls AS u ON u.host_id = h.id AND u.state = 'queued'
GROUP BY h.id HAVING count(*) > CAST(h.state = 'taken' AS integer)
"""


@dataclass(slots=True, kw_only=True)
class Soak:
    """One run. rounds: monotonic seconds when each was seeded.   torn: visits that the faults may have torn off.

    answers   moments, and seconds that a small query took then: how busy the machine is
    """

    rig: Rig
    rng: random.Random
    seconds: float
    rounds: list[float] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    answers: list[Span] = field(default_factory=list)
    exempt: set[int] = field(default_factory=set)
    torn: int = 0
    quarter: tuple[int, dict[str, Size]] = (0, {})
    began: float = 0.0
    ended: float = 0.0
    looked_at: float = 0.0

    def run(self) -> None:
        """Raises AssertionError when it does not come to its end."""
        self._seed()
        self.rig.until_requests(len(self.rig.web.hosts))
        self.began = time.monotonic()
        self._calm(self.seconds * CALM_SHARE)
        while (now := time.monotonic()) < self.began + self.seconds:
            if not self.quarter[0] and now > self.began + self.seconds / 4:
                self.quarter = self._measured()
            self._fault()
            self._calm(self.rng.uniform(*EVERY_S))
        self.ended = time.monotonic()
        until(lambda: self.rig.fleet.tend() or self._is_over(), "the last round ends", END_S)

    def judged(self) -> Finding:
        """INV1 to INV8: repeats and what is missed by round, the rest over all of them."""
        rig, lines = self.rig, self.rig.web.lines()
        told_by: dict[str, Any] = {
            "truth": rig.web.truth,
            "delay_s": rig.pace.delay_s,
            "exempt": frozenset(self.exempt),
        }
        parts = [see(own, faults=faults, **told_by) for own, faults in self._by_round(lines)]
        seen = replace(
            see(lines, **told_by),
            missed=sum(part.missed for part in parts),
            repeats=sum(part.repeats for part in parts),
            most_lines=max(part.most_lines for part in parts),
            recovered_s=max(part.recovered_s for part in parts),
            resumed_s=max(part.resumed_s for part in parts),
        )
        cost = Cost(
            kills=self.torn,
            slots=1,
            batch=rig.pace.batch,
            recovered_s=at_most_s(RECOVERED_S),
            resumed_s=at_most_s(RESUMED_S),
            attempts=rig.settings.attempts_max,
        )
        found = judge(seen, rig.sql, rig.web, lines, cost, lease_s=rig.pace.lease_s)
        if found.broken:
            found.broken += [*short_pairs(lines, rig.pace.delay_s, frozenset(self.exempt))[:EVIDENCE_MOST]]
            found.broken += [f"unleased: {told(line)}" for line in unleased(rig.sql, lines)[:EVIDENCE_MOST]]
            found.broken += [
                f"{fault.name}: {fault.begin:.3f} to {fault.end:.3f}" for fault in rig.faults[-EVIDENCE_MOST:]
            ]
        return found

    def told(self) -> Told:
        rig, lines = self.rig, self.rig.web.lines()
        shift = time.time() - time.monotonic()
        events = list(rig.fleet.events("dispatch.offered"))
        faults = [(fault.begin + shift, fault.end + shift) for fault in rig.faults]
        third = (self.ended - self.began) / 3
        early, late = (self.began, self.began + third), (self.ended - third, self.ended)
        pages, at_end = self._measured()
        return Told(
            slopes=slopes(self.samples, lines),
            early=claims(events, (early[0] + shift, early[1] + shift), faults),
            late=claims(events, (late[0] + shift, late[1] + shift), faults),
            busier=busier(self.answers, early, late),
            recovered=recovered(self._by_round(lines)),
            quarter=self.quarter,
            end=(pages, at_end),
            calm_rate=rate(lines, [self._calm_span(lines)]),
            rate=rate(lines, between(rig.faults)),
        )

    @property
    def lasted(self) -> str:
        return f"{self.seconds / 60:.1f} min of {len(self.rounds)} rounds, and the last to its end"

    def _by_round(self, lines: Sequence[Line]) -> list[tuple[list[Line], list[Fault]]]:
        """What was asked for, and the faults. None lies across two rounds."""
        return [
            (
                [line for line in lines if since <= line.start < end],
                [fault for fault in self.rig.faults if since <= fault.begin < end],
            )
            for since, end in pairwise([*self.rounds, float("inf")])
        ]

    def _calm_span(self, lines: Sequence[Line]) -> Span:
        first = min(line.start for line in lines)
        return first, max(first + 1.0, min(fault.begin for fault in self.rig.faults))

    def _fault(self) -> None:
        drawn = self.rng.choice([each for each in FAULTS if not each.tears] if self._is_dying() else FAULTS)
        print(f"{time.monotonic() - self.began:6.1f} s  {drawn.name}", file=sys.stderr, flush=True)
        waiting = frozenset(row["name"] for row in self.rig.sql(WAITING))
        with self.rig.fault(drawn.name, total=drawn.is_total):
            self.exempt |= drawn.act(self.rig, self.rng)
        self.rig.faults[-1] = replace(self.rig.faults[-1], waiting=waiting)
        self.torn += drawn.tears
        if drawn.is_total:  # the next fault must not be what keeps the crawl from going on
            end = self.rig.faults[-1].end
            self.rig.until(lambda: self._is_over() or self._is_asked_since(end), f"a request after {drawn.name}")

    def _is_asked_since(self, moment: float) -> bool:
        return any(line.start > moment for line in self.rig.web.lines())

    def _is_dying(self) -> bool:
        """Two visits died while they had some page: a third, and it is poison by definition."""
        return bool(self.rig.sql("SELECT url FROM urls WHERE parse_failures > 1 LIMIT 1"))

    def _calm(self, seconds: float) -> None:
        last(seconds, self._look)

    def _look(self) -> None:
        self.rig.fleet.tend()
        now = time.monotonic()
        if now < self.looked_at + LOOK_S:
            return
        self.looked_at = now
        self.samples += [Sample(worker=each.name, at=now, rss_kib=each.rss_kib()) for each in self.rig.fleet.workers]
        is_over = self._is_over()
        self.answers.append((now, time.monotonic() - now))
        if is_over:
            self._seed()

    def _is_over(self) -> bool:
        rows = self.rig.sql("SELECT state FROM crawls WHERE name = %s", self._name)
        return bool(rows) and rows[0]["state"] == "finished"

    @property
    def _name(self) -> str:
        return CRAWL if len(self.rounds) == 1 else f"{CRAWL}-{len(self.rounds)}"

    def _seed(self) -> None:
        self.rounds.append(time.monotonic())
        self.rig.fleet.tiptoe("seed", "add", self._name, *self.rig.web.seeds)

    def _measured(self) -> tuple[int, dict[str, Size]]:
        pages = self.rig.sql("SELECT coalesce(sum(pages), 0) AS n FROM crawl_hosts")[0]["n"]
        return int(pages), sizes(self.rig)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make soak ARGS=…", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="of faults, the calm tenth included (10)")
    parser.add_argument("--seed", type=int, default=None, help="the dice (drawn)")
    parser.add_argument("--hosts", type=int, default=HOSTS, help=f"of the web ({HOSTS})")
    parser.add_argument("--pages", type=int, default=PAGES, help=f"of each host ({PAGES})")
    chosen = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**6) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tiptoe-soak-") as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o711)  # as root, Postgres runs as nobody
        postgres = stack.enter_context(OwnPostgres(folder / "servers"))
        valkey = stack.enter_context(OwnValkey(folder / "servers"))
        rig = Rig(
            folder, postgres, valkey, hosts=chosen.hosts, pages=chosen.pages, delay_s=DELAY_S, settings={}
        )  # fmt: skip
        stack.callback(rig.close)
        rig.start(workers=soak_faults.WORKERS, beats=soak_faults.BEATS)
        soak = Soak(rig=rig, rng=random.Random(seed), seconds=60 * chosen.minutes)
        soak.run()
        found, told = soak.judged(), soak.told()
        print(table(rig, told, found, [("seed", str(seed)), ("time", soak.lasted)]))
    broken = found.broken + (told.broken() if soak.seconds >= LONG_S else [])
    print("\n".join(f"BROKEN {each}" for each in broken) or "all bars hold")
    return bool(broken)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except AssertionError as error:
        sys.exit(f"BROKEN {error}")
