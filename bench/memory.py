"""Resident memory of Tiptoe's worker processes at 20,000, 60,000 and 100,000 pages: growth per page must be none.

Sampled every half second from /proc while the origin's log is counted; a mark's figure is the median of
the samples in the 2,000 pages before it.
"""

import argparse
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from bench import tiptoe
from bench.report import BenchError, Cell, save, table
from bench.tree import load
from bench.web import Web, serve

MARKS = (20_000, 60_000, 100_000)
NEAR = 2_000
BAR_MIB = 5.0
TIMEOUT_S = 1_800.0  # everything on, beside others


@dataclass(slots=True)
class Watch:
    """Samples of (pages done, worker pid, MiB). Counts the log's lines as it grows."""

    web: Web
    home: Path
    offset: int
    pages: int = 0
    samples: list[tuple[int, int, float]] = field(default_factory=list)

    def __call__(self) -> None:
        """Take one sample of every worker."""
        with self.web.log.open("rb") as file:
            file.seek(self.offset)
            new = file.read()
        self.offset += len(new)
        self.pages += new.count(b"\n")
        self.samples += [(self.pages, pid, mib) for pid, mib in tiptoe.workers_rss(self.home).items()]


def main(arguments: argparse.Namespace) -> None:
    """Crawl 50 whole manuals; print and save each worker's figures. Raises BenchError."""
    tree = load(arguments.tree, arguments.pages or 0)
    with serve(tree, hosts=arguments.hosts or 92, port=arguments.port) as web, tiptoe.fresh_home() as home:
        if web.expected < MARKS[-1]:
            raise BenchError(f"{web.expected:,} pages are too few for {MARKS[-1]:,}; more with --hosts")
        env = tiptoe.unhurried(is_lean=arguments.lean) | arguments.env
        watch = Watch(web, home, web.mark())
        tiptoe.crawl(web, home, env=env, arguments=("--sitemaps", "none"), timeout_s=TIMEOUT_S, tick=watch)
    rows = _rows(watch.samples)
    table(f"memory: worker RSS, MiB (bar: growth at most {BAR_MIB:g})", rows)
    save("memory", {"rows": rows, "pages": watch.pages, "lean": arguments.lean, "env": arguments.env})
    if not rows:
        raise BenchError("no worker process was seen at both marks")


def _rows(samples: list[tuple[int, int, float]]) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for pid in sorted({pid for _, pid, _ in samples}):
        near = [[mib for pages, own, mib in samples if own == pid and mark - NEAR <= pages <= mark] for mark in MARKS]
        if all(near):
            first, half, last = (statistics.median(values) for values in near)
            rows.append(
                {
                    "worker": str(pid),
                    "at 20,000": round(first, 1),
                    "at 60,000": round(half, 1),
                    "at 100,000": round(last, 1),
                    "growth": round(last - first, 1),
                    "since 60,000": round(last - half, 1),
                }
            )
    return rows
