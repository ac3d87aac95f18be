"""What decides while robots.txt cannot be had, when it is doubted, and at what hours pages are fetched (SPEC R3, R4, R7).

Time passes by moving what the database wrote into the past: `unreachable_since`, `fetched_at`.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from app.admin import audit
from app.crawl.robots import obtain
from app.crawl.state.worker import Kit
from app.crawl.visit.visit import take_up
from app.model import Origin
from app.store import db
from app.store import robots as robots_store
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.store.rows import claim, one, sql, url

HOUR, DAY = 3600.0, 86_400.0
COPY = "User-agent: *\nDisallow: /no"
ANSWERS = Answer(status=500)
SILENT = Answer(drop=True)


@pytest.fixture
def kit(make: Callable[..., Kit]) -> Kit:
    """Long rests, so that nothing happens twice unless a test says `later`; a host is not given up soon."""
    return make(backoff_base_s=1000.0, backoff_max_s=86_400.0, host_failures_max=100, new_host_failures_max=100)


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {path: html(text=path) for path in ("/", "/a", "/b", "/no")}
    return site


def learn(kit: Kit, site: Site, robots_txt: Answer | str = COPY) -> None:
    """A crawl that reads robots.txt as it is while it can be had."""
    site.robots = robots_txt
    start(kit, site.url(), name="first")
    run(kit)
    site.log.clear()


def lose(kit: Kit, site: Site, answer: Answer, *paths: str, **columns: object) -> None:
    """robots.txt is due and cannot be had any more, when there are these pages to fetch."""
    site.robots = answer
    expire(kit)
    start(kit, *map(site.url, paths), name="more", **columns)
    go(kit)


def expire(kit: Kit) -> None:
    sql(kit.engine, "UPDATE robots SET expires_at = now() - interval '1 second'")


def pass_by(kit: Kit, seconds: float) -> None:
    """So much time, for robots.txt, its history and the log; every rest is over."""
    shift = f"- make_interval(secs => {seconds})"
    for table, column in [
        ("robots", "unreachable_since"),
        ("robots", "fetched_at"),
        ("robots", "expires_at"),
        ("robots_copies", "since"),
        ("robots_copies", "unreachable_since"),
        ("fetches", "started_at"),
        ("fetches", "ended_at"),
        ("hosts", "next_fetch_at"),
        ("hosts", "polite_at"),
        ("hosts", "blocked_until"),
    ]:
        sql(kit.engine, f"UPDATE {table} SET {column} = {column} {shift}")


def later(kit: Kit, seconds: float) -> None:
    pass_by(kit, seconds)
    go(kit)


def states(kit: Kit, crawl: str = "more") -> dict[str, str]:
    """{path: state}"""
    rows = sql(
        kit.engine,
        "SELECT url, u.state FROM urls AS u JOIN crawls AS c ON c.id = crawl_id WHERE c.name = :name",
        name=crawl,
    )
    return {"/" + row["url"].split("/", 3)[3]: row["state"] for row in rows}


def resting(kit: Kit) -> str:
    return str(one(kit.engine, "SELECT waits_for FROM v_host_status"))


@pytest.fixture(autouse=True)
def auditors(kit: Kit) -> Iterator[list[Kit]]:
    """Whatever happened: the audit, which judges each request by the history of copies, finds nothing wrong."""
    auditors = [kit]
    yield auditors
    assert audit.audit(kit.engine, auditors[-1].settings, None).violations == 0


# --- R3: the phases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [ANSWERS, SILENT], ids=["answers", "silent"])
def test_for_twelve_hours_nothing_is_fetched_but_robots_txt(kit: Kit, site: Site, answer: Answer) -> None:
    learn(kit, site)
    lose(kit, site, answer, "/a")
    later(kit, 11.9 * HOUR)
    assert site.paths == ["/robots.txt"] * 2
    assert states(kit) == {"/a": "queued"}


@pytest.mark.parametrize("answer", [ANSWERS, SILENT], ids=["answers", "silent"])
def test_then_the_last_good_copy_decides(kit: Kit, site: Site, answer: Answer) -> None:
    learn(kit, site)
    lose(kit, site, answer, "/a", "/no")
    later(kit, 12 * HOUR)
    assert site.paths == ["/robots.txt", "/robots.txt", "/a"]  # it is asked for first, and once
    assert states(kit) == {"/a": "resting", "/no": "refused"}
    assert url(kit.engine, site.url("/no"))["detail"] == "line 2: Disallow: /no"


def test_under_a_copy_the_crawl_goes_on_between_the_attempts(kit: Kit, site: Site) -> None:
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    later(kit, 12 * HOUR)
    start(kit, site.url("/b"), name="further")
    go(kit)
    assert site.paths == ["/robots.txt", "/robots.txt", "/a", "/b"]
    later(kit, HOUR)
    start(kit, site.url("/"), name="last")
    go(kit)
    assert site.paths[4:] == ["/robots.txt", "/"]


def test_the_pace_of_the_copy_holds(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0)
    learn(kit, site, "User-agent: *\nCrawl-delay: 0.05")
    lose(kit, site, ANSWERS, "/a", "/b")
    later(kit, 12 * HOUR)
    assert {row["delay_s"] for row in sql(kit.engine, "SELECT delay_s FROM fetches WHERE url LIKE '%/_'")} == {0.05}


@pytest.mark.parametrize("known", [None, Answer(status=404)], ids=["nothing", "404"])
@pytest.mark.parametrize("answer", [ANSWERS, SILENT], ids=["answers", "silent"])
def test_without_a_copy_there_is_nothing_to_go_by_for_thirty_days(
    kit: Kit, site: Site, known: Answer | None, answer: Answer
) -> None:
    """A 404 is no copy: that everything was allowed says nothing of a file that is there and cannot be read."""
    if known is not None:
        learn(kit, site, known)
    lose(kit, site, answer, "/a")
    later(kit, 13 * HOUR)
    later(kit, 29 * DAY)
    assert site.pages_asked == []
    assert states(kit) == {"/a": "queued"}


@pytest.mark.parametrize("has_copy", [True, False])
def test_after_thirty_days_a_host_that_answers_is_crawled_as_if_it_had_no_robots_txt(
    kit: Kit, site: Site, has_copy: bool
) -> None:
    if has_copy:
        learn(kit, site)
    lose(kit, site, ANSWERS, "/a", "/no")
    later(kit, 30 * DAY)
    assert sorted(site.pages_asked) == ["/a", "/no"]
    assert site.paths[:2] == ["/robots.txt"] * 2


def test_after_thirty_days_a_host_that_does_not_answer_goes_on_resting(kit: Kit, site: Site) -> None:
    learn(kit, site)
    lose(kit, site, SILENT, "/a")
    later(kit, 30 * DAY)
    assert site.pages_asked == []
    assert (states(kit), resting(kit)) == ({"/a": "queued"}, "resting: robots.txt out of reach")


def test_whether_the_host_answers_is_said_by_the_last_attempt(kit: Kit, site: Site) -> None:
    lose(kit, site, ANSWERS, "/a")
    site.robots = SILENT
    later(kit, 30 * DAY)
    assert site.pages_asked == []
    site.robots = ANSWERS
    later(kit, HOUR)
    assert site.pages_asked == ["/a"]


def test_what_the_copy_refused_is_reopened_when_everything_is_allowed(kit: Kit, site: Site) -> None:
    learn(kit, site)
    lose(kit, site, ANSWERS, "/no", keep_fresh=True)
    later(kit, 12 * HOUR)
    assert states(kit) == {"/no": "refused"}
    start(kit, site.url("/a"), name="wakes the host")
    later(kit, 30 * DAY)
    go(kit)
    assert states(kit) == {"/no": "resting"}


def test_a_success_ends_the_phases_and_the_next_failure_begins_them_anew(kit: Kit, site: Site) -> None:
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a", keep_fresh=True)
    site.robots = COPY
    later(kit, 13 * HOUR)
    assert sql(kit.engine, "SELECT unreachable_since, failures, availability FROM robots") == [
        {"unreachable_since": None, "failures": 0, "availability": "available"}
    ]
    assert site.pages_asked == ["/a"]
    site.robots = ANSWERS
    expire(kit)
    start(kit, site.url("/b"), name="again")
    later(kit, 0)
    later(kit, HOUR)
    assert site.pages_asked == ["/a"]
    assert one(kit.engine, "SELECT now() - unreachable_since < interval '61 minutes' FROM robots")


def test_a_304_is_a_success(kit: Kit, site: Site) -> None:
    good = Answer(headers={"ETag": '"r1"'}, body=COPY.encode())
    learn(kit, site, good)
    lose(kit, site, ANSWERS, "/a", "/no")
    site.robots = good
    later(kit, 2 * HOUR)
    assert [hit.status for hit in site.log if hit.path == "/robots.txt"] == [500, 304]
    assert states(kit) == {"/a": "resting", "/no": "refused"}
    assert sql(kit.engine, "SELECT availability, status, detail FROM robots") == [
        {"availability": "available", "status": 304, "detail": ""}
    ]


def test_the_settings_set_the_phases(make: Callable[..., Kit], site: Site, auditors: list[Kit]) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, robots_disallow_s=2 * HOUR, robots_copy_s=4 * HOUR)
    auditors.append(kit)
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a", "/no")
    later(kit, HOUR)
    assert site.pages_asked == []
    later(kit, HOUR)
    assert site.pages_asked == ["/a"]
    assert states(kit) == {"/a": "resting", "/no": "refused"}
    start(kit, site.url("/no"), name="further")
    later(kit, 2 * HOUR)
    assert site.pages_asked == ["/a", "/no", "/no"]  # in this crawl, and reopened in the other


def test_a_visit_does_not_outstay_the_time_of_a_copy(make: Callable[..., Kit], site: Site) -> None:
    """The file is asked for once more when the copy's time ends, and then it depends on the host."""
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0)
    learn(kit, site)
    lose(kit, site, SILENT, "/a")
    pass_by(kit, 30 * DAY - 100)
    sql(kit.engine, "UPDATE robots SET expires_at = now() + interval '1 hour'")
    (offer,) = claim(kit.engine, dict.fromkeys(kit.settings.queue_names, 1))
    stay = take_up(kit, offer.host_id, offer.token)
    assert stay is not None
    (file,) = stay.robots.values()
    assert file.rules is not None
    assert 98 < file.fresh_until - stay.now() < 100
    assert obtain.of(stay, next(iter(stay.robots))) is file.rules


def test_it_is_asked_for_all_the_while_with_back_off(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=86_400.0, host_failures_max=100, new_host_failures_max=100)
    lose(kit, site, ANSWERS, "/a")
    waits = []
    for _ in range(4):
        waits.append(one(kit.engine, "SELECT CAST(extract(epoch FROM expires_at - fetched_at) AS integer) FROM robots"))
        later(kit, HOUR)
    assert waits == [1000, 2000, 3600, 3600]  # never above an hour
    assert site.paths == ["/robots.txt"] * 5


@pytest.mark.parametrize("status", [429, 503])
def test_under_a_copy_a_retry_after_on_robots_txt_holds_for_the_host(kit: Kit, site: Site, status: int) -> None:
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    site.robots = Answer(status=status, headers={"Retry-After": "7200"})
    later(kit, 12 * HOUR)
    assert site.paths == ["/robots.txt"] * 2
    assert one(kit.engine, "SELECT blocked_until > now() + interval '7190 s' FROM hosts")
    later(kit, 7180)
    assert site.paths == ["/robots.txt"] * 2
    later(kit, 30)
    assert site.paths == ["/robots.txt"] * 3  # the same again


def test_a_retry_after_on_a_redirect_of_robots_txt_holds_for_the_host(kit: Kit, site: Site) -> None:
    site.robots = Answer(status=301, headers={"Location": "/robots-2", "Retry-After": "7200"})
    site.pages["/robots-2"] = COPY
    start(kit, site.url("/a"))
    go(kit)
    assert site.paths == ["/robots.txt"]
    assert one(kit.engine, "SELECT blocked_until > now() + interval '7190 s' FROM hosts")
    assert one(kit.engine, "SELECT failures FROM robots") == 0
    site.robots = redirect("/robots-2")
    later(kit, 7201)
    assert site.paths[1:] == ["/robots.txt", "/robots-2", "/a"]


def test_a_robots_txt_that_fails_does_not_close_the_host_by_itself(make: Callable[..., Kit], site: Site) -> None:
    """The circuit breaker would keep the host closed for a day each time, and the one probe would be robots.txt."""
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=100, breaker_failures=3)
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    for _ in range(6):
        later(kit, HOUR)
    assert one(kit.engine, "SELECT breaker_trips FROM hosts") == 0
    later(kit, 6 * HOUR)
    assert site.pages_asked == ["/a"]


def test_a_host_that_cannot_be_connected_to_is_closed_all_the_same(make: Callable[..., Kit], site: Site) -> None:
    kit = make(
        backoff_base_s=1000.0,
        backoff_max_s=3600.0,
        host_failures_max=100,
        new_host_failures_max=100,
        breaker_failures=3,
    )
    start(kit, site.url("/a"))
    site.close()
    go(kit)
    for _ in range(2):
        later(kit, HOUR)
    assert one(kit.engine, "SELECT breaker_trips FROM hosts") == 1
    assert resting(kit) == "resting: breaker"


# --- R3: giving up ----------------------------------------------------------------------------------------------


def test_an_origin_is_not_given_up_before_its_copy_comes_into_force(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=2, new_host_failures_max=2)
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    for _ in range(5):
        later(kit, HOUR)
    assert states(kit) == {"/a": "queued"}
    later(kit, 8 * HOUR)
    assert states(kit) == {"/a": "resting"}


def test_an_origin_without_a_copy_is_given_up_so_that_a_crawl_ends(make: Callable[..., Kit], site: Site) -> None:
    kit = make(host_failures_max=2, new_host_failures_max=2)
    learn(kit, site, Answer(status=404))
    lose(kit, site, ANSWERS, "/a")
    run(kit)
    assert states(kit) == {"/a": "refused"}
    assert site.paths == ["/robots.txt"] * 2


def test_past_thirty_days_a_host_that_does_not_answer_is_given_up(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=3, new_host_failures_max=3)
    learn(kit, site)
    lose(kit, site, SILENT, "/a")
    later(kit, 30 * DAY)
    later(kit, HOUR)
    assert states(kit) == {"/a": "refused"}


def test_a_crawl_that_keeps_fresh_gives_no_origin_up(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, host_failures_max=2, new_host_failures_max=2)
    start(kit, site.url("/a"), name="ends")
    lose(kit, site, ANSWERS, "/a", "/b", keep_fresh=True)
    for _ in range(4):
        later(kit, HOUR)
    assert (states(kit, "ends"), states(kit)) == ({"/a": "refused"}, {"/a": "queued", "/b": "queued"})
    later(kit, 30 * DAY)
    assert states(kit)["/b"] == "resting"


# --- R4: doubt --------------------------------------------------------------------------------------------------


def asked_ago(kit: Kit, seconds: float) -> None:
    """robots.txt was fetched so long ago, and is fresh for hours."""
    values = f"fetched_at = now() - make_interval(secs => {seconds}), expires_at = now() + interval '10 hours'"
    sql(kit.engine, f"UPDATE robots SET {values}")


@pytest.mark.parametrize("status", [403, 429])
def test_after_a_refusal_robots_txt_is_fetched_anew_before_the_next_page(kit: Kit, site: Site, status: int) -> None:
    learn(kit, site)
    asked_ago(kit, 2 * HOUR)
    site.pages["/a"] = Answer(status=status)
    start(kit, site.url("/a"), name="more")
    go(kit)
    site.robots, site.pages["/a"] = "User-agent: *\nDisallow: /b", html()
    start(kit, site.url("/b"), name="further")
    later(kit, HOUR)
    assert site.paths[:2] == ["/a", "/robots.txt"]
    assert "/b" not in site.paths


def test_within_a_visit_too(kit: Kit, site: Site) -> None:
    learn(kit, site)
    asked_ago(kit, 2 * HOUR)
    site.pages |= {"/a": Answer(status=403), "/b": Answer(status=403)}
    start(kit, site.url("/a"), site.url("/b"), site.url("/"), name="more")
    (report,) = go(kit)
    assert report.requests == 4
    pages = site.pages_asked
    first = min(pages.index("/a"), pages.index("/b"))
    assert site.paths.index("/robots.txt") == first + 1
    assert site.paths.count("/robots.txt") == 1  # the second 403 comes within the hour


def test_it_is_doubted_once_an_hour_at_most(kit: Kit, site: Site) -> None:
    learn(kit, site)
    asked_ago(kit, HOUR / 2)
    site.pages["/a"] = Answer(status=403)
    start(kit, site.url("/a"), site.url("/b"), name="more")
    go(kit)
    assert sorted(site.paths) == ["/a", "/b"]
    assert one(kit.engine, "SELECT expires_at - fetched_at = interval '1 hour' FROM robots")
    start(kit, site.url("/"), name="further")
    later(kit, HOUR)
    assert site.paths[2:] == ["/robots.txt", "/"]


def test_a_doubt_is_settled_with_its_page(kit: Kit, site: Site) -> None:
    """Another worker reads it from the database; what the site says of caching can shorten it, not lengthen it."""
    learn(kit, site, Answer(headers={"Cache-Control": "max-age=86400"}, body=COPY.encode()))
    asked_ago(kit, 5 * HOUR)
    site.pages["/a"] = Answer(status=403)
    start(kit, site.url("/a"), name="more")
    go(kit)
    assert one(kit.engine, "SELECT expires_at < now() FROM robots")
    learnt = Answer(headers={"Cache-Control": "max-age=600"}, body=COPY.encode())
    site.robots = learnt
    start(kit, site.url("/b"), name="further")
    go(kit)
    assert site.paths == ["/a", "/robots.txt", "/b"]
    assert one(kit.engine, "SELECT expires_at - fetched_at = interval '10 minutes' FROM robots")
    start(kit, site.url("/a"), name="last")
    go(kit)
    assert one(kit.engine, "SELECT expires_at - fetched_at = interval '10 minutes' FROM robots")


def test_a_doubted_robots_txt_is_revalidated(kit: Kit, site: Site) -> None:
    learn(kit, site, Answer(headers={"ETag": '"r1"', "Last-Modified": "yesterday"}, body=COPY.encode()))
    asked_ago(kit, 2 * HOUR)
    site.pages["/a"] = Answer(status=403)
    start(kit, site.url("/a"), name="more")
    go(kit)
    start(kit, site.url("/no"), name="further")
    go(kit)
    (hit,) = [hit for hit in site.log if hit.path == "/robots.txt"]
    assert (hit.status, hit.headers["If-None-Match"], hit.headers["If-Modified-Since"]) == (304, '"r1"', "yesterday")
    assert (states(kit), states(kit, "further")) == ({"/a": "resting"}, {"/no": "refused"})


def test_robots_txt_is_not_asked_for_before_a_block_is_over(kit: Kit, site: Site) -> None:
    learn(kit, site)
    asked_ago(kit, 2 * HOUR)
    site.pages["/a"] = Answer(status=429, headers={"Retry-After": "7200"})
    start(kit, site.url("/a"), site.url("/b"), name="more")
    go(kit)
    seen = len(site.paths)
    assert one(kit.engine, "SELECT expires_at < now() FROM robots")
    later(kit, 7180)
    assert len(site.paths) == seen
    later(kit, 30)
    assert site.paths[seen] == "/robots.txt"


@pytest.mark.parametrize("status", [200, 401, 404, 410, 451, 500])
def test_other_answers_raise_no_doubt(kit: Kit, site: Site, status: int) -> None:
    learn(kit, site)
    asked_ago(kit, 2 * HOUR)
    site.pages["/a"] = Answer(status=status)
    start(kit, site.url("/a"), site.url("/b"), name="more")
    go(kit)
    assert "/robots.txt" not in site.paths


def test_a_robots_txt_out_of_reach_keeps_its_own_back_off(kit: Kit, site: Site) -> None:
    """What asks for more patience than an hour is not shortened by a 403 under the copy."""
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    site.pages["/b"] = Answer(status=403)
    later(kit, 12 * HOUR)
    sql(
        kit.engine, "UPDATE robots SET fetched_at = now() - interval '2 hours', expires_at = now() + interval '5 hours'"
    )
    start(kit, site.url("/b"), name="further")
    go(kit)
    assert one(kit.engine, "SELECT expires_at > now() + interval '4 hours' FROM robots")


# --- R7: Visit-time ---------------------------------------------------------------------------------------------


def window(kit: Kit, opens_h: float, closes_h: float) -> str:
    """A robots.txt whose Visit-time begins and ends so many hours from now."""
    now: datetime = one(kit.engine, "SELECT clock_timestamp()")
    hours = [f"{now.astimezone(UTC) + timedelta(hours=each):%H%M}" for each in (opens_h, closes_h)]
    return f"User-agent: *\nVisit-time: {'-'.join(hours)}\nDisallow: /no"


@pytest.mark.parametrize(
    ("opens_h", "closes_h"), [(-1, 2), (-13, 10), (-0.5, 23)], ids=["short", "over midnight", "long"]
)
def test_within_the_visit_time_pages_are_fetched(kit: Kit, site: Site, opens_h: float, closes_h: float) -> None:
    site.robots = window(kit, opens_h, closes_h)
    start(kit, site.url("/a"), name="more")
    go(kit)
    assert site.paths == ["/robots.txt", "/a"]


@pytest.mark.parametrize(("opens_h", "closes_h"), [(2, 4), (2, 23), (20, 22)], ids=["short", "over midnight", "late"])
def test_outside_of_it_the_host_rests_until_it_opens(kit: Kit, site: Site, opens_h: float, closes_h: float) -> None:
    site.robots = window(kit, opens_h, closes_h)
    start(kit, site.url("/a"), site.url("/no"), name="more")
    go(kit)
    assert site.paths == ["/robots.txt"]
    assert states(kit) == {"/a": "queued", "/no": "queued"}
    assert resting(kit) == "resting: visit-time of robots.txt"
    away = one(kit.engine, "SELECT CAST(extract(epoch FROM next_fetch_at - now()) AS double precision) FROM hosts")
    assert opens_h * HOUR - 61 < away < opens_h * HOUR + 1
    assert one(kit.engine, "SELECT blocked_until FROM hosts") is None, "a URL of another origin would not wait"
    later(kit, away - 20)
    assert site.paths == ["/robots.txt"]


def test_when_it_opens_the_visit_begins(kit: Kit, site: Site) -> None:
    site.robots = window(kit, 2, 4)
    start(kit, site.url("/a"), name="more")
    go(kit)
    site.robots = window(kit, -1, 2)  # the clock cannot be moved, so the window is
    expire(kit)
    later(kit, 2 * HOUR)
    assert site.paths == ["/robots.txt", "/robots.txt", "/a"]


def test_robots_txt_itself_is_fetched_at_any_time(kit: Kit, site: Site) -> None:
    learn(kit, site, window(kit, 2, 4) + "\n\nUser-agent: Tiptoe\nDisallow: /no")
    site.robots = window(kit, 2, 4)
    expire(kit)
    start(kit, site.url("/a"), name="more")
    go(kit)
    assert site.paths == ["/robots.txt"]
    assert states(kit) == {"/a": "queued"}


def test_other_origins_of_the_host_go_on(make: Callable[..., Kit], web: Web, site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0)
    other = web.site(beside=site)
    other.pages |= {"/": html(), "/later": html()}
    site.robots = window(kit, 5, 6)
    start(kit, site.url("/a"), other.url("/"), name="more", keep_fresh=True)
    for _ in range(3):
        go(kit)
    assert (site.pages_asked, other.pages_asked) == ([], ["/"])
    start(kit, other.url("/later"), name="further")
    later(kit, HOUR)  # the host looks whether the other has something new
    assert (site.pages_asked, other.pages_asked) == ([], ["/", "/later"])


def test_the_visit_time_of_the_copy_holds(kit: Kit, site: Site) -> None:
    learn(kit, site, window(kit, -1, 2))
    sql(kit.engine, "UPDATE robots SET body = convert_to(:body, 'UTF8')", body=window(kit, 2, 4))
    sql(kit.engine, "TRUNCATE robots_copies")
    lose(kit, site, ANSWERS, "/a")
    later(kit, 12 * HOUR)
    assert site.pages_asked == []
    assert resting(kit) == "resting: visit-time of robots.txt"


# --- the history that the audit judges by -----------------------------------------------------------------------


def history(kit: Kit) -> list[tuple[str, int | None, str | None, bool]]:
    """availability, status, the last good copy, out of reach?"""
    with db.transaction(kit.engine) as tx:
        ids = [row["id"] for row in sql(kit.engine, "SELECT id FROM hosts ORDER BY id")]
        copies = [copy for host_id in ids for copy in robots_store.copies(tx, host_id)]
    return [
        (
            each.availability,
            each.status,
            each.body.decode() if each.body is not None else None,
            each.unreachable_since is not None,
        )
        for each in copies
    ]


def test_every_change_of_what_may_be_in_force_is_a_line(kit: Kit, site: Site) -> None:
    learn(kit, site)
    changes: list[Answer | str] = [
        COPY,  # the same: no line
        Answer(headers={"ETag": '"1"'}, body=b"User-agent: *"),
        Answer(headers={"ETag": '"1"'}, body=b"User-agent: *"),  # 304: no line
        ANSWERS,
        Answer(status=502),  # the host still answers: no line
        SILENT,
        Answer(headers={"ETag": '"1"'}, body=b"User-agent: *"),  # 304 to the copy: a line
        Answer(status=404),
        Answer(status=410),  # there still is none: no line
        COPY,
    ]
    for number, change in enumerate(changes):
        site.robots = change
        expire(kit)
        start(kit, site.url(f"/{number}"), name=f"n{number}")
        later(kit, 2 * HOUR)
    assert [hit.status for hit in site.log if hit.path == "/robots.txt"] == [
        200,
        200,
        304,
        500,
        502,
        200,
        304,
        404,
        410,
        200,
    ]
    new = "User-agent: *"
    assert history(kit) == [
        ("available", 200, COPY, False),
        ("available", 200, new, False),
        ("unreachable", 500, new, True),
        ("unreachable", None, new, True),
        ("available", 304, new, False),
        ("unavailable", 404, None, False),
        ("available", 200, COPY, False),
    ]
    assert one(kit.engine, "SELECT count(*) FROM robots_bodies") == 2


def test_a_line_holds_from_the_end_of_the_request_that_brought_it(kit: Kit, site: Site) -> None:
    site.robots = COPY
    site.pages["/a"] = Answer(status=403)
    start(kit, site.url("/a"), site.url("/b"), name="more")
    go(kit)
    expire(kit)
    site.robots = "User-agent: *"
    start(kit, site.url("/"), name="further")
    go(kit)
    asked = sql(kit.engine, "SELECT ended_at FROM fetches WHERE kind = 'robots' ORDER BY id")
    lines = sql(kit.engine, "SELECT since FROM robots_copies ORDER BY id")
    away = [abs((line["since"] - end["ended_at"]).total_seconds()) for line, end in zip(lines, asked, strict=True)]
    assert max(away) < 1e-5
    assert one(kit.engine, "SELECT fetched_at FROM robots") == lines[-1]["since"]
    first_page = one(kit.engine, "SELECT min(started_at) FROM fetches WHERE kind = 'page'")
    assert lines[0]["since"] <= first_page


def test_two_answers_of_one_batch_are_two_lines(kit: Kit, site: Site) -> None:
    learn(kit, site)
    with db.transaction(kit.engine) as tx:
        host_id = one(kit.engine, "SELECT id FROM hosts")
        found = robots_store.of_host(tx, host_id)[0]
        origin = Origin(found.scheme, site.host, found.port)
        fetched = [
            (origin, _fetched(found.now + timedelta(seconds=n), body)) for n, body in enumerate((b"a", b"b", b"a"))
        ]
        robots_store.store(tx, host_id=host_id, fetched=fetched)
    assert [body for _, _, body, _ in history(kit)] == [COPY, "a", "b", "a"]


def test_a_body_is_kept_once_for_all_hosts(kit: Kit, web: Web) -> None:
    sites = [web.site() for _ in range(3)]
    for each in sites:
        each.robots = COPY
        each.pages["/"] = html()
    start(kit, *[each.url() for each in sites])
    run(kit, threads=3)
    assert history(kit) == [("available", 200, COPY, False)] * 3
    assert one(kit.engine, "SELECT count(*) FROM robots_bodies") == 1


def test_a_copy_that_is_older_than_the_history_gets_into_it(kit: Kit, site: Site) -> None:
    learn(kit, site, Answer(headers={"ETag": '"r1"'}, body=COPY.encode()))
    sql(kit.engine, "TRUNCATE robots_copies, robots_bodies")  # as before migration 0002
    expire(kit)
    start(kit, site.url("/a"), name="more")
    go(kit)
    assert history(kit) == [("available", 304, COPY, False)]


def test_a_visit_that_lost_its_lease_writes_no_history(kit: Kit, site: Site) -> None:
    def steal(_: object) -> str:
        sql(kit.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
        return COPY

    site.robots = steal
    start(kit, site.url("/a"))
    go(kit)
    assert (history(kit), sql(kit.engine, "SELECT FROM robots")) == ([], [])


def _fetched(at: datetime, body: bytes) -> robots_store.Fetched:
    return robots_store.Fetched(
        at=at,
        availability="available",
        revalidated=False,
        status=200,
        detail="",
        body=body,
        etag=None,
        last_modified=None,
        fresh_s=3600.0,
        failures=0,
        crawl_delay_raw=None,
        crawl_delay_s=None,
        sitemaps=(),
    )


def test_bring_forward_lets_an_hour_pass(kit: Kit, site: Site) -> None:
    lose(kit, site, ANSWERS, "/a")
    bring_forward(kit.engine)
    go(kit)
    assert site.paths == ["/robots.txt"] * 2
