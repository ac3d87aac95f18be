"""A robots.txt of many stars in a visit: links that are too much work are left to the gate, which says so."""

from collections.abc import Callable
from dataclasses import replace

from app.admin.robots_check import check
from app.crawl.page.fetch import COSTLY_MOST
from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.worker import Worker
from app.model import Budgets, Cause, Url
from app.policy.robots import MAX_STEPS, Decision, Robots
from app.policy.robots_text import Text, read
from tests.crawl.loop import run, start
from tests.crawl.visit.robots_states import expire
from tests.crawl.web import Site, Web, html
from tests.store.rows import sql

COSTLY = "User-agent: *\nDisallow: /no\n" + "\n".join(
    f"Disallow: /{'*a' * x}{'*b' * y}*z" for x in range(1, 45) for y in range(1, 45)
)
LINKS = [f"/z{'ab' * 900}{number}" for number in range(4)]


def costly_site(web: Web) -> Site:
    site = web.site()
    site.robots = COSTLY
    site.pages["/"] = html(*LINKS, "/yes", "/no/1")
    site.pages |= {link: html() for link in [*LINKS, "/yes"]}
    return site


def causes(worker: Worker) -> dict[str, str | None]:
    return {
        row["url"]: row["cause"] for row in sql(worker.engine, "SELECT url, cause FROM urls WHERE state = 'refused'")
    }


def test_links_that_are_too_costly_are_refused_as_such_by_the_gate(worker: Worker, web: Web) -> None:
    site = costly_site(web)
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/yes"]
    assert causes(worker) == {site.url("/no/1"): Cause.ROBOTS} | {site.url(link): Cause.TOO_COSTLY for link in LINKS}
    ruling = check(worker.engine, worker.settings, site.url(LINKS[0]))
    assert (ruling.allowed, ruling.is_too_costly, ruling.rule) == (False, True, None)
    assert "too_costly" in ruling.sentence()


class Watched(Robots):
    """Notes how much work each URL at the gate may take."""

    def __init__(self, text: Text) -> None:
        super().__init__(text)
        self.most: list[int] = []

    def judge(self, url: Url, most: int = MAX_STEPS) -> Decision:
        self.most.append(most)
        return super().judge(url, most)


class WatchedBook(RobotsBook):
    def parsed(self, body: bytes) -> Robots:
        self.rules = Watched(read(body, "tiptoe"))
        return self.rules


def test_the_gate_has_a_budget_for_a_visit_and_loses_no_page_to_it(make: Callable[..., Worker], web: Web) -> None:
    site, worker = costly_site(web), make(visit_max_s=600.0)  # one visit, however slow the machine is
    links = [f"/z{'ab' * 900}{number}" for number in range(60)]
    site.pages["/"] = html(*links, "/no/1", *(f"/yes/{number}" for number in range(20)))
    site.pages |= {f"/yes/{number}": html() for number in range(20)}
    book = WatchedBook("tiptoe")
    start(worker, site.url())
    reports = run(replace(worker, robots=book))
    assert sorted(site.pages_asked) == sorted(["/", *(f"/yes/{number}" for number in range(20))])
    assert {*causes(worker).values()} == {Cause.ROBOTS, Cause.TOO_COSTLY}
    assert len(causes(worker)) == 61
    assert len(book.rules.most) >= 81
    assert sum(book.rules.most) <= (len(reports) * COSTLY_MOST + 22) * MAX_STEPS + 60 * MAX_STEPS // 4


def test_they_are_queued_again_when_the_file_changes(worker: Worker, web: Web) -> None:
    site = costly_site(web)
    start(worker, site.url())
    run(worker)
    site.robots = "User-agent: *\nDisallow: /no"
    expire(worker)
    start(worker, site.url("/later"), name="wakes-the-host")
    sql(worker.engine, "UPDATE crawls SET state = 'active', finished_at = NULL")
    run(worker)
    assert sorted(set(site.pages_asked)) == sorted(["/", "/yes", "/later", *LINKS])
    assert causes(worker) == {site.url("/no/1"): Cause.ROBOTS}


def test_links_from_another_host_are_queued_and_left_to_their_gate(worker: Worker, web: Web) -> None:
    there, here = costly_site(web), web.site()
    there.pages["/"] = html()
    here.pages["/"] = html(*(there.url(link) for link in [*LINKS, "/no/2"]))
    start(worker, there.url(), name="first", scope="any")
    run(worker)  # its robots.txt is known now
    start(worker, here.url(), name="second", scope="any", budgets=Budgets(max_pages=1))
    run(worker)
    found = sql(worker.engine, "SELECT state, cause FROM urls WHERE url = :url", url=there.url(LINKS[0]))
    assert [row["state"] for row in found] == ["queued"]
    assert causes(worker) == {there.url("/no/2"): Cause.ROBOTS}
