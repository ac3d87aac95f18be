"""The sentences of before become reasons with a detail: rows of the schema before, as the code before wrote them."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine

from app.model import Cause, RestReason, VisitEnding
from app.model.reasons import words
from app.store import db
from tests.store.revisions import move
from tests.store.rows import make_crawl, sql

C, R, V = Cause, RestReason, VisitEnding
# as it was, the cause, the detail
CAUSES: list[tuple[str, Cause, str | None]] = [
    ("robots.txt", C.ROBOTS, None),
    ("robots.txt line 2: Disallow: /no", C.ROBOTS, "line 2: Disallow: /no"),
    (
        "robots.txt out of reach, 4 times in a row: complete disallow (RFC 9309)",
        C.ROBOTS_OUT_OF_REACH,
        "4 times in a row: complete disallow (RFC 9309)",
    ),
    ("robots.txt cannot be written: Postgres takes no such value", C.ROBOTS_UNWRITABLE, "Postgres takes no such value"),
    ("no URL of ours any more: length", C.NO_URL, "length"),
    ("out of the crawl's scope since it was admitted: excluded", C.OUT_OF_SCOPE, "excluded"),
    ("a.test is 10.0.0.1: private", C.BLOCKED_ADDRESS, "a.test is 10.0.0.1: private"),
    (
        "a.test (192.0.2.1) is public and no contact is set: set TIPTOE_CONTACT to the mail address",
        C.BLOCKED_ADDRESS,
        "a.test (192.0.2.1) is public and no contact is set: set TIPTOE_CONTACT to the mail address",
    ),
    ("redirects to itself: /a", C.REDIRECTS_TO_ITSELF, "/a"),
    ("redirects to no URL of ours (scheme): ftp://a/ (b): c", C.REDIRECTS_NOWHERE, "scheme: ftp://a/ (b): c"),
    ("redirects between spellings of itself: http://a/?b", C.REDIRECTS_RESPELT, "http://a/?b"),
    ("soft_blocked (200) 3 times", C.FAILED, "soft_blocked (200) 3 times"),
    ("broken (timeout) 3 times", C.FAILED, "broken (timeout) 3 times"),
    (
        "12 server errors or missing answers in a row, the last: server_error (500)",
        C.HOST_FAILS,
        "12 server errors or missing answers in a row, the last: server_error (500)",
    ),
    ("host out of reach 4 times in a row: refused", C.HOST_OUT_OF_REACH, "4 times in a row: refused"),
    ("challenged 3 times in a row", C.CHALLENGED, "3 times in a row"),
    ("parser died: signal SIGKILL, 2 times", C.UNREADABLE, "parser died: signal SIGKILL, 2 times"),
    ("poison: 3 visits died while fetching or reading it", C.POISON, "3 visits died while fetching or reading it"),
    ("what came of it cannot be written: an error", C.UNWRITABLE, "an error"),
    ("what it lists cannot be written: an error", C.LIST_UNWRITABLE, "an error"),
    *((each.value, each, None) for each in (C.NOINDEX, C.OPTED_OUT, C.SITE_OPTED_OUT)),
    ("of a version\nlong ago", C.OTHER, "of a version\nlong ago"),
]
# as it was, the reason, the detail
RESTS: list[tuple[str, RestReason, str | None]] = [
    *((each, RestReason(each), None) for each in ("rate_limited", "breaker", "quiet hours", "reset", "all budget")),
    ("address budget", R.ADDRESS_BUDGET, None),
    ("budget", R.PAGE_BUDGET, None),
    ("redirect", R.RETRY_AFTER, None),
    ("address rests: refused", R.ADDRESS_RESTS, "refused"),
    ("network rests: connect_timeout", R.NETWORK_RESTS, "connect_timeout"),
    ("late for its start", R.LATE, None),
    ("the name server does not answer", R.OTHER, "the name server does not answer"),
]
# as it was, the ending, the detail
ENDINGS: list[tuple[str | None, VisitEnding | None, str | None]] = [
    (None, None, None),
    *((each, VisitEnding(each), None) for each in ("delay", "long enough", "nothing due", "fenced", "lost", "paused")),
    ("budget", V.RESTS, "page budget"),
    ("rate_limited", V.RESTS, "rate_limited"),
    ("address rests: refused", V.RESTS, "address rests: refused"),
    ("visit-time of robots.txt", V.WAITS, "visit-time of robots.txt"),
]


@pytest.fixture
def engine(make_database: Callable[[], str]) -> Iterator[Engine]:
    """At the revision before."""
    engine = db.connect(make_database())
    move(engine, "0010")
    crawl_id = make_crawl(engine)
    for n, (was, cause, _) in enumerate(CAUSES):
        state = "resting" if cause.startswith("kept out") else "quarantined"
        sql(
            engine,
            """INSERT INTO urls (host_id, crawl_id, kind, key, url, state, lane, score, depth, hops, cause, due_at)
               VALUES (1, :crawl_id, 'page', :key, 'u', :state, 1, 1, 0, 0, :was, now())""",
            crawl_id=crawl_id,
            key=bytes([n]),
            state=state,
            was=was,
        )
    for n, (was, _, _) in enumerate(RESTS):
        sql(
            engine,
            "INSERT INTO hosts (name, queue, delay_s, resting_because) VALUES (:name, 'q', 1, :was)",
            name=f"h{n:02}.test",
            was=was,
        )
    for ending, _, _ in ENDINGS:
        sql(
            engine,
            """INSERT INTO visits (host_id, token, queue, worker, taken_at, ending)
               VALUES (1, gen_random_uuid(), 'q', 'w:1', now(), :was)""",
            was=ending,
        )
    yield engine
    engine.dispose()


URLS = "SELECT cause, detail FROM urls ORDER BY key"
HOSTS = "SELECT resting_because, resting_detail FROM hosts ORDER BY name"
VISITS = "SELECT ending, detail FROM visits ORDER BY id"


def rows(engine: Engine, query: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in sql(engine, query)]


def test_sentences_become_reasons(engine: Engine) -> None:
    move(engine, "0011")
    assert rows(engine, URLS) == [(cause, detail) for _, cause, detail in CAUSES]
    assert rows(engine, HOSTS) == [(reason, detail) for _, reason, detail in RESTS]
    assert rows(engine, VISITS) == [(ending, detail) for _, ending, detail in ENDINGS]


def test_the_way_back_is_understood_by_the_code_of_before(engine: Engine) -> None:
    """It reads `… budget`, `… rests: …`, `quiet hours` and the causes of pages that are kept out; the rest it shows."""
    move(engine, "0011")
    sql(engine, "UPDATE hosts SET resting_detail = '127.0.0.5' WHERE resting_because = 'address budget'")
    move(engine, "0010")
    was = [(was,) for was, reason, _ in RESTS if reason is not R.RETRY_AFTER]
    assert [
        row for row in rows(engine, "SELECT resting_because FROM hosts ORDER BY name") if row[0] != R.RETRY_AFTER
    ] == was
    shown = [(words(cause, detail),) for _, cause, detail in CAUSES]
    assert rows(engine, "SELECT cause FROM urls ORDER BY key") == shown
    endings = rows(engine, "SELECT ending FROM visits ORDER BY id")
    assert endings == [(detail or ending,) for _, ending, detail in ENDINGS]


def test_what_is_a_reason_already_is_left_alone(engine: Engine) -> None:
    """Row version and all: an upgrade writes no more than it has to."""
    kept = "SELECT id, ctid FROM hosts WHERE resting_because IN ('breaker', 'quiet hours') ORDER BY id"
    before = sql(engine, kept)
    move(engine, "0011")
    assert sql(engine, kept) == before
