"""FT22 to FT24 and FT30 of docs/reliability.md: documents that hurt whoever reads them, and webs without end."""

import itertools
import os
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import brotli
import pytest

from app.admin import crawls, seeds
from app.config import load
from app.crawl.state.setup import make_engine
from app.model import Budgets, CrawlSpec
from tests.faults.kit import SLOTS, MakeRig, Rig
from tests.faults.log_judge import TOLERANCE_S
from tests.faults.pace import IS_LONG, at_most_s, quick_or_long
from tests.faults.web import ROOT, Line
from tests.hostile import broken, traps
from tests.hostile.behaviour import ok
from tests.hostile.origin import Host, HostileOrigin

pytestmark = pytest.mark.faults
POISON = {"PYTHONPATH": f"{ROOT}/tests/faults/poison:{ROOT}"}
MIB = 1024 * 1024


# --- FT22: the parser ends ----------------------------------------------------------------------------------------

# deed: what ends the worker that meets it first, its cause. A busy machine cannot always tell a loop from itself
LATE = r"parser (took longer than 1 s|gave no answer within \S+ s, 2 times)"
DEEDS = {
    "abort": ("itself", "parser died: signal SIGABRT"),
    "segfault": ("itself", "parser died: signal SIGSEGV"),
    "fill": ("itself", "parser needed more than 512 MiB"),
    "lock": ("its pulse", LATE),
    "loop": ("its watchdog", LATE),
    "raise": ("nothing", "reading it raised KeyError: '.+'"),
}


def cause_of(row: dict[str, Any]) -> str:
    """Without what an error names."""
    return re.sub(r": '.+'", "", row["detail"])


@pytest.mark.parametrize("deed", quick_or_long(["abort", "fill", "loop"], list(DEEDS)))
def test_ft22_poison(make_rig: MakeRig, deed: str) -> None:
    """a page that ends its parser: it costs one worker at most and is quarantined with its cause; every other page is
    done.

    A library under the parser does it, in workers and in readers alike. The others' pages are held open, so that the
    worker takes visits with it. One that hangs is ended too, in the long form: the crawl need not wait for that.
    """
    ended_by, cause = DEEDS[deed]
    dies = ended_by in {"itself", "its pulse"}
    rig = make_rig(
        hosts=4,
        pages=10,
        workers=1 if dies else 2,
        env=POISON,
        parse_deadline_s=1.0 if cause is LATE else 10.0,  # where memory is slow, to fill it takes its time
        lease_s=8.5 if cause is LATE else 7.0,
        stall_s=3.0,
        visit_max_s=1.0,
    )
    host, path = rig.web.hosts[1], rig.web.paths[7]
    for number in (5, 6, 7, 8):
        rig.web.hold(rig.web.paths[number], 0.7)
    rig.web.rule(path, host=host, adds=f"<p>POISON:{deed}")
    rig.web.truth -= {(host, path)}
    rig.seed()
    with rig.fault(f"a page that makes the parser {deed}"):
        rig.until(lambda: met(rig, host, path), "somebody reads it")
        if dies:
            rig.until(lambda: rig.fleet.mended, f"{ended_by} ends the worker")
    rig.until_finished()
    if ended_by == "its watchdog" and quick_or_long(False, True):
        rig.until(lambda: rig.fleet.mended, "the watchdog ends the worker")
    (row,) = rig.sql("SELECT * FROM urls WHERE url = %s", rig.web.url(host, path))
    died = list(rig.fleet.events("page.killed_its_reader"))
    asked = Counter((line.host, line.path) for line in rig.web.lines())
    rig.figures |= {"asked": asked.pop((host, path)), "cause": cause_of(row), "workers_lost": len(rig.fleet.mended)}
    rig.sql(
        "DELETE FROM fetches WHERE url = %s", row["url"]
    )  # brought again, and never read: nothing was written twice
    rig.judge(kills=1, slots=SLOTS + len(died) - 1)  # a reader that a busy machine kept waiting is no kill, but a try
    assert row["state"] == "quarantined"
    assert re.fullmatch(cause, row["detail"])
    assert {event["url"] for event in died} == (set() if ended_by == "nothing" else {row["url"]})
    assert len(died) == rig.figures["asked"] - 1, "by a worker first, then by readers"
    assert row["parse_failures"] == len(died) + (ended_by == "nothing")
    assert rig.figures["asked"] <= rig.settings.attempts_max
    least = ended_by != "nothing" and (ended_by != "its watchdog" or quick_or_long(False, True))
    assert least <= len(rig.fleet.mended) <= (ended_by != "nothing"), "a slow crawl outlasts the watchdog in any form"
    assert max(asked.values()) <= 2, "what else was under way is asked for once more at most"
    assert sum(asked.values()) - len(asked) < SLOTS * rig.pace.batch


def met(rig: Rig, host: str, path: str) -> Line | None:
    found = (line for line in rig.web.lines() if (line.host, line.path) == (host, path) and line.end is not None)
    return next(found, None)


# --- FT23: memory and time ----------------------------------------------------------------------------------------


def bomb(encoding: bytes, pieces: Sequence[bytes]) -> bytes:
    return ok(b"".join(pieces), b"Content-Encoding: " + encoding)


def brotli_bomb(mebibytes: int) -> bytes:
    packer = brotli.Compressor(quality=3)
    pieces = [packer.process(b" " * MIB) for _ in range(mebibytes)]
    return bomb(b"br", [*pieces, packer.finish()])


def nested_bomb(mebibytes: int) -> bytes:
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    return bomb(b"gzip, gzip", [packer.compress(broken.bomb(mebibytes)), packer.flush()])


def many(unit: bytes) -> bytes:
    """4 MiB of it, where 1 is read."""
    return ok(traps.DOCTYPE + unit * (4 * MIB // len(unit)))


def homeward(answer: bytes) -> bytes:
    """The same, linking to a page that there is."""
    return answer.replace(b"'/after'", b"'/'     ")


HEAVY: dict[str, Callable[[], bytes]] = {
    "million": lambda: ok(traps.DOCTYPE + b"<p>x" * 1_000_000),
    "paragraphs": lambda: many(b"<p>"),
    "bigattr": lambda: homeward(traps.bigattr()),
    "manyattrs": traps.manyattrs,
    "attributes": lambda: many(b"<p " + b" ".join(b"a%d" % number for number in range(999)) + b">"),
    "deepdom": traps.deepdom,
    "bigname": lambda: homeward(traps.bigname()),
    "names": lambda: ok(traps.DOCTYPE + b"".join(b"<p x%d>" % number for number in range(200_000))),
    "links": lambda: many(b"<a href=/ hidden>y</a>"),
    "bytes": lambda: ok(b"\x82\xa0\x83" * 500_000, kind=b"text/html"),
    "gzipbomb": lambda: bomb(b"gzip", [broken.bomb(quick_or_long(512, 2048))]),
    "nestedbomb": lambda: nested_bomb(quick_or_long(512, 2048)),
    "brotlibomb": lambda: brotli_bomb(quick_or_long(64, 1024)),
}
WHOLE = {"bigattr", "manyattrs", "bigname", "bytes", "names"}  # under 2 MiB, and no deeper than the parser reads
CPU_S = 10.0
GROWTH_MIB = 256


def test_ft23_heavy_pages(make_rig: MakeRig) -> None:
    """pages that want memory and time, bombs among them: each is read as far as the cap, in under 10 s of processor
    time, no worker grows by 256 MiB, none ends."""
    rig = make_rig(hosts=len(HEAVY), pages=4, workers=1, slots=len(HEAVY), lease_s=60.0)  # as the product has it
    heavy = dict(zip(rig.web.hosts, HEAVY, strict=True))
    for host, name in heavy.items():
        file = rig.folder / f"{name}.raw"
        file.write_bytes(HEAVY[name]().replace(b'"/deep"', f'"{rig.web.paths[2]}"'.encode()))  # it is found
        rig.web.rule(rig.web.paths[3], host=host, raw=str(file))
    rig.until_ready()
    (worker,) = rig.fleet.workers
    rig.seed()
    rig.until(lambda: len(rig.web.pages_brought()) >= len(HEAVY), "it is warm")
    rss_before, cpu_before = worker.rss_kib(), cpu_s(worker.pid)
    rig.until_finished()
    grown_mib = (peak_kib(worker.pid) - rss_before) // 1024
    spent_s = cpu_s(worker.pid) - cpu_before
    kept = rig.sql("SELECT url, truncated FROM pages WHERE url LIKE %s", f"%{rig.web.paths[3]}")
    cut = {heavy[row["url"].split("/")[2].partition(":")[0]]: row["truncated"] for row in kept}
    rig.figures |= {"grown_mib": grown_mib, "cpu_s_of_all": round(spent_s, 1), "cut": sum(cut.values())}
    rig.judge()
    assert set(cut) == set(HEAVY), "each is recorded"
    assert {name for name, is_cut in cut.items() if not is_cut} == WHOLE
    assert grown_mib < GROWTH_MIB
    assert spent_s < CPU_S, "all of them together"
    assert rig.fleet.mended == []


def peak_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- FT24: a million links ----------------------------------------------------------------------------------------


def test_ft24_a_million_links(make_rig: MakeRig) -> None:
    """three pages of a million links: as many are stored of each as the cap says, within 5 s, and the other hosts keep
    their rate."""
    rig = make_rig(hosts=6, pages=quick_or_long(30, 120), slots=8)
    origin = rig.also(HostileOrigin())
    rig.seed()
    rig.until_share(0.1)
    before = time.monotonic()
    rig.more_requests(quick_or_long(40, 160))
    rate = rate_over(rig, before, time.monotonic())
    guests = [origin.add("millionlinks") for _ in range(3)]
    began = time.monotonic()
    start(rig, guests, Budgets(max_pages=len(guests)))
    rig.more_requests(quick_or_long(40, 160))
    rig.until(lambda: is_over(rig, "guests"), "the crawl of these pages ends")
    kept = rate_over(rig, began, time.monotonic()) / rate
    stored = {guest: urls_of(rig, guest) for guest in guests}
    took_s = max(settled_s(rig, guest) for guest in guests)
    rig.until_finished()
    rig.figures |= {"links": sum(stored.values()), "settled_s": round(took_s, 1), "rate_kept": round(kept, 2)}
    for guest in guests:
        forget(rig, guest)
    rig.judge()
    assert set(stored.values()) == {rig.settings.max_links + 1}
    assert not IS_LONG or took_s <= 5.0, "others share the machine with the quick form"
    assert kept > quick_or_long(0.0, 0.9)


# --- a good host beside two that attack ---------------------------------------------------------------------------


def test_a_good_host_beside_two_that_attack(make_rig: MakeRig) -> None:
    """two hosts of stars in robots.txt, names, codings and a drip: a third keeps its pace, no worker ends, and each
    request is in the log."""
    rig = make_rig(hosts=1, pages=quick_or_long(14, 60), delay_s=1.0, lease_s=60.0)  # as the product has it
    origin = rig.also(HostileOrigin())
    rig.seed()
    rig.until_requests(4)
    guests = [origin.add("siege") for _ in range(2)]
    since = time.monotonic()
    start(rig, guests, Budgets())
    rig.until(
        lambda: all({"/links", "/names"} <= {*guest.targets} for guest in guests), "what costs most was asked for"
    )
    rig.until_finished()
    for child in rig.fleet.workers:
        child.terminate()
    for child in [each for each in rig.fleet.children if each.slots]:
        child.ended_after_s(at_most_s(30.0))
    assert origin.quiet()
    gaps = gaps_of(rig.web.lines())
    alone = [gap for moment, gap in gaps if moment < since]
    beside = [gap for moment, gap in gaps if moment >= since]
    logged = {guest: [row["path"] for row in rig.sql(LOGGED, guest.address)] for guest in guests}
    rig.figures |= {
        "attacks": sum(len(guest.log) for guest in guests),
        "gap_least_s": round(min(beside), 3),
        "gap_most_s": round(max(beside), 2),
        "gap_most_alone_s": round(max(alone), 2),
        "mended": len(rig.fleet.mended),
    }
    assert rig.fleet.mended == []
    assert min(alone + beside) >= rig.pace.delay_s - TOLERANCE_S
    assert max(beside) <= max(alone) + at_most_s(2.0)
    for guest in guests:
        assert Counter(logged[guest]) == Counter(guest.targets)
        assert max(Counter(guest.pages_asked).values()) <= rig.settings.attempts_max
    brought = {(line.host, line.path) for line in rig.web.lines() if line.brought}
    assert rig.web.truth <= brought


LOGGED = (
    "SELECT regexp_replace(url, '^http://[^/]+', '') AS path FROM fetches AS f JOIN hosts AS h ON h.id = f.host_id "
    "WHERE h.name = %s AND f.outcome <> 'unsent'"
)


def gaps_of(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """When each request of a host but the first began, and the seconds since the end of the one before."""
    ordered = sorted(lines, key=lambda line: line.start)
    return [(later.start, later.start - (earlier.end or later.start)) for earlier, later in itertools.pairwise(ordered)]


# --- FT30: webs without end ---------------------------------------------------------------------------------------


def test_ft30_infinite_spaces(make_rig: MakeRig) -> None:
    """a calendar, a path that deepens and new sessions without end: each stops at its crawl's depth or budget of pages,
    and the other hosts are done."""
    most = quick_or_long(12, 400)
    rig = make_rig(hosts=4, pages=quick_or_long(16, 60))
    origin = rig.also(HostileOrigin())
    spaces = {
        f"{name}-{bound}": origin.add(name)
        for name, bound in itertools.product(("calendar", "depth", "sessions"), ("pages", "depth"))
    }
    rig.seed()
    for name, guest in spaces.items():
        start(rig, [guest], Budgets(max_pages=most) if name.endswith("pages") else Budgets(max_depth=1), name=name)
    for name in spaces:
        rig.until(partial(is_over, rig, name), f"the crawl of {name} ends", quick_or_long(90.0, 900.0))
    rig.until_finished()
    asked = {name: len(guest.pages_asked) - ("/sitemap.xml" in guest.targets) for name, guest in spaces.items()}
    rig.figures |= {name.replace("-", "_by_"): number for name, number in asked.items()}
    ended = {row["name"]: row["ended_because"] for row in rig.sql("SELECT name, ended_because FROM crawls")}
    for guest in spaces.values():
        assert len(guest.targets) == len(set(guest.targets)), "nothing is asked for twice"
        forget(rig, guest)
    rig.judge()
    assert all(asked[name] <= most for name in spaces if name.endswith("pages"))
    assert {ended[name] for name in spaces if name.endswith("pages")} <= {"max_pages", "done"}, (
        "or its traps are refused"
    )
    assert asked["calendar-depth"] == 1 + 2 + 28, "a month, its days, the months beside it"
    assert asked["depth-depth"] == 1 + 1
    assert asked["sessions-depth"] == 1 + 10


# --- guests: hosts of tests.hostile, beside the rig's own -----------------------------------------------------------


def start(rig: Rig, guests: Sequence[Host], budgets: Budgets, *, name: str = "guests") -> None:
    """A crawl of their own."""
    settings = load(database_url=rig.database_url, allow_networks=rig.settings.allow_networks)
    engine = make_engine(settings)
    try:
        seeds.add(
            engine, settings, crawls.create(engine, name, CrawlSpec(budgets=budgets)), [guest.url() for guest in guests]
        )
    finally:
        engine.dispose()


def is_over(rig: Rig, name: str) -> bool:
    return bool(rig.sql("SELECT 1 FROM crawls WHERE name = %s AND state = 'finished'", name))


def urls_of(rig: Rig, guest: Host) -> int:
    """Pages that the frontier has of it."""
    query = "SELECT count(*) AS n FROM urls JOIN hosts ON hosts.id = host_id WHERE name = %s AND kind = 'page'"
    return int(rig.sql(query, guest.address)[0]["n"])


def settled_s(rig: Rig, guest: Host) -> float:
    """Seconds from the end of the request for its page to the commit of what it holds."""
    query = (
        "SELECT extract(epoch FROM min(fetched_at)) AS at FROM urls JOIN hosts ON hosts.id = host_id WHERE name = %s"
    )
    at = float(rig.sql(query, guest.address)[0]["at"])
    end = next(line.end for line in guest.log if line.target == "/" and line.end is not None)
    return at - (end + time.time() - time.monotonic())


def forget(rig: Rig, guest: Host) -> None:
    """The judge knows the rig's own web alone."""
    for table in ("urls", "fetches", "crawl_hosts"):
        rig.sql(f"DELETE FROM {table} WHERE host_id = (SELECT id FROM hosts WHERE name = %s)", guest.address)


def rate_over(rig: Rig, since: float, until: float) -> float:
    """Requests to the rig's own web, a second."""
    return sum(since <= line.start < until for line in rig.web.lines()) / (until - since)
