"""What a new robots.txt allows is queued again, however many URLs the earlier one refused."""

from typing import cast

from app.crawl.robots import obtain
from app.crawl.state.origins import RobotsFile
from app.crawl.state.visit import LOOK_LINKS
from app.crawl.state.worker import Worker
from app.model import Url
from app.policy.robots import ALLOW_ALL, Availability
from app.store import db
from app.store.url_rows import Result
from tests.crawl.loop import run, start
from tests.crawl.visit.robots_states import expire
from tests.crawl.visit.test_lease_ends import take_up
from tests.crawl.web import Web, html
from tests.store.rows import one, sql, url

MANY = 2 * LOOK_LINKS + 300


def test_of_more_than_a_page_of_refused_urls(worker: Worker, web: Web) -> None:
    """Each page of them is a transaction of its own; none is left between two pages."""
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /a"
    site.pages |= {"/": html(*(f"/a{number:04}" for number in range(MANY))), "/later": html()}
    start(worker, site.url())
    run(worker)
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'refused'") == MANY
    site.robots = "User-agent: *\nDisallow: /a\nAllow: /a*77$"
    expire(worker)
    start(worker, site.url("/later"), name="wakes-the-host")
    sql(worker.engine, "UPDATE crawls SET state = 'active', finished_at = NULL")
    run(worker)
    wanted = {f"/a{number:04}" for number in range(MANY) if number % 100 == 77}
    assert set(site.pages_asked) == {"/", "/later"} | wanted
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'refused'") == MANY - len(wanted)


def test_what_the_same_batch_refused_before_it_had_the_file(worker: Worker, web: Web) -> None:
    """Its row is refused only within the settle that stores the file."""
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /a"
    site.pages |= {"/": html("/a", "/other"), "/later": html()}
    start(worker, site.url())
    run(worker)
    start(worker, site.url("/later"), name="wakes-the-host")
    visit, row = take_up(worker), url(worker.engine, site.url("/a"))
    assert row["state"] == "refused"
    home = worker.canon.canonicalise(site.url())
    assert isinstance(home, Url)
    origin = home.origin
    visit.batch.robots.renewed.append(origin)
    visit.origins.robots[origin] = RobotsFile(
        rules=ALLOW_ALL,
        availability=Availability.AVAILABLE,
        status=200,
        failures=0,
        asked=visit.now(),
        fresh_until=visit.now() + 300,
        unreachable_from=None,
        answered=True,
        body_sha256=None,
        etag=None,
        last_modified=None,
        crawl_delay_s=None,
    )
    visit.batch.results.append(cast(Result, {"crawl_id": row["crawl_id"], "key": row["key"], "state": row["state"]}))
    with db.transaction(worker.engine) as tx:
        obtain.of_batch(visit, tx)
    assert url(worker.engine, site.url("/a"))["state"] == "queued"
