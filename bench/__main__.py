"""`python -m bench [names…]`: run benchmarks one after the other; none named: crawl, claim and polite."""

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from bench import (
    claim,
    crawl,
    fleet,
    memory,
    polite,
    real,
    road,
    scale,
    search,
    shared_address,
)
from bench.report import BenchError

BENCHES: dict[str, Callable[[argparse.Namespace], None]] = {
    "crawl": crawl.main,
    "claim": claim.main,
    "polite": polite.main,
    "fleet": fleet.main,
    "road": road.main,
    "real": real.main,
    "shared": shared_address.main,
    "memory": memory.main,
    "scale": scale.main,
    "search": search.main,
}
DEFAULT = ("crawl", "claim", "polite")


def _several(value: str) -> tuple[int, ...]:
    """Numbers with commas between them."""
    return tuple(int(each) for each in value.split(","))


def _numbers(value: str) -> int | tuple[int, ...]:
    numbers = _several(value)
    return numbers if len(numbers) > 1 else numbers[0]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(BENCHES)}; D: {' '.join(DEFAULT)}")
    _of_the_web(parser.add_argument_group("the web (crawl, real, memory, polite, fleet)"))
    _of_the_run(parser.add_argument_group("the run"))
    _of_the_frontier(parser.add_argument_group("the frontier (scale)"))
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in BENCHES]:
        parser.error(f"no benchmark named {unknown[0]}; there are {', '.join(BENCHES)}")
    arguments.env = dict(setting.split("=", 1) for setting in arguments.env)
    return arguments


def _of_the_web(web: argparse._ArgumentGroup) -> None:
    web.add_argument(
        "--tree",
        type=Path,
        help="folder of html files with an index.html; D: Debian's PostgreSQL manual, else generated",
    )
    web.add_argument(
        "--hosts",
        type=_numbers,
        help="D: crawl 100, real 16, memory 92, polite and fleet 200, road 2000; scale 2000,20000",
    )
    web.add_argument(
        "--pages", type=int, help="per host, 0: the whole tree; D: crawl and real 160, memory and polite 0"
    )
    web.add_argument("--port", type=int, default=8099)


def _of_the_run(run: argparse._ArgumentGroup) -> None:
    run.add_argument(
        "--only", help=f"crawl: of {','.join(crawl.CRAWLERS)}; D: all but no-near; real: of {','.join(real.CRAWLERS)}"
    )
    run.add_argument("--rounds", type=int, help="crawl, real: times each crawler runs, interleaved; D: 2, real 1")
    run.add_argument(
        "--env", action="append", default=[], metavar="TIPTOE_X=Y", help="a further setting for Tiptoe, repeatable"
    )
    run.add_argument("--lean", action="store_true", help="memory, polite, road: with TIPTOE_KEEP_TEXT=0")
    run.add_argument(
        "--seconds",
        type=int,
        default=60,
        help="polite, fleet, road, real: length of the run; D: 60",
    )
    run.add_argument("--scenes", help=f"shared: of {','.join(shared_address.SCENES)} and their like; D: all")
    run.add_argument("--threads", type=int, default=64, help="road: of a process; D: 64")
    run.add_argument("--no-scrapy", action="store_true", help="road: without Scrapy beside it")
    run.add_argument("--sample", type=Path, help="real: folder of real pages; D: ../shared/pages, where it is")
    run.add_argument("--quote", action="store_true", help="real: write bench/figures.json and docs/screens/reading.svg")
    run.add_argument("--processes", type=int, default=3, help="fleet: worker processes; D: 3")
    run.add_argument(
        "--machines", type=int, help="fleet: so many machines (network namespaces) of two workers behind a pooler"
    )
    run.add_argument("--broker", default="valkey,rabbitmq", help="fleet of machines: one of these; D: both in turn")
    run.add_argument(
        "--sizes",
        type=_several,
        default=(100_000, 1_000_000),
        help="claim: URLs in the frontier; add 10000000 for the whole test; search: pages",
    )


def _of_the_frontier(frontier: argparse._ArgumentGroup) -> None:
    frontier.add_argument("--urls", type=_numbers, default=(100_000, 1_000_000), help="D: 100000,1000000")
    frontier.add_argument("--server", help="URL of a Postgres to make the databases in; D: an embedded one")


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
