"""(i) Pages as large as real ones: two processes each of Tiptoe, Scrapy and Crawlee, and a bare loop, on a drawn web.

`bench.real_web` draws the web: sizes, links, scripts and depth as measured on 1,497 real pages, half of the sites over
TLS, each with a coding of its own. Real pages (`--sample`, ../shared/pages where it is) are a second column. Everybody
takes 2 MiB of a page, and no page has more, so that all read the same octets. The origin of `bench.road_web` serves it
without distance at delay 0, and from afar at 1 s for the polite part; its log and the kernel's CPU times are what
counts.

    scrapy      links by LinkExtractor;   scrapy-css: by a selector
    lean        Tiptoe with TIPTOE_KEEP_TEXT=0;   full: everything kept

CPU is from the first request to the crawler's own end. The last table ends with full/scrapy: × pages/s, then × CPU.
"""

import argparse
import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from app.parse.html import html
from bench import bare, cpu, crawlee_run, polite, real_plot, real_web, road, road_plan, scrapy_run, tiptoe
from bench.report import ROOT, BenchError, Cell, quote, save, table
from bench.road_site import Site
from bench.road_web import Road
from bench.road_web import road as laid
from bench.tree import Tree

CRAWLERS = ("scrapy-css", "full", "scrapy", "lean", "bare", "crawlee")
OURS = {"full", "lean"}
SITES, PAGES, SEED, NET = 16, 160, 46, 60
SAMPLE, SAMPLE_SITES = ROOT.parent / "shared" / "pages", 8
ROAD_HOSTS, ROAD_PAGES = 60, 400
CAP_BYTES = 2 * 1024 * 1024
TIMEOUT_S = 300.0
DAY_S = 86_400
# Tiptoe over another, and the bars by CPU. The last is what the bench is for.
BARS: tuple[tuple[str, str, float | None], ...] = (
    ("lean", "bare", None),
    ("full", "bare", None),
    ("full", "crawlee", None),
    ("lean", "scrapy-css", 1.55),
    ("lean", "scrapy", 2.1),
    ("full", "scrapy-css", 1.0),
    ("full", "scrapy", 1.25),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A crawler's run, by the origin's log. by_role: CPU seconds of its processes, `end` behind the last request."""

    pages: int
    seconds: float
    by_role: Mapping[str, float]
    missed: int
    repeats: int
    errors: int

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    @property
    def page_ms(self) -> float:
        return 1000 * sum(self.by_role.values()) / self.pages

    @property
    def parts_ms(self) -> dict[str, float]:
        """{role: CPU milliseconds a page}, the dearest first, without what is less than 0.05."""
        parts = {role: 1000 * used / self.pages for role, used in self.by_role.items()}
        return {role: ms for role, ms in sorted(parts.items(), key=lambda part: -part[1]) if ms >= 0.05}

    def row(self) -> dict[str, Cell]:
        return {
            "pages/s": round(self.rate, 1),
            "cpu ms": round(self.page_ms, 2),
            "pages a day a core": round(DAY_S * 1000 / self.page_ms),
            "pages": self.pages,
            "seconds": round(self.seconds, 1),
            "missed": self.missed,
            "repeats": self.repeats,
            "errors": self.errors,
        }


Runs = Mapping[str, Sequence[Seen]]


def main(arguments: argparse.Namespace) -> None:
    """Run all on the drawn web and on the sample, then on the road; print and save. Raises BenchError at the
    end for what failed."""
    names = tuple((arguments.only or ",".join(CRAWLERS)).split(","))
    if unknown := set(names) - set(CRAWLERS):
        raise BenchError(f"no crawler named {unknown.pop()}; there are {', '.join(CRAWLERS)}")
    sites, pages = arguments.hosts or SITES, arguments.pages or PAGES
    webs = {"drawn": real_web.split(sites * pages, sites, SEED)}
    folder = arguments.sample or SAMPLE
    if folder.is_dir():
        webs = {"sample": real_web.of_sample(folder, SAMPLE_SITES)} | webs
    readings = {name: reading(trees) for name, trees in webs.items()}
    for name, trees in webs.items():
        table(f"{name}: {shape(trees)}; CPU of reading alone, by size", real_plot.by_octave(readings[name]))
    runs: dict[str, Runs] = {}
    failures: list[str] = []
    for name, trees in webs.items():
        runs[name] = crawl(trees, names, rounds=arguments.rounds or 1, env=arguments.env, failures=failures)
        rows = [{"crawler": crawler, **seen.row()} for crawler, each in runs[name].items() for seen in each]
        table(f"real, {name}, delay 0", rows)
        for crawler in sorted(OURS & runs[name].keys()):
            parts: list[dict[str, Cell]] = [
                {"process": role, "ms": round(ms, 2)} for role, ms in runs[name][crawler][-1].parts_ms.items()
            ]
            table(f"real, {name}, {crawler}: CPU a page by process", parts)
    on_road = _road(names, arguments, failures) if arguments.seconds else []
    if on_road:
        table(f"real, drawn, on the road at {polite.DELAY_S:g} s", on_road)
    ratios = compared(runs)
    table("× pages/s, and × CPU a page (the bar's)", ratios)
    result = {
        name: {crawler: [seen.row() for seen in each] for crawler, each in own.items()} for name, own in runs.items()
    }
    save("real", {**result, "road": on_road, "ratios": ratios, "failures": failures, "env": arguments.env})
    if arguments.quote:
        quote("real", _figures(runs, ratios, on_road))
        (ROOT / "docs" / "screens" / "reading.svg").write_text(real_plot.svg(readings))
    if failures:
        raise BenchError("; ".join(failures))


def shape(trees: Sequence[Tree]) -> str:
    """The sizes of a web, in words."""
    sizes = sorted(len(body) for tree in trees for body in tree.pages.values())
    mean, median, p95 = statistics.mean(sizes), statistics.median(sizes), sizes[int(0.95 * len(sizes))]
    large = sum(size > 1024 * 1024 for size in sizes) / len(sizes)
    return (
        f"{len(sizes)} pages of {len(trees)} sites, mean {mean / 1000:.0f} kB, median {median / 1000:.0f}, "
        f"p95 {p95 / 1000:,.0f}, {large:.0%} above 1 MiB"
    )


def reading(trees: Sequence[Tree]) -> list[real_plot.Point]:
    """Octets and CPU milliseconds of reading each page once in full, the better of two."""
    found = []
    for body in (body for tree in trees for body in tree.pages.values()):
        took = []
        for _ in range(2):
            began = time.process_time()
            html.read(body, content_type="text/html")
            took.append(1000 * (time.process_time() - began))
        found.append((len(body), min(took)))
    return found


def crawl(
    trees: Sequence[Tree], names: Sequence[str], *, rounds: int, env: Mapping[str, str], failures: list[str]
) -> Runs:
    """Every crawler over the same sites, in turn; one that fails is added to the failures and left out."""
    runs: dict[str, list[Seen]] = defaultdict(list)
    for _ in range(rounds):
        for name in names:
            try:
                with _served(trees) as web:
                    seen = _run(name, web, trees, env)
            except BenchError as error:
                failures.append(f"{name}: {error}")
                continue
            if seen.missed or seen.repeats:
                failures.append(f"{name}: not every page once (see the table)")
            runs[name].append(seen)
            print(f"  {name}: {seen.rate:.1f} pages/s, {seen.page_ms:.1f} ms of CPU a page", flush=True)
    return runs


@contextmanager
def _served(trees: Sequence[Tree]) -> Iterator[Road]:
    """Each tree at an address of its own, half of them over TLS, so that each of two processes has both kinds."""
    sites = [
        Site(name=(address := f"127.0.{NET}.{number + 1}"), address=address, coding=coding)
        for number, coding in enumerate(real_web.codings(len(trees), SEED))
    ]
    schemes = {site.name: "https" if number // 2 % 2 else "http" for number, site in enumerate(sites)}
    pages = (
        (f"{site.name}/{name}", body)
        for site, tree in zip(sites, trees, strict=True)
        for name, body in tree.for_host(site.name)
    )
    with laid(sites, pages=pages, schemes=schemes, seed=SEED) as web:
        yield web


def _run(name: str, web: Road, trees: Sequence[Tree], env: Mapping[str, str]) -> Seen:
    with cpu.Watch() as watch:
        _start(name, web, env)
    log = web.log()
    if not log.requests:
        raise BenchError(f"{name} sent no request")
    offset = time.time() - time.monotonic()
    begin, end = log.requests[0].arrived + offset, max(each.end for each in log.requests) + offset
    fetched = Counter((each.host, each.path) for each in log.requests if each.is_page)
    wanted = {(site.name, f"/{page}") for site, tree in zip(web.sites, trees, strict=True) for page in tree.reachable}
    return Seen(
        pages=fetched.total(),
        seconds=end - begin,
        by_role=watch.by_role(begin, end) | {"end": watch.used(end, math.inf)},
        missed=len(wanted - fetched.keys()),
        repeats=fetched.total() - len(fetched),
        errors=sum((each.status or 0) >= 400 for each in log.requests),
    )


def _start(name: str, web: Road, env: Mapping[str, str]) -> None:
    """Until it is done."""
    trust = {"SSL_CERT_FILE": str(web.authority)}
    match name:
        case "scrapy" | "scrapy-css":
            links = "css" if name.endswith("css") else "extractor"
            scrapy_run.run(web.seeds, TIMEOUT_S, links=links, overrides={"DOWNLOAD_MAXSIZE": CAP_BYTES}, env=trust)
        case "bare":
            bare.run(web.seeds, TIMEOUT_S, env=trust)
        case "crawlee":
            crawlee_run.run(web.seeds, TIMEOUT_S, overrides={"verify": False})
        case _:
            settings = {
                **trust,
                **tiptoe.unhurried(is_lean=name == "lean"),
                "TIPTOE_MAX_BODY_BYTES": str(CAP_BYTES),
                **env,
            }
            with tiptoe.fresh_home() as home:
                tiptoe.crawl(web, home, env=settings, arguments=("--sitemaps", "none"), timeout_s=TIMEOUT_S)


def _road(names: Sequence[str], arguments: argparse.Namespace, failures: list[str]) -> list[dict[str, Cell]]:
    """The polite part: everything kept, and Scrapy's LinkExtractor beside it; one that fails is left out."""
    plan = road_plan.draw(ROAD_HOSTS, road.SEED)
    codings = real_web.codings(len(plan.sites), SEED)
    plan = replace(plan, sites=[replace(site, coding=each) for site, each in zip(plan.sites, codings, strict=True)])
    tree = real_web.draw(ROAD_PAGES, SEED)
    rows: list[dict[str, Cell]] = []
    for name in ("full", "scrapy"):
        if name not in names:
            continue
        try:
            if name == "full":
                run = road.crawl(plan, tree, seconds=arguments.seconds, env=arguments.env)
            else:
                run = road.scrapy(plan, tree, seconds=arguments.seconds, links="extractor")
        except BenchError as error:
            failures.append(f"{name} on the road: {error}")
            continue
        rows.append(
            {
                "crawler": name,
                "pages/s": round(run.pages_s, 1),
                "share of budgets": round(run.pages_s / run.allowed_s, 3),
                "cpu ms": round(1000 * run.page_s, 2),
                "postgres ms": run.row.get("postgres ms"),
                **{key: run.row[key] for key in ("violations", "address violations", "least gap", "hosts")},
            }
        )
    return rows


def compared(runs: Mapping[str, Runs]) -> list[dict[str, Cell]]:
    """A row for each pair of BARS that ran: × pages/s and × CPU a page of each web, the drawn one's last."""
    rows = []
    for ours, theirs, bar in BARS:
        if not all(own.keys() >= {ours, theirs} for own in runs.values()):
            continue
        row: dict[str, Cell] = {"ratio": f"{ours}/{theirs}", "bar": bar}
        for name, own in runs.items():
            rate, page_ms = _median(own, "rate"), _median(own, "page_ms")
            row |= {
                f"{name} pages/s": _to_two(rate[ours] / rate[theirs]),
                f"{name} cpu": _to_two(page_ms[theirs] / page_ms[ours]),
            }
        rows.append(row)
    return rows


def _median(runs: Runs, what: str) -> dict[str, float]:
    return {name: statistics.median(getattr(seen, what) for seen in each) for name, each in runs.items()}


def _to_two(value: float) -> float:
    return round(value, 2)


def _figures(
    runs: Mapping[str, Runs], ratios: Sequence[Mapping[str, Cell]], on_road: Sequence[Mapping[str, Cell]]
) -> dict[str, str]:
    """As the docs write them."""
    found = {f"road, {row['crawler']}, a page": f"{row['cpu ms']:.1f} ms a page" for row in on_road}
    for row in on_road:
        if row["postgres ms"] is not None:
            found[f"road, Postgres of {row['crawler']}, a page"] = f"{row['postgres ms']:.1f} ms a page"
    for web, own in runs.items():
        for name, page_ms in _median(own, "page_ms").items():
            found[f"{web}, {name}, a page"] = f"{page_ms:.1f} ms a page"
            found[f"{web}, {name}, a day a core"] = f"{DAY_S / page_ms / 1000:.1f} M pages a day"
        for name, rate in _median(own, "rate").items():
            found[f"{web}, {name}, a second"] = f"{rate:.0f} pages/s"
        for name in OURS & own.keys():
            for role, part_ms in own[name][-1].parts_ms.items():
                found[f"{web}, {name}, {role}, a page"] = f"{part_ms:.1f} ms a page"
    for row in ratios:
        for column, value in row.items():
            if column not in {"ratio", "bar"}:
                found[f"{row['ratio']}, {column}"] = f"{value:.2f} ×"
    return found
