"""`python -m bench [names…]`: run benchmarks one after the other; none named: crawl, claim and polite."""

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from bench import claim, crawl, fleet, memory, polite, slow
from bench.report import BenchError

BENCHES: dict[str, Callable[[argparse.Namespace], None]] = {
    "crawl": crawl.main,
    "claim": claim.main,
    "polite": polite.main,
    "fleet": fleet.main,
    "slow": slow.main,
    "memory": memory.main,
}
DEFAULT = ("crawl", "claim", "polite")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(BENCHES)}; D: {' '.join(DEFAULT)}")
    web = parser.add_argument_group("the web (crawl, memory, polite, fleet)")
    web.add_argument(
        "--tree",
        type=Path,
        help="folder of html files with an index.html; D: Debian's PostgreSQL manual, else generated",
    )
    web.add_argument("--hosts", type=int, help="D: crawl 40, memory 50, polite and fleet 200")
    web.add_argument("--pages", type=int, help="pages per host, 0: the whole tree; D: crawl 160, memory and polite 0")
    web.add_argument("--port", type=int, default=8099)
    run = parser.add_argument_group("the run")
    run.add_argument("--only", help=f"crawl: of {','.join(crawl.CRAWLERS)}; D: the first four")
    run.add_argument("--rounds", type=int, default=2, help="crawl: times each crawler runs, interleaved; D: 2")
    run.add_argument(
        "--scrapy",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="crawl: a Scrapy setting, repeatable",
    )
    run.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="TIPTOE_X=Y",
        help="a further setting for Tiptoe, repeatable",
    )
    run.add_argument("--lean", action="store_true", help="memory, polite: with TIPTOE_KEEP_TEXT=0")
    run.add_argument("--seconds", type=int, default=60, help="polite, fleet, slow: length of the run; D: 60")
    run.add_argument("--processes", type=int, default=3, help="fleet: worker processes; D: 3")
    run.add_argument(
        "--sizes",
        default="100000,1000000",
        help="claim: URLs in the frontier; add 10000000 for the whole test",
    )
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in BENCHES]:
        parser.error(f"no benchmark named {unknown[0]}; there are {', '.join(BENCHES)}")
    return arguments


def main() -> int:
    """Run them all, also when one fails; 1 if any did."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nginx and crawlers are ended by their `finally`
    arguments = _arguments()
    failed = 0
    for name in arguments.names or DEFAULT:
        try:
            BENCHES[name](arguments)
        except BenchError as error:
            print(f"bench {name}: {error}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
