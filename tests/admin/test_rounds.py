"""A round every so often: begun when it is due and the one before has ended, once, with validators."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from app.admin import crawls
from app.admin.edit import edit
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.model import CrawlChange
from app.policy.moment import interval_s, interval_text
from tests.crawl import loop
from tests.crawl.conftest import engine as engine
from tests.crawl.conftest import make as make
from tests.crawl.conftest import web as web
from tests.crawl.conftest import worker as worker
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql

DAY_S = 86_400.0
AHEAD = "SELECT extract(epoch FROM round_at - clock_timestamp()) FROM crawls"


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages["/"] = html(text="Home.", headers={"ETag": '"1"'})
    return site


def ahead_s(engine: Engine) -> float:
    """Seconds until the next round."""
    return float(one(engine, AHEAD))


def later(engine: Engine, days: float) -> None:
    """As if this many days had passed."""
    sql(engine, "UPDATE crawls SET round_at = round_at - :by, active_since = active_since - :by", by=timedelta(days))


def test_a_round_a_day_with_validators(worker: Worker, site: Site) -> None:
    loop.start(worker, site.url())
    loop.run(worker)
    edit(worker.engine, worker.settings, "c", CrawlChange(every_s=DAY_S))
    assert DAY_S - 600 < ahead_s(worker.engine) <= DAY_S
    assert crawls.begin(worker.engine, worker.settings) == 0, "it is not due"
    later(worker.engine, 1.01)
    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(lambda _: crawls.begin(worker.engine, worker.settings), range(3))) == 1
    assert 0.9 * DAY_S < ahead_s(worker.engine) < DAY_S, "a day after the one that was due, not after now"
    assert crawls.begin(worker.engine, worker.settings) == 0
    loop.run(worker)
    hits = [hit for hit in site.log if hit.path == "/"]
    assert [hit.status for hit in hits] == [200, 304]
    assert one(worker.engine, "SELECT round FROM crawls") == 2


def test_a_round_that_takes_longer_is_not_begun_again_before_its_end(worker: Worker, site: Site) -> None:
    loop.start(worker, site.url(), every_s=DAY_S)
    later(worker.engine, 3.5)
    assert crawls.begin(worker.engine, worker.settings) == 0, "it is active"
    loop.run(worker)
    assert crawls.begin(worker.engine, worker.settings) == 1
    assert 0.4 * DAY_S < ahead_s(worker.engine) < 0.6 * DAY_S


def test_what_is_due_begins_soon_and_none_ends_it(worker: Worker, site: Site) -> None:
    loop.start(worker, site.url())
    loop.run(worker)
    sql(worker.engine, "UPDATE crawls SET active_since = active_since - interval '9 days'")
    edit(worker.engine, worker.settings, "c", CrawlChange(every_s=DAY_S))
    assert ahead_s(worker.engine) <= 0, "the last one began nine days ago"
    edit(worker.engine, worker.settings, "c", CrawlChange(every_s=0.0))
    assert one(worker.engine, "SELECT round_at FROM crawls") is None
    assert crawls.begin(worker.engine, worker.settings) == 0
    loop.start(worker, site.url(), name="paused", every_s=DAY_S)
    crawls.pause(worker.engine, "paused")
    later(worker.engine, 2)
    assert crawls.begin(worker.engine, worker.settings) == 0


@pytest.mark.parametrize(
    ("text", "seconds"), [("45m", 2_700), ("12h", 43_200), ("1d", DAY_S), (" 2W ", 14 * DAY_S), ("none", 0)]
)
def test_an_interval_as_people_write_it(text: str, seconds: float) -> None:
    assert interval_s(text, option="--every") == seconds
    assert interval_text(seconds) == text.strip().lower()


@pytest.mark.parametrize("text", ["1", "d", "-1d", "1.5d", "daily", "1y", "9999999d", "٣d"])
def test_what_is_no_interval(text: str) -> None:
    with pytest.raises(InputError, match="is not a length of time"):
        interval_s(text, option="--every")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (CrawlChange(every_s=60.0), "use 10m to 520w"),
        (CrawlChange(every_s=1e12), "use 10m to 520w"),
        (CrawlChange(every_s=DAY_S, keep_fresh=True), "one that keeps fresh does not"),
    ],
)
def test_a_crawl_that_cannot_be_asked_for(worker: Worker, site: Site, change: CrawlChange, why: str) -> None:
    loop.start(worker, site.url())
    with pytest.raises(InputError, match=why):
        edit(worker.engine, worker.settings, "c", change)
