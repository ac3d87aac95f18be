"""The dashboard's numbers agree page by page, and with SQL; and it says which sites fail beside whether it is well.

`mixed` asked ten hosts: six are well, one has missing pages, three fail: one answers 500, one closes the connection,
one has a robots.txt that is 503. `cut` ended at its budget of pages, with URLs queued.
"""

import re
from collections.abc import Iterator
from html import unescape

import pytest
from sqlalchemy import Engine

from app.admin import report
from app.admin.board import lists
from app.admin.board.pulse import RECENT
from app.admin.failing import Failures, HostFailures
from app.crawl.state.setup import make_sender, make_worker
from app.model import Budgets
from tests.crawl import loop
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import clean, sql
from tests.web.chromium import Seen, launched, needs_chromium, opened
from tests.web.served import Browser, served, settings_of

BUDGET = 900
PAGES = 3  # of each host that is well


@pytest.fixture(scope="module")
def sites(database_url: str) -> Iterator[tuple[Engine, list[Site]]]:
    settings = loop.make_settings(database_url)
    sender = make_sender(settings)
    with clean(database_url) as engine, Web() as web:
        sites = [web.site() for _ in range(10)]
        for site in sites:
            site.pages |= {"/": html("/a", "/b", text=site.host), "/a": html(text="A"), "/b": html(text="B")}
        sites[6].pages["/"] = html("/a", "/b", "/nowhere", "/nothing", text="some are missing")
        sites[7].pages |= dict.fromkeys(("/", "/a", "/b"), Answer(status=500))
        sites[8].robots = ""
        sites[8].pages |= dict.fromkeys(("/", "/a", "/b"), Answer(drop=True))
        sites[9].robots = Answer(status=503)
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:0")
        loop.start(worker, *(site.url() for site in sites), name="mixed", budgets=Budgets(max_pages=BUDGET))
        loop.run(worker)
        long = web.site()
        long.pages["/"] = html(*(f"/{n}" for n in range(40)))
        loop.start(worker, long.url(), name="cut", budgets=Budgets(max_pages=1))
        loop.run(worker)
        yield engine, sites
    sender.close()


@pytest.fixture(scope="module")
def _opened(sites: tuple[Engine, list[Site]], database_url: str) -> Iterator[Browser]:
    with served(sites[0], settings_of(database_url)) as browser:
        yield browser


@pytest.fixture
def board(_opened: Browser) -> Browser:
    return _opened.entered()


def one(engine: Engine, query: str) -> int:
    (row,) = sql(engine, query)
    (value,) = row.values()
    assert isinstance(value, int)
    return value


def number(text: str) -> int:
    return int(text.replace(",", ""))


def lived(page: str, name: str) -> list[int]:
    """The numbers in places that are kept up to date by this name."""
    return [number(found) for found in re.findall(rf'data-live="{re.escape(name)}">([\d,]+)<', page)]


def cells(page: str, of: str) -> list[int]:
    return [number(found) for found in re.findall(rf'data-is="{of}">([\d,]+)', page)]


@pytest.mark.parametrize("crawl", ["mixed", "cut"])
def test_a_crawls_pages_are_the_same_number_everywhere(
    board: Browser, sites: tuple[Engine, list[Site]], crawl: str
) -> None:
    """Tile = bar = tables = command = SQL."""
    engine, _ = sites
    (row,) = sql(engine, f"SELECT crawl_id, pages, failed, queued FROM v_crawl_progress WHERE crawl = '{crawl}'")
    overview, own = board.get("/").text, board.get(f"/crawl?name={crawl}").text
    for name in ("pages", "failed", "queued"):
        key = f"c{row['crawl_id']}.{name}"
        assert lived(overview, key) == [row[name]], "the table of the overview"
        assert set(lived(own, key)) == {row[name]}, "the tile, and the bar"
    assert len(lived(own, f"c{row['crawl_id']}.pages")) == 2
    hosts = own.partition("Hosts with the most pages")[2].partition("</table>")[0]
    assert sum(cells(hosts, "pages")) == row["pages"]
    assert sum(cells(hosts, "failed")) == row["failed"]
    found = report.report(engine, crawl)
    assert (found.totals.pages, found.totals.failed) == (row["pages"], row["failed"])
    listed = lists.pages(engine, crawl)
    assert listed.next is None
    assert len(listed.rows) == board.get(f"/pages?crawl={crawl}").text.count('<th scope="row">') == row["pages"]
    assert len(listed.rows) == one(engine, f"SELECT count(*) FROM pages WHERE crawl_id = {row['crawl_id']}")


def test_a_finished_crawl_says_what_it_left_queued(board: Browser, sites: tuple[Engine, list[Site]]) -> None:
    left = one(sites[0], "SELECT queued FROM v_crawl_progress WHERE crawl = 'cut'")
    assert left > 0
    assert f'>{left}<br><span class="small">of crawls that are not active<' in board.get("/hosts").text
    counted = board.until("/crawl/counted?name=cut", "URLs by state").text
    assert f'queued</td><td class="n">{left}<' in counted


def test_urls_and_requests_add_up(board: Browser, sites: tuple[Engine, list[Site]]) -> None:
    engine, _ = sites
    counted = board.until("/crawl/counted?name=mixed", "URLs by state").text
    states = counted.partition("URLs by state")[2].partition("</table>")[0]
    of_mixed = "crawl_id = (SELECT id FROM crawls WHERE name = 'mixed')"
    assert sum(map(number, re.findall(r'class="n">([\d,]+)<', states))) == one(
        engine, f"SELECT count(*) FROM urls WHERE {of_mixed}"
    )
    endings = counted.partition("Requests by ending")[2].partition("</table>")[0]
    assert sum(map(number, re.findall(r'class="n">([\d,]+)<', endings))) == one(
        engine, f"SELECT count(*) FROM fetches WHERE {of_mixed}"
    )


def test_errors_by_host_are_errors_by_class(board: Browser, sites: tuple[Engine, list[Site]]) -> None:
    """Missing pages are listed by class alone: they are answers."""
    engine, _ = sites
    failed = one(
        engine,
        "SELECT count(*) FROM fetches WHERE outcome NOT IN "
        "('page', 'unchanged', 'redirect', 'unwanted', 'not_found', 'gone', 'unsent')",
    )
    missing = one(engine, "SELECT count(*) FROM fetches WHERE kind = 'page' AND outcome IN ('not_found', 'gone')")
    for path in ("/errors", "/errors?crawl=mixed"):
        page = board.get(path).text
        by_host, by_class = page.split('<section data-is="by class">')
        assert sum(cells(by_host, "failed")) == failed
        assert sum(cells(by_class, "requests")) == failed + missing
        assert f"{failed} of " in by_host
    assert missing == 2
    assert 'data-is="by host"' not in board.get("/errors?crawl=cut").text


def test_the_banner_names_the_hosts_that_fail(board: Browser, sites: tuple[Engine, list[Site]]) -> None:
    broken, reset, closed = sites[1][7:]
    overview = unescape(board.get("/").text)
    notes = overview.partition("data-notes>")[2].partition("</div>\n</div>")[0]
    assert "3 of 11 hosts fail:" in notes
    named = [f"{broken.host} (HTTP 500)", f"{reset.host} (reset)", f"{closed.host} (HTTP 503 for robots.txt)"]
    assert [name for name in named if name not in notes] == []
    assert "All is well" not in notes
    errors = unescape(board.get("/errors").text)
    assert "3 of 11 hosts failed at least half of theirs" in errors
    for remedy in (
        "without its robots.txt no page of it is fetched",
        "it closes the connection",
        "it is the site's to mend",
    ):
        assert remedy in errors


PHONE = (390, 844)
ORDERS = """INSERT INTO operator_log (who, face, act, subject, outcome, detail, ended_at, failed)
            SELECT 'anna', 'command', 'crawl.run', 'mixed', 'as it came', repeat('max_pages=900 ', 30), now(), false
            FROM generate_series(1, 6)"""


@needs_chromium
def test_the_overview_on_a_phone_fits_four_screens(board: Browser, sites: tuple[Engine, list[Site]]) -> None:
    """With as many requests and orders as it shows at a desk."""
    sql(sites[0], ORDERS)
    width, height = PHONE
    with launched() as chromium:
        page = opened(chromium, Seen(), board.entrance, width=width)
        page.goto(f"{board.url}/")
        page.locator("[data-requests] tr").nth(RECENT - 1).wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollHeight") <= 4 * height
        page.context.close()


def test_a_report_says_which_hosts_fail(sites: tuple[Engine, list[Site]]) -> None:
    """However few requests there were: a share proves nothing then, but a host without one answer does."""
    mixed, cut = (report.report(sites[0], name).verdict for name in ("mixed", "cut"))
    assert [line.partition(":")[0] for line in mixed if "fail" in line] == ["3 of 10 hosts fail"]
    assert sites[1][9].host in " ".join(mixed)
    assert "nothing stands out" not in mixed
    assert [line for line in cut if "fail" in line] == []


def of(*, asked: int, failing: int = 0, requests: int = 1_000, failed: int = 100) -> Failures:
    rows = [{"class_": "reset", "kind": "page"}]
    hosts = [
        HostFailures(host=f"h{n}", requests=9, failed=9, is_failing=n < failing, classes=rows, hours=[9])
        for n in range(max(failing, 1))
    ]
    return Failures(hosts=hosts, asked_hosts=asked, failing_hosts=failing, requests=requests, failed=failed)


# what failed → whether it is said, whether it is as usual, the number
@pytest.mark.parametrize(
    ("found", "is_notable", "is_rare", "point"),
    [
        (Failures(), False, False, "0 of 0 requests failed"),
        (of(asked=10), False, True, "100 of 1,000 requests failed"),
        (of(asked=10, failed=300), True, False, "300 of 1,000 requests failed"),
        (of(asked=3, requests=9, failed=4), False, False, "4 of 9 requests failed"),
        (of(asked=1, failing=1), True, False, "1 of 1 host fails"),
        (of(asked=10, failing=3), True, False, "3 of 10 hosts fail"),
        (of(asked=1_000, failing=30), True, True, "30 of 1,000 hosts fail"),
    ],
)
def test_what_is_said_of_failures(found: Failures, is_notable: bool, is_rare: bool, point: str) -> None:
    assert (found.is_notable, found.is_rare, found.point) == (is_notable, is_rare, point)


def test_five_hosts_are_named() -> None:
    assert of(asked=10, failing=8).names == "h0 (reset), h1 (reset), h2 (reset), h3 (reset), h4 (reset), and 3 others"
    assert of(asked=10, failing=1).names == "h0 (reset)"
