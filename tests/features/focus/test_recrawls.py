"""What a visit believes of a page's changes, and when it is due again."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from app.admin import focus
from app.beat.reprice import reprice
from app.crawl.state.worker import Worker
from tests.crawl.loop import go, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql, url

DAY_S = 86_400.0


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def ago(days: float) -> str:
    return format_datetime(datetime.now(UTC) - timedelta(days=days), usegmt=True)


def look_again(worker: Worker, site: Site, *, days: float) -> dict[str, object]:
    """As if so many days had passed since the last fetch."""
    sql(
        worker.engine,
        """UPDATE urls SET state = 'queued', due_at = NULL, fetched_at = fetched_at - make_interval(secs => :s)
                       WHERE kind = 'page'""",
        s=days * DAY_S,
    )
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    return url(worker.engine, site.url("/a"))


def begin(worker: Worker, site: Site, profile: str = "general") -> dict[str, object]:
    site.pages["/"] = html("/a", text="front")
    site.pages["/a"] = html(text="some words that stay as they are")
    start(worker, site.url(), keep_fresh=True, profile=profile)
    go(worker)
    return url(worker.engine, site.url("/a"))


def mean_days(row: dict[str, object]) -> float:
    return float(str(row["change_s"])) / float(str(row["change_shape"])) / DAY_S


def test_a_page_is_due_after_its_branchs_interval(worker: Worker, site: Site) -> None:
    row = begin(worker, site, profile="[rest]\nevery = '2d'\n")
    assert row["interval_s"] == pytest.approx(2 * DAY_S, rel=0.01)
    assert (row["due_at"] - row["fetched_at"]).total_seconds() == pytest.approx(2 * DAY_S, rel=0.11)  # type: ignore[operator]


# days between the visits, what the page is then, its Last-Modified → the mean of its changes moves so
@pytest.mark.parametrize(
    ("days", "text", "modified_days", "slower"),
    [
        (5, None, None, True),
        (5, "other words than it had before", None, False),
        (5, "other words than it had before", 0.01, False),
    ],
)
def test_a_visit_moves_the_belief(
    worker: Worker, site: Site, days: float, text: str | None, modified_days: float | None, slower: bool
) -> None:
    before = begin(worker, site)
    if text is not None:
        headers = {} if modified_days is None else {"Last-Modified": ago(modified_days)}
        site.pages["/a"] = html(text=text, headers=headers)
    after = look_again(worker, site, days=days)
    assert (mean_days(after) > mean_days(before)) is slower
    assert (float(str(after["interval_s"])) > float(str(before["interval_s"]))) is slower


def test_a_known_time_of_change_counts_and_one_just_made_does_not(worker: Worker, site: Site) -> None:
    """Some servers send the time of the answer as Last-Modified."""
    begin(worker, site)
    means = []
    for modified in (0.01, 0.0):
        site.pages["/a"] = html(
            text=f"other words than it had before {modified}", headers={"Last-Modified": ago(modified)}
        )
        sql(worker.engine, "UPDATE urls SET change_shape = 0.5, change_s = 500000")
        means.append(mean_days(look_again(worker, site, days=5)))
    assert means[0] < means[1]


# what is no date, though it looks like one
@pytest.mark.parametrize(
    "written", ["Mon, 01 Jan 2024 00:00:00 +99999999999999", f"Mon, {'9' * 30} Jan 2024 00:00:00 GMT"]
)
def test_a_last_modified_out_of_all_bounds_says_nothing(worker: Worker, site: Site, written: str) -> None:
    before = begin(worker, site)
    site.pages["/a"] = html(text="other words than it had before", headers={"Last-Modified": written})
    assert mean_days(look_again(worker, site, days=5)) < mean_days(before)


def test_a_304_counts_as_unchanged(worker: Worker, site: Site) -> None:
    site.pages["/a"] = html(text="words", headers={"ETag": '"1"'})
    site.pages["/"] = html("/a", text="front")
    start(worker, site.url(), keep_fresh=True)
    go(worker)
    before = url(worker.engine, site.url("/a"))
    after = look_again(worker, site, days=10)
    assert after["status"] == 304
    assert mean_days(after) > mean_days(before)


def test_a_budget_makes_a_price_and_a_price_makes_intervals(worker: Worker, site: Site) -> None:
    """A request in twenty days for two pages."""
    begin(worker, site, profile="[recrawl]\nrequests_per_day = 0.05\n")
    assert reprice(worker.engine, worker.settings) == 1
    price_s = one(worker.engine, "SELECT recrawl_price_s FROM crawls")
    assert price_s > 0
    row = look_again(worker, site, days=1)
    found = focus.freshness(worker.engine, "c")
    assert found.asked_per_day == pytest.approx(0.05, rel=0.3)
    assert (found.price_s, found.budget_per_day, found.recrawls) == (price_s, 0.05, 2)
    assert float(str(row["interval_s"])) > 20 * DAY_S
    sql(worker.engine, "UPDATE crawls SET profile = 'general'")
    assert reprice(worker.engine, worker.settings) == 0
    assert one(worker.engine, "SELECT recrawl_price_s FROM crawls") is None


def test_a_profile_that_cannot_be_read_leaves_the_last_good_one(make: Callable[..., Worker], site: Site) -> None:
    """As a later release may have written it."""
    worker = make()
    begin(worker, site, profile="[rest]\nevery = '2d'\n")
    sql(worker.engine, "UPDATE crawls SET profile = 'x = 1', revision = revision + 1")
    row = look_again(worker, site, days=2)
    assert float(str(row["interval_s"])) < 5 * DAY_S
    assert reprice(worker.engine, worker.settings) == 0
