"""FT25 to FT28, FT31, FT32, FT35 and FT36 of docs/reliability.md: sites that are slow, endless, broken or refuse, all
at once beside healthy ones, in one crawl of a real fleet; and FT37, a site that changes between two rounds.

tests/hostile proves each of these endings in one process; here it is whether they hold while everything else goes on.
"""

import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.admin import crawls
from app.crawl.state.setup import make_engine
from tests.faults.kit import CRAWL, MakeRig, Rig
from tests.faults.pace import at_most_s, quick_or_long
from tests.faults.servers import OwnPostgres, OwnValkey
from tests.faults.sites import (
    AWAY_PAGES,
    BACKOFF_MAX_S,
    BACKOFF_S,
    BREAKER_FAILURES,
    BROKEN,
    CIRCLES,
    DELAY_S,
    ENDLESS,
    HEALTHY,
    HEALTHY_PAGES,
    PAGES,
    ROBOTS,
    SETTINGS,
    SLOW,
    SLOW_EACH,
    STORMS,
    Sites,
    crawl_sites,
)
from tests.hostile import maps
from tests.hostile.judge import CAP_BYTES, HOPS, LATE_S, READ_AHEAD_BYTES, ROBOTS_TRIES, TRIES
from tests.hostile.origin import Host, HostileOrigin
from tests.hostile.test_endings import PAGES as ENDINGS
from tests.hostile.test_endings import REDIRECTS
from tests.hostile.test_endings_robots import ROBOTS as ROBOTS_ENDINGS

pytestmark = pytest.mark.faults
EARLY_S = 0.05  # between our clock and the origin's, which learns late that a client is gone
ALL = {"/", *(f"/{number}" for number in range(1, PAGES))}
ENDS = {row[0]: row for row in ENDINGS}
GROWTH_MIB = 64


@pytest.fixture(scope="module")
def sites(reachable_tmp: Path, own_postgres: OwnPostgres, own_valkey: OwnValkey) -> Iterator[Sites]:
    """The crawl that all tests here judge but the last."""
    own_postgres.start()
    own_valkey.start()
    folder = Path(tempfile.mkdtemp(prefix="faults-sites-", dir=reachable_tmp))  # a process may come back to this module
    folder.chmod(0o711)
    rig = Rig(
        folder,
        own_postgres,
        own_valkey,
        hosts=HEALTHY,
        pages=HEALTHY_PAGES,
        delay_s=DELAY_S,
        settings=SETTINGS,
    )
    try:
        origin = rig.also(HostileOrigin())
        rig.start(workers=2, slots=quick_or_long(8, 64))
        found = crawl_sites(rig, origin)
        yield found
    finally:
        rig.close()


def rests(host: Host) -> list[float]:
    """Seconds from the end of a request to the start of the next."""
    lines = sorted(host.log, key=lambda line: line.start)
    return [later.start - (earlier.end or later.start) for earlier, later in itertools.pairwise(lines)]


def test_ft25_slow_origins(sites: Sites, figures: dict[str, Any]) -> None:
    """hosts that never answer, or byte by byte: each request ends by its deadline and 1 s, and the healthy hosts keep
    80 % of their rate; whatever a host does, it is asked one thing at a time, and with its delay."""
    slow = [line for host in sites.of(*SLOW) for line in host.log if line.hung_up]
    sites.rig.figures = figures
    figures |= {
        "hosts": len(sites.origin.hosts),
        "slow_hosts": len(SLOW) * SLOW_EACH,
        "longest_s": round(max(line.took_s for line in slow), 2),
        "rate_kept": round(sites.rate_kept, 2),
        "guests_gap_s": round(min(gap for host in sites.origin.hosts.values() for gap in rests(host)), 3),
    }
    sites.rig.judge()
    assert len(slow) == SLOW_EACH * (3 * TRIES + ROBOTS_TRIES)
    assert figures["longest_s"] <= at_most_s(sites.rig.settings.request_deadline_s + LATE_S)
    assert sites.rate_kept >= quick_or_long(0.2, 0.8)  # a few seconds of a busy machine tell little
    assert figures["guests_gap_s"] >= DELAY_S - EARLY_S


def test_ft26_endless_answers(sites: Sites, figures: dict[str, Any]) -> None:
    """bodies and headers without end: read to the cap and a MiB, then hung up."""
    lines = [line for host in sites.of(*ENDLESS) for line in host.log if line.path == "/"]
    figures |= {"requests": len(lines), "most_kb": max(line.sent for line in lines) // 1000}
    assert all(line.hung_up for line in lines)
    assert max(line.sent for line in lines) <= CAP_BYTES + READ_AHEAD_BYTES
    assert_endings(sites, ENDLESS)


def test_ft27_broken_framing(sites: Sites, figures: dict[str, Any]) -> None:
    """answers that are cut, reset, contradict themselves or are none: each ends as the docs say after three tries at
    most, no part is kept as a whole, no link of a part is followed."""
    figures["requests"] = sum(len(host.pages_asked) for host in sites.of(*BROKEN))
    assert_endings(sites, BROKEN)


def test_ft28_redirects(sites: Sites, figures: dict[str, Any]) -> None:
    """redirects in circles, ever longer, of a megabyte, to nowhere: ten hops at most, each after the host's delay."""
    asked = {host.name: host.pages_asked for host in sites.of(*CIRCLES)}
    figures |= {"requests": sum(map(len, asked.values())), "most_hops": max(map(len, asked.values())) - 1}
    assert {name: asked[name] for name, _ in REDIRECTS} == dict(REDIRECTS)
    assert max(map(len, asked.values())) == HOPS + 1
    assert min(gap for host in sites.of(*CIRCLES) for gap in rests(host)) >= DELAY_S - EARLY_S
    assert_endings(sites, CIRCLES)


def assert_endings(sites: Sites, names: tuple[str, ...]) -> None:
    """As in docs/politeness.md and docs/reasons.md, row by row."""
    for host in sites.of(*names):
        name, *ending, tries, kept = ENDS[host.name]
        assert (name, *sites.ending(host)) == (name, *ending)
        assert host.pages_asked.count("/") == tries, name
        assert sites.kept.get(host.url()) is kept, name
        assert host.targets.count("/robots.txt") == 1, name
        assert "/half" not in host.targets, name


def test_ft31_storms(sites: Sites, figures: dict[str, Any]) -> None:
    """429 and 503 with a Retry-After in seconds, as a date, in the year 2199 or none: nobody comes before its time,
    rests do not shrink, no page is lost."""
    early = []
    for name, _, refused, rest_s in STORMS:
        host = sites.only(name)
        pages = [line for line in host.log if line.path != "/robots.txt"]
        waits = [later.start - (earlier.end or 0.0) for earlier, later in itertools.pairwise(pages)][:refused]
        early.append(min(waits) / rest_s)
        assert {line.path for line in pages[:refused]} == {"/"}
        assert Counter(line.path for line in pages[refused:]) == dict.fromkeys(ALL, 1), name
        assert sites.states(host) == {"resting"}, name
        assert not name.endswith("absent") or waits[1] >= 2 * BACKOFF_S - EARLY_S, "it grows"
    figures |= {"requests": sum(len(sites.only(row[0]).log) for row in STORMS), "least_of_rest": round(min(early), 2)}
    assert min(early) >= 1.0 - EARLY_S


def test_ft32_robots(sites: Sites, figures: dict[str, Any]) -> None:
    """robots.txt that fails, hangs, goes in circles, is huge or written oddly: nothing but it is asked for while it is
    out of reach, more and more seldom; where it is missing all is; where it can be read it is kept."""
    endings = {name: (asked, tries) for name, _, asked, tries in ROBOTS_ENDINGS}
    for host in sites.of(*ROBOTS):
        files = [line for line in host.log if line.path.startswith("/robots")]
        pages = {line.target for line in host.log} - {line.target for line in files}
        if host.name == "robotsloop":
            assert pages == set()
            continue
        asked, tries = endings[host.name]
        assert pages == asked, host.name
        assert len(files) == tries, host.name
        waits = [later.start - (earlier.end or 0.0) for earlier, later in itertools.pairwise(files)]
        assert all(wait >= min(BACKOFF_S * 2**at, BACKOFF_MAX_S) - EARLY_S for at, wait in enumerate(waits)), host.name
    figures |= {"hosts": len(ROBOTS), "requests": sum(len(host.log) for host in sites.of(*ROBOTS))}


def test_ft35_flapping_and_outage(sites: Sites, figures: dict[str, Any]) -> None:
    """two of three answers are 503, and a host that is away for some seconds: all pages done, few tries meanwhile, by
    back-off and breaker."""
    flapping, away = sites.only("flap"), sites.only("outage")
    away_s = sites.away[1] - sites.away[0]
    asked = Counter(away.pages_asked)
    figures |= {"away_s": round(away_s, 1), "tries": sites.tries, "flapping_requests": len(flapping.pages_asked)}
    assert sites.states(flapping) == sites.states(away) == {"resting"}
    assert set(flapping.pages_asked) == ALL
    assert len(flapping.pages_asked) <= 3 * PAGES
    assert set(asked) == {"/", *(f"/{number}" for number in range(1, AWAY_PAGES))}
    assert asked.total() <= AWAY_PAGES + 1, "one may have been under way"
    closed_s = BREAKER_FAILURES * BACKOFF_S  # of four rests, the least
    assert 1 <= sites.tries <= BREAKER_FAILURES + 1 + max(away_s - closed_s, 0.0) / BACKOFF_MAX_S


def test_ft36_sitemaps(sites: Sites, figures: dict[str, Any]) -> None:
    """sitemaps in circles, of themselves, 13 deep, cut, packed, a bomb: each file once, three indexes deep, workers
    grow by less than 64 MiB."""
    host = sites.only("sitemaps")
    asked = Counter(target for target in host.targets if ".xml" in target)
    listed = {target for target in host.targets if target.startswith("/listed/")}
    figures |= {"requests": len(host.log), "files": len(asked), "grown_mib": round(sites.grown_mib)}
    deep = {f"/deep-{level}.xml" for level in range(1, 5)}
    assert set(asked) == {*maps.NAMED, "/round.xml", "/beside.xml", *deep}
    assert asked.total() - len(asked) <= sites.unread[host.address]
    assert {"/listed/fine", "/listed/packed", "/listed/beside"} <= listed
    assert "/listed/deep" not in listed
    assert sites.states(host) == {"resting"}
    assert sites.grown_mib < GROWTH_MIB


def test_ft37_a_site_changes(make_rig: MakeRig) -> None:
    """pages deleted or changed between two rounds: unchanged ones are 304 without a body, deleted ones are gone, 410 at
    once and 404 when it is said twice; an explicit round asks for them once more."""
    rig = make_rig(hosts=2, pages=quick_or_long(8, 40), delay_s=0.2)
    host = rig.web.hosts[0]
    rig.seed()
    rig.until_finished()
    rig.judge()
    rig.web.rule("/page-1.html", host=host, status=404)
    rig.web.rule("/page-3.html", host=host, status=410)
    rig.web.rule("/page-4.html", adds="<p>Something new.")
    deleted = [rig.web.url(host, path) for path in ("/page-1.html", "/page-3.html")]
    changed, same = len(rig.web.hosts), len(rig.web.truth) - len(rig.web.hosts) - len(deleted)
    first, after_first = go_round(rig), states(rig, deleted)
    second, after_second = go_round(rig), states(rig, deleted)
    bodies = rig.sql("SELECT coalesce(sum(body_bytes), 0) AS n FROM fetches WHERE status = 304")[0]["n"]
    rig.figures |= {"unchanged": first[304], "changed": first[200], "bytes_of_304": int(bodies)}
    assert first == {304: same, 200: changed, 404: 1, 410: 1}
    assert after_first == ["resting", "gone"]
    assert second == {304: same + changed, 404: 1, 410: 1}
    assert after_second == ["gone", "gone"]
    assert int(bodies) == 0


def states(rig: Rig, addresses: Sequence[str]) -> list[str]:
    return [rig.sql("SELECT state FROM urls WHERE url = %s", address)[0]["state"] for address in addresses]


def go_round(rig: Rig) -> Counter[int | None]:
    """All of it once more. Statuses of pages."""
    before = len(rig.web.lines())
    engine = make_engine(rig.settings.model_copy(update={"database_url": rig.database_url}))
    try:
        crawls.start_round(engine, CRAWL)
    finally:
        engine.dispose()
    rig.until_finished()
    return Counter(line.status for line in rig.web.lines()[before:] if line.is_page)
