"""Each page has a deadline for all of its SQL, and for what is done after it; the viewer is told, others are served."""

import re
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.errors import TookTooLong
from app.store import db
from app.store.deadline import within
from app.web.guard import SEAT
from tests.faults.waiting import until
from tests.store.rows import sql
from tests.web.served import Browser, served, settings_of

PAGE_S = 0.5
SAID = "this page: took longer than 0.5 s, and was stopped; ask for less"
# every page reads these tables; one of them is locked
PAGES = ["/", "/crawls", "/crawl?name=docs", "/hosts", "/pages", "/search", "/errors", "/items", "/proof?host={host}"]


@pytest.fixture(scope="module")
def _short(crawled: Engine, database_url: str) -> Iterator[Browser]:
    with served(crawled, settings_of(database_url), page_s=PAGE_S) as browser:
        yield browser


@pytest.fixture
def short(_short: Browser) -> Browser:
    return _short.entered()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_whose_sql_takes_too_long_says_so(short: Browser, crawled: Engine, path: str) -> None:
    host = sql(crawled, "SELECT name FROM hosts LIMIT 1")[0]["name"]
    with crawled.begin() as locking:
        locking.execute(text("LOCK TABLE crawls, hosts, urls, fetches, pages, items IN ACCESS EXCLUSIVE MODE"))
        answer = short.get(path.format(host=host))
        assert answer.status_code == 504
        assert SAID in " ".join(answer.text.split())
        assert short.get("/healthz").status_code == 200
    until(lambda: short.get(path.format(host=host)).status_code == 200, "the page is made")


def test_the_time_is_that_of_all_statements_together(crawled: Engine) -> None:
    """Each of them is shorter than the page may take."""
    begun = []

    def sleep_again_and_again() -> None:
        for n in range(20):
            with db.transaction(crawled) as tx:
                begun.append(n)
                tx.execute(text("SELECT pg_sleep(0.4)"))

    said = re.escape("all of it: took longer than 1 s, and was stopped; ask for less")
    with within(1.0, what="all of it", remedy="ask for less"), pytest.raises(TookTooLong, match=f"^{said}$"):
        sleep_again_and_again()
    assert 1 <= len(begun) <= 4
    with db.transaction(crawled) as tx:
        assert tx.execute(text("SHOW statement_timeout")).scalar_one() == "0"


@pytest.mark.parametrize("by_driver", [False, True])
def test_a_statement_of_a_long_transaction_has_what_is_left(crawled: Engine, by_driver: bool) -> None:
    slept, query = [], text("SELECT pg_sleep(1.2)")

    def sleep_again_and_again() -> None:
        with db.transaction(crawled) as tx:
            for n in range(20):
                db.run(tx, query) if by_driver else tx.execute(query)
                slept.append(n)

    with within(2.0, what="all of it", remedy="ask for less"), pytest.raises(TookTooLong):
        sleep_again_and_again()
    assert len(slept) <= 1


def test_work_after_the_sql_is_left_alone_and_the_viewer_is_told(short: Browser) -> None:
    is_asked, may_end = threading.Event(), threading.Event()

    def slow(_: Request) -> Response:
        is_asked.set()
        may_end.wait(60)
        return PlainTextResponse("too late")

    short.app.router.routes.insert(0, Route("/slow", slow))
    try:
        answer = short.get("/slow")
        assert is_asked.is_set()
        assert answer.status_code == 504
        assert SAID in " ".join(answer.text.split())
        assert "default-src" in answer.headers["content-security-policy"]
    finally:
        may_end.set()
        short.app.router.routes.pop(0)


def test_an_order_is_not_stopped_half_way(crawled: Engine, database_url: str) -> None:
    with served(crawled, settings_of(database_url), page_s=0.0) as hasty:
        assert hasty.get("/crawls").status_code == 504
        token = hasty.app.state.board.users.token(hasty.session.cookies[SEAT])
        host = sql(crawled, "SELECT name FROM hosts LIMIT 1")[0]["name"]
        for act in ("host.pause", "host.resume"):
            assert hasty.send(f"/act/{act}", {"token": token, "subject": host}).status_code == 303
