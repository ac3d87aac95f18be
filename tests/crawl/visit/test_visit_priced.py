"""402 in a visit: nothing is paid, the URL rests as long as one that is gone, and a host that asks again rests."""

import pytest

from app.admin import crawls, explain, report
from app.crawl.state.worker import Worker
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.store.rows import one, sql, url

PRICED = Answer(status=402, headers={"crawler-price": "USD 0.01"}, body=b"Pay, please.")
PRICE = "USD 0.01 (crawler-price)"


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def test_a_402_is_an_ending_of_its_own_and_tells_its_price(worker: Worker, site: Site) -> None:
    asked: list[Hit] = []

    def paid(hit: Hit) -> Answer:
        asked.append(hit)
        return PRICED

    site.pages |= {"/": html("/paid", "/b"), "/paid": paid, "/b": html(text="b")}
    start(worker, site.url())
    run(worker)
    row = url(worker.engine, site.url("/paid"))
    assert (row["state"], row["outcome"], row["cause"], row["detail"]) == (
        *("resting", "payment_required", "asks for payment", PRICE),
    )
    rests_s = one(
        worker.engine,
        "SELECT extract(epoch FROM due_at - fetched_at) FROM urls WHERE url = :url",
        url=site.url("/paid"),
    )
    assert float(rests_s) == pytest.approx(worker.settings.recrawl_max_s, rel=0.01)
    (hit,) = asked
    assert not [name for name in hit.headers if "price" in name.lower() or "payment" in name.lower()]
    (logged,) = sql(worker.engine, "SELECT outcome, detail FROM fetches WHERE status = 402")
    assert logged == {"outcome": "payment_required", "detail": PRICE}


def test_why_report_and_rights_say_what_was_asked(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html("/paid"), "/paid": PRICED}
    start(worker, site.url())
    run(worker)
    (of_crawl,) = explain.why(worker.engine, worker.settings, site.url("/paid")).crawls
    assert (of_crawl.url["cause"], of_crawl.url["detail"]) == ("asks for payment", PRICE)
    found = report.report(worker.engine, "c")
    assert [(row["cause"], row["detail"], row["urls"]) for row in found.causes] == [("asks for payment", PRICE, 1)]
    assert ("payment_required", 402) in [(row["outcome"], row["status"]) for row in found.outcomes]
    (row,) = sql(worker.engine, "SELECT ai_train, search, decided ->> 'search' AS by FROM v_rights")
    assert row == {"ai_train": "refused", "search": "refused", "by": f"payment={PRICE} (status 402)"}


def test_a_host_that_answers_nothing_else_rests_after_five(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html(*(f"/{n}" for n in range(20)))} | {f"/{n}": PRICED for n in range(20)}
    start(worker, site.url())
    go(worker)
    assert len(site.paths) == len(["/robots.txt", "/"]) + 5
    (host,) = sql(worker.engine, "SELECT resting_because, resting_detail, blocked_until - now() AS rest FROM hosts")
    assert (host["resting_because"], host["resting_detail"]) == ("asks for payment", PRICE)
    assert host["rest"].total_seconds() == pytest.approx(worker.settings.challenge_rest_s, rel=0.01)
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 15, "they wait, and are not lost"


def test_a_crawl_of_such_a_host_comes_to_an_end(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html(*(f"/{n}" for n in range(40)))} | {f"/{n}": PRICED for n in range(40)}
    start(worker, site.url())
    for _ in range(worker.settings.host_failures_max + 5):
        go(worker)
        sql(
            worker.engine,
            """UPDATE hosts SET next_fetch_at = now(), polite_at = now(), blocked_until = NULL,
                                resting_because = NULL WHERE blocked_until IS NOT NULL""",
        )
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 0
    given_up = sql(worker.engine, "SELECT DISTINCT cause, detail FROM urls WHERE state = 'quarantined'")
    assert given_up == [{"cause": "asks for payment", "detail": PRICE}]
    assert site.paths.count("/robots.txt") == 1
    assert len(site.paths) < 2 + 5 + worker.settings.host_failures_max + 1


def test_a_page_that_is_served_again_is_a_page(worker: Worker, site: Site) -> None:
    site.pages["/"] = PRICED
    start(worker, site.url())
    run(worker)
    site.pages["/"] = html(text="Free at last.")
    crawls.go_round(worker.engine, "c")
    run(worker)
    row = url(worker.engine, site.url("/"))
    assert (row["outcome"], row["cause"], row["detail"]) == ("page", None, None)
    assert one(worker.engine, "SELECT ai_train FROM v_rights") == "unknown"
