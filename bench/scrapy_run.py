"""Two Scrapy processes, the hosts dealt between them, at the settings found fastest for Scrapy.

Scrapy lives in an environment of its own, bench/.venv-scrapy, installed at the first run: it is no
dependency of ours.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.children import installed, together, version_of
from bench.report import ROOT

HOME = ROOT / "bench" / ".venv-scrapy"
SPIDER = Path(__file__).with_name("scrapy_spider.py")

# The fastest of 8, 16 and 32 requests at once, both reactors, links by XPath and by LinkExtractor (Scrapy 2.19).
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
    return installed(HOME, "scrapy")


def version() -> str:
    """For the record: the comparison is with this release."""
    return version_of(install(), "scrapy")


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
    program = [str(install()), str(SPIDER), json.dumps({**SETTINGS, **overrides}), links]
    together("scrapy", [[*program, *seeds[n::2]] for n in range(2)], timeout_s, env=env, tick=tick)
