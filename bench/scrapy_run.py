"""Two Scrapy processes, the hosts dealt between them, at the settings found fastest for Scrapy.

Scrapy lives in an environment of its own, bench/.venv-scrapy, installed at the first run: it is no
dependency of ours.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from bench.children import group, tail, wait
from bench.report import ROOT, BenchError

HOME = ROOT / "bench" / ".venv-scrapy"
SPIDER = Path(__file__).with_name("scrapy_spider.py")

# Tried (Scrapy 2.19, two cores, 40 hosts × 159 pages, links by XPath; pages/s, all runs, the last of each while others
# used the machine): CONCURRENT_REQUESTS 8: 841 835 486; 16: 680 691 732; 32: 773 760 586; 32 and one per host:
# 701 715 567; 32 on the epoll reactor instead of asyncio: 451 446 432. With LinkExtractor, 32: 502 417.
# Taken: the highest median.
SETTINGS: dict[str, object] = {
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 8,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "DEPTH_LIMIT": 0,
    "HTTPCACHE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
}


def install() -> Path:
    """Scrapy's python, installed if need be. Raises BenchError."""
    python = HOME / "bin" / "python"
    if not (HOME / "bin" / "scrapy").exists():
        print("  installing scrapy into bench/.venv-scrapy …", flush=True)
        for command in (
            [sys.executable, "-m", "venv", str(HOME)],
            [str(python), "-m", "pip", "install", "-q", "scrapy"],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise BenchError(
                    f"scrapy could not be installed (leave it out with --only): {done.stderr.strip()[-300:]}"
                )
    return python


def version() -> str:
    """For the record: the comparison is with this release."""
    asked = [str(install()), "-c", "import scrapy; print(scrapy.__version__)"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def run(
    seeds: list[str],
    timeout_s: float,
    *,
    links: str,
    overrides: dict[str, object],
    env: Mapping[str, str] | None = None,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Two processes to their end; links: how the spider finds them, xpath, css or extractor; env: beside ours. Raises
    BenchError."""
    whole = {**os.environ, **env} if env else None
    python = install()
    settings = json.dumps({**SETTINGS, **overrides})
    with tempfile.TemporaryDirectory(prefix="tiptoe-bench-") as folder, ExitStack() as stack:
        logs = [Path(folder) / f"scrapy-{n}.log" for n in range(2)]
        children = [
            stack.enter_context(
                group([str(python), str(SPIDER), settings, links, *seeds[n::2]], log=log, cwd=Path(folder), env=whole)
            )
            for n, log in enumerate(logs)
        ]
        wait(children, timeout_s, tick)
        for child, log in zip(children, logs, strict=True):
            if child.returncode:
                raise BenchError(f"scrapy failed: {tail(log)}")
