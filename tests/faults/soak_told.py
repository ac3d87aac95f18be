"""What a soak found: as the rows of a table, and the bars that a long run has to keep."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.faults.judge import Finding
from tests.faults.kit import Rig
from tests.faults.soak_figures import MIB, Claims, Size, Slope, tally, total

SLOPE_MIB = 1.0  # per 1,000 requests
SLOPE_REQUESTS = 5_000  # before, caches fill
CLAIM_TIMES, CLAIM_MS = 2.0, 10.0
GROWTH = 1.25
HOT_GROWTH, HOT_BYTES = 2.0, MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was measured.

    busier        how many times as long a small query took in the last third as in the first
    recovered     by fault: the longest that a host with something queued was left alone, in seconds
    quarter, end  pages, and the size of each table, after a quarter of the time and at the end
    """

    slopes: list[Slope]
    early: Claims | None
    late: Claims | None
    busier: float
    recovered: dict[str, float]
    quarter: tuple[int, dict[str, Size]]
    end: tuple[int, dict[str, Size]]
    calm_rate: float
    rate: float

    @property
    def per_page(self) -> tuple[float, float]:
        return tuple(total(found) / max(pages, 1) for pages, found in (self.quarter, self.end))  # type: ignore[return-value]

    def broken(self) -> list[str]:
        """The bars of a long run."""
        found = []
        eldest = self.slopes[0] if self.slopes else None
        if eldest and eldest.requests >= SLOPE_REQUESTS and eldest.per_1000 > SLOPE_MIB:
            found.append(f"memory of the eldest worker grows by more than {SLOPE_MIB} MiB per 1,000 requests")
        times = CLAIM_TIMES * max(self.busier, 1.0)
        if self.early and self.late and self.late.p99_ms > times * self.early.p99_ms + CLAIM_MS:
            found.append(f"claims: p99 at the end is more than {times:.1f} x that of the start + {CLAIM_MS:g} ms")
        if self.per_page[1] > GROWTH * self.per_page[0]:
            found.append(
                f"tables grow faster than pages: more than {GROWTH:g} x the bytes per page of the first quarter"
            )
        hosts = (self.quarter[1]["hosts"].bytes, self.end[1]["hosts"].bytes)
        if hosts[1] > HOT_GROWTH * hosts[0] + HOT_BYTES:
            found.append("bloat: the table hosts grows, though its rows do not")
        return found

    def lines(self) -> list[tuple[str, str]]:
        rows = [
            ("rate, calm", f"{self.calm_rate:.0f} requests/s"),
            ("rate, between faults", f"{self.rate:.0f} requests/s"),
        ]
        for name, each in (("claims, first third", self.early), ("claims, last third", self.late)):
            rows.append(
                (name, f"p50 {each.p50_ms:.1f} ms, p99 {each.p99_ms:.1f} ms of {each.n}" if each else "too few")
            )
        rows.append(("machine, last third", f"{self.busier:.1f} x as busy as in the first, by a small query"))
        rows.append(
            ("recovered, by fault", ", ".join(f"{name} {took_s:.1f} s" for name, took_s in self.recovered.items()))
        )
        for slope in self.slopes[:3]:
            span = (
                f"{slope.from_mib:.0f} to {slope.to_mib:.0f} MiB in {slope.minutes:.1f} min, {slope.requests} requests"
            )
            rows.append(
                (
                    f"memory of {slope.worker}",
                    f"{span}: {slope.per_1000:+.2f} MiB per 1,000, {slope.per_hour:+.0f} MiB/h",
                )
            )
        rows.append(("bytes per page", f"{self.per_page[0]:.0f} after a quarter, {self.per_page[1]:.0f} at the end"))
        for name in ("hosts", "urls", "fetches", "visits"):
            told = [
                f"{size.table / MIB:.1f} + {size.indexes / MIB:.1f} MiB, {size.rows} rows, {size.dead} dead"
                for size in (self.quarter[1].get(name), self.end[1].get(name))
                if size
            ]
            rows.append((f"{name}: table + indexes", "; then ".join(told)))
        return rows


def table(rig: Rig, told: Told, found: Finding, head: Sequence[tuple[str, str]]) -> str:
    """Markdown. head: its first rows."""
    figures = found.figures
    allowed = f"{figures['repeats']} of {figures['repeats_allowed']} allowed, and {figures['unread']} unread"
    rows = [
        *head,
        ("faults", f"{len(rig.faults)}: {tally(rig.faults)}"),
        ("requests", f"{figures['requests']}, {figures['missed']} missed, {figures['open']} left open"),
        ("repeats", f"{allowed}; no page more than {figures['most_lines']} times"),
        ("least gap", f"{figures['gap_min_s']} s of {rig.pace.delay_s} s, {figures['gaps_short']} short"),
        ("robots.txt", f"at most {figures['robots_most']} times, {figures['disallowed']} disallowed"),
        ("recovered", f"within {figures['recovered_s']} s, the crawl within {figures['resumed_s']} s"),
        ("fencing", f"{figures['fenced']} late results refused, {figures['unleased']} requests without a lease"),
        ("ended by themselves", ", ".join(rig.fleet.mended) or "nobody"),
        *told.lines(),
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)])
