"""The queries of a crawl's last lines: refused URLs by cause, and paused hosts."""

from sqlalchemy import Engine

from app.model import Cause
from app.store import db, hosts, urls
from app.store.url_rows import RefusedUrls
from tests.store.rows import admission, admit, make_crawl, make_host


def test_refused_urls_are_counted_by_cause_with_the_host_that_has_most(engine: Engine) -> None:
    crawl, other = make_crawl(engine), make_crawl(engine, "other")
    few, many = make_host(engine, "few.test"), make_host(engine, "many.test")
    trap, robots = {"state": "refused", "cause": Cause.TRAP}, {"state": "refused", "cause": Cause.ROBOTS}
    admit(
        engine,
        admission(few, crawl, "/1", **trap),
        *(admission(many, crawl, f"/{n}", **trap) for n in range(3)),
        admission(few, crawl, "/2", **robots),
        admission(few, crawl, "/3"),
        admission(few, other, "/1", **trap),
    )
    with db.transaction(engine) as tx:
        assert urls.refused(tx, crawl) == [
            RefusedUrls(Cause.TRAP, 4, 2, "many.test"),
            RefusedUrls(Cause.ROBOTS, 1, 1, "few.test"),
        ]


def test_paused_hosts_of_a_crawl_are_those_with_something_queued(engine: Engine) -> None:
    crawl, other = make_crawl(engine), make_crawl(engine, "other")
    made = [make_host(engine, f"{n}.test", state="paused") for n in range(4)]
    idle = make_host(engine, "idle.test")
    admit(engine, *(admission(host_id, crawl) for host_id in [*made[:2], idle]), admission(made[2], other))
    with db.transaction(engine) as tx:
        assert hosts.paused_of(tx, crawl_id=crawl, n=9) == ["0.test", "1.test"]
        assert hosts.paused_of(tx, crawl_id=crawl, n=1) == ["0.test"]
