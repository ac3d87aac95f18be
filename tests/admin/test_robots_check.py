"""robots.txt by hand: the stored copy's word, and a question to the site that keeps to its pace and leaves its
trace."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from app.admin import audit, robots_check
from app.admin.robots_report import Ruling, canonical, ruling
from app.crawl.state.worker import Worker
from app.errors import InputError, LeaseLost
from app.model import Reply, Request, Unsent
from app.policy.robots import Robots
from app.store import db, robots
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.store.rows import one, sql

ROBOTS = "User-agent: Tiptoe\nCrawl-delay: 7\nDisallow: /private\n\nSitemap: http://a.test/s.xml\n"


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = ROBOTS
    site.pages["/"] = html()
    return site


def ask(worker: Worker, url: str) -> Ruling:
    return robots_check.ask(worker, url)


def test_nobody_has_asked_yet(worker: Worker) -> None:
    found = robots_check.check(worker.engine, worker.settings, "http://never.test/x")
    assert found.allowed is None
    assert "http://never.test/robots.txt was not fetched yet" in found.sentence()


def test_what_a_visit_stored_is_what_counts(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    go(worker)
    found = robots_check.check(worker.engine, worker.settings, site.url("/private/x"))
    assert (found.allowed, found.group, found.rule, found.line) == (False, "tiptoe", "Disallow: /private", 3)
    assert (found.crawl_delay_s, found.sitemaps, found.status) == (7.0, ("http://a.test/s.xml",), 200)
    assert robots_check.check(worker.engine, worker.settings, site.url("/x")).allowed is True
    assert site.paths == ["/robots.txt"]


def test_a_main_mirror_is_shown_and_nobody_goes_there(worker: Worker, site: Site, web: Web) -> None:
    other = web.site()
    site.robots = f"User-agent: *\nHost: {other.host}\nDisallow: /private\n"
    start(worker, site.url())
    go(worker)
    found = robots_check.check(worker.engine, worker.settings, site.url("/private/x"))
    assert (found.allowed, found.line, found.host) == (False, 3, other.host)
    assert other.paths == []


def test_asking_a_site_stores_its_answer(worker: Worker, site: Site) -> None:
    assert ask(worker, site.url("/private/x")).allowed is False
    assert site.paths == ["/robots.txt"]
    assert robots_check.check(worker.engine, worker.settings, site.url("/")).allowed is True


def test_asking_leaves_a_visit_and_a_fetch_and_no_lease(worker: Worker, site: Site) -> None:
    ask(worker, site.url())
    (visit,) = sql(worker.engine, "SELECT * FROM visits")
    assert (visit["ending"], visit["fetches"]) == ("robots check", 1)
    (fetch,) = sql(worker.engine, "SELECT * FROM fetches")
    assert (fetch["kind"], fetch["status"], fetch["visit_id"]) == ("robots", 200, visit["id"])
    assert one(worker.engine, "SELECT state FROM hosts") == "idle"


def test_the_crawl_delay_that_comes_back_holds_at_once(worker: Worker, site: Site) -> None:
    ask(worker, site.url())
    assert one(worker.engine, "SELECT polite_at > last_contact_at + interval '6.99 s' FROM hosts")
    assert one(worker.engine, "SELECT delay_s FROM hosts") == 7.0
    with pytest.raises(
        InputError, match=r"may not be contacted now; it waits for its delay of 7 s to pass, .* \(in 0:00:0[67]\)"
    ):
        ask(worker, site.url())
    assert site.paths == ["/robots.txt"]
    assert audit.audit(worker.engine, worker.settings, None).violations == 0


def test_a_host_with_queued_urls_goes_on_after_being_asked(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    ask(worker, site.url())
    assert one(worker.engine, "SELECT next_fetch_at > polite_at - interval '10 ms' FROM hosts")


# what the host is doing → why it may not be asked
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            "blocked_until = now() + interval '1 hour', resting_because = 'rate_limited'",
            r"its rest to end \(rate_limited\), ",
        ),
        ("state = 'paused', next_fetch_at = NULL", "an operator, who paused it"),
        (
            """state = 'taken', lease_token = gen_random_uuid(), taken_at = now(), lease_until = now() + interval
            '1 minute',
               next_fetch_at = now() + interval '2 minutes'""",
            "its visit, running since ",
        ),
    ],
)
def test_a_host_that_may_not_be_contacted_is_not_asked(worker: Worker, site: Site, change: str, why: str) -> None:
    start(worker, site.url())
    sql(worker.engine, f"UPDATE hosts SET {change}")
    with pytest.raises(InputError, match=why):
        ask(worker, site.url())
    assert site.log == []
    assert sql(worker.engine, "SELECT FROM visits") == []


# robots.txt → allowed?, availability, the sentence
@pytest.mark.parametrize(
    ("answer", "allowed", "availability", "sentence"),
    [
        (Answer(status=404), True, "unavailable", "allowed: the site has no robots.txt (status 404)"),
        (
            Answer(status=503),
            False,
            "unreachable",
            "refused: robots.txt is out of reach (503): complete disallow (RFC 9309)",
        ),
        (Answer(drop=True), False, "unreachable", "refused: robots.txt is out of reach ("),
        ("User-agent: other\nDisallow: /\n", True, "available", "allowed: no group applies to us"),
        ("User-agent: *\nDisallow: /x\n", True, "available", "allowed: no line of group * applies to it"),
        ("User-agent: *\nAllow: /\n", True, "available", "allowed: line 2, Allow: / (group *)"),
    ],
)
def test_answers(
    worker: Worker, site: Site, answer: Answer | str, allowed: bool, availability: str, sentence: str
) -> None:
    site.robots = answer
    found = ask(worker, site.url())
    assert (found.allowed, found.availability) == (allowed, availability)
    assert found.sentence().startswith(sentence)


def test_while_unreachable_the_last_good_copy_stays(worker: Worker, site: Site) -> None:
    site.robots = "User-agent: *\nDisallow: /x\n"
    ask(worker, site.url())
    site.robots = Answer(status=500)
    assert ask(worker, site.url()).unreachable_since is not None
    assert one(worker.engine, "SELECT convert_from(body, 'UTF8') FROM robots") == "User-agent: *\nDisallow: /x\n"


def test_a_redirect_is_followed_as_a_visit_does(worker: Worker, site: Site) -> None:
    site.robots = redirect("/elsewhere.txt")
    site.pages["/elsewhere.txt"] = "User-agent: *\nDisallow: /x"
    assert ask(worker, site.url("/x")).line == 2
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 2
    assert one(worker.engine, "SELECT state FROM hosts") == "idle"


# --- which phase it is -------------------------------------------------------------------------------------------


def away(worker: Worker, seconds: float) -> None:
    """As if the file had been out of reach for so long."""
    shift = "clock_timestamp() - make_interval(secs => :s)"
    sql(worker.engine, f"UPDATE robots SET unreachable_since = {shift}", s=seconds)


HOUR, DAY = 3600.0, 86_400.0
ANSWERS, SILENT = Answer(status=500), Answer(drop=True)


# a copy is known?, robots.txt now, out of reach for → /x is allowed?, the sentence, what is in force
PHASES = [
    (
        True,
        ANSWERS,
        HOUR,
        False,
        "refused: robots.txt is out of reach (500): complete disallow",
        r"complete disallow because .* out of reach since .*; until .* \(in 11:00:00\), then the last good copy",
    ),
    (
        False,
        ANSWERS,
        13 * HOUR,
        False,
        "refused: robots.txt is out of reach (500): complete disallow",
        r"complete disallow because .*; a crawl that ends gives up after 4 failures in a row \(1 so far\); "
        r"one that keeps fresh waits until .* \(in 29 days, 11:00:00\), then everything is allowed, if the "
        r"host answers",
    ),
    (
        True,
        SILENT,
        13 * HOUR,
        False,
        "refused: line 2, Disallow: /x (group *)",
        r"last good copy of 20.* in force because .* out of reach since 20.*; until .* \(in 29 days, 11:00:00\)",
    ),
    (
        True,
        ANSWERS,
        31 * DAY,
        True,
        "allowed: robots.txt is out of reach (500), but the host answers: everything is allowed",
        r"everything is allowed because robots.txt has been out of reach since",
    ),
    (
        True,
        SILENT,
        31 * DAY,
        False,
        "refused: robots.txt is out of reach (",
        r"complete disallow because robots.txt has been out of reach since .*: the host does not answer; "
        r"a crawl that ends gives up after 12 failures in a row \(1 so far\)",
    ),
]


@pytest.mark.parametrize(
    ("has_copy", "answer", "seconds", "allowed", "sentence", "in_force"),
    PHASES,
)
def test_the_phase_in_force_is_told(
    worker: Worker,
    site: Site,
    has_copy: bool,
    answer: Answer,
    seconds: float,
    allowed: bool,
    sentence: str,
    in_force: str,
) -> None:
    if has_copy:
        site.robots = "User-agent: *\nDisallow: /x\n"
        ask(worker, site.url())
    site.robots = answer
    ask(worker, site.url())
    away(worker, seconds - 0.4)
    found = robots_check.check(worker.engine, worker.settings, site.url("/x"))
    assert found.allowed is allowed
    assert found.sentence().startswith(sentence)
    assert re.match(in_force, found.in_force() or "")
    assert re.fullmatch(r"20.* \(.*\)", found.asked_again() or "")


def test_a_file_that_can_be_had_is_in_no_phase(worker: Worker, site: Site) -> None:
    found = ask(worker, site.url())
    assert (found.in_force(), found.visiting()) == (None, None)
    assert re.fullmatch(r"20.* \(in (12:00:00|11:59:5\d)\)", found.asked_again() or "")


@pytest.mark.parametrize(
    ("opens", "closes", "says"),
    [
        (-1, 2, r"\d\d:\d\d-\d\d:\d\d UTC, open now"),
        (2, 3, r"\d\d:\d\d-\d\d:\d\d UTC, opens 20.* \(in [12]:\d\d:\d\d\)"),
    ],
)
def test_the_visit_time_is_told(worker: Worker, site: Site, opens: int, closes: int, says: str) -> None:
    now = one(worker.engine, "SELECT clock_timestamp()").astimezone(UTC)
    window = "-".join(f"{now + timedelta(hours=hours):%H%M}" for hours in (opens, closes))
    site.robots = f"User-agent: *\nVisit-time: {window}\nDisallow:"
    assert re.fullmatch(says, ask(worker, site.url()).visiting() or "")


def test_an_answer_that_outlived_its_lease_is_logged_and_not_kept(worker: Worker, site: Site) -> None:
    def late(send: Callable[[Request], Reply | Unsent]) -> Callable[[Request], Reply | Unsent]:
        def sender(request: Request) -> Reply | Unsent:
            sql(worker.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
            return send(request)

        return sender

    worker = replace(worker, send=late(worker.send))
    with pytest.raises(LeaseLost):
        ask(worker, site.url())
    assert sql(worker.engine, "SELECT FROM robots") == []
    assert sql(worker.engine, "SELECT fenced FROM fetches") == [{"fenced": True}]
    assert one(worker.engine, "SELECT ending FROM visits") == "fenced"


def test_a_file_that_cannot_be_read_is_told_in_one_line(worker: Worker, site: Site) -> None:
    def parse(body: bytes, token: str) -> Robots:
        raise KeyError("of a bug\n")

    ask(worker, site.url())
    url = canonical(worker.settings, site.url("/a"))
    with db.transaction(worker.engine) as tx:
        (stored,) = robots.of_host(tx, one(worker.engine, "SELECT id FROM hosts"))
    found = ruling([stored], url, worker.settings, parse=parse)
    assert found.allowed is None
    assert found.sentence() == (
        f"not known: {url.origin}/robots.txt: reading it raised KeyError: 'of a bug\\n';"
        " report it to Tiptoe's makers, with the file"
    )


def test_what_is_no_url(worker: Worker) -> None:
    for act in (ask, lambda worker, text: robots_check.check(worker.engine, worker.settings, text)):
        with pytest.raises(InputError, match=r"'ftp://a\.test/': only http:// and https://"):
            act(worker, "ftp://a.test/")
