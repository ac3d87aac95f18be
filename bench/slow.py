"""(f) Healthy hosts beside 100 silent ones: how much of their polite rate they keep. Bar: 80 % (FT25).

Silent hosts accept a connection and never answer; healthy ones answer at once, at 1 s delay. Two runs of the same
length, without and with the silent ones; counted at the origin, in the second half of each, when every host has been
met.
"""

import argparse
import os
import subprocess
import time
from pathlib import Path

from bench import tiptoe
from bench.report import BenchError, save, table
from tests.hostile.origin import HostileOrigin

HEALTHY, SILENT, PAGES = 40, 100, 500
BAR = 0.8


def main(arguments: argparse.Namespace) -> None:
    """Crawl twice; print and save the rates. Raises BenchError."""
    alone = _rate(0, arguments.seconds)
    beside = _rate(SILENT, arguments.seconds)
    row = {"alone/s": round(alone, 1), "beside/s": round(beside, 1), "kept": round(beside / alone, 3)}
    table(f"slow: {HEALTHY} healthy hosts at 1 s delay, alone and beside {SILENT} silent ones (bar {BAR})", [row])
    save("slow", {**row, "seconds": arguments.seconds})


def _rate(silent: int, seconds: int) -> float:
    """Requests a second that the healthy hosts got."""
    with HostileOrigin() as origin, tiptoe.fresh_home() as home:
        healthy = [origin.add("healthy", pages=PAGES) for _ in range(HEALTHY)]
        seeds = [host.url() for host in healthy] + [origin.add("silent").url() for _ in range(silent)]
        begin = time.monotonic()
        _crawl(home, seeds, seconds)
        end = time.monotonic()
        half = begin + (end - begin) / 2
        return sum(line.start > half for host in healthy for line in host.log) / (end - half)


def _crawl(home: Path, seeds: list[str], seconds: int) -> None:
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")},
        "TIPTOE_HOME": str(home),
        "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
        "TIPTOE_PROCESSES": "2",
        "TIPTOE_CONSTANT_SERVICES_STAY_S": "0",
    }
    command = [
        str(tiptoe.COMMAND),
        "crawl",
        *seeds,
        "--name",
        "slow",
        "--max-seconds",
        str(seconds),
        "--sitemaps",
        "none",
    ]
    done = subprocess.run(
        command, env=env, cwd=home, capture_output=True, text=True, timeout=seconds + 120, check=False
    )
    if done.returncode:
        raise BenchError(f"tiptoe crawl ended with {done.returncode}: {done.stderr[-500:]}")
