"""What becomes of a URL and of its host, for each way a fetch can end."""

from collections.abc import Callable

import pytest

from app.admin import crawls
from app.crawl.state.worker import Worker
from app.parse.html.html import MEDIA_TYPES
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.web import Answer, Hit, Web, html
from tests.store.rows import one, sql, url


def endless(answer: Answer) -> Callable[[Hit], Answer]:
    return lambda _: answer


# --- the URL's own ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "state", "outcome"),
    [
        (html(), "resting", "page"),
        (Answer(status=203, headers={"Content-Type": "text/html"}, body=b"<p>x"), "resting", "page"),
        (Answer(headers={"Content-Type": "text/plain"}, body=b"plain"), "resting", "page"),
        (Answer(headers={"Content-Type": "image/png"}, body=b"\x89PNG"), "resting", "unwanted"),
        (Answer(headers={"Content-Type": "application/json"}, body=b"{}"), "resting", "unwanted"),
        (Answer(status=204), "resting", "unwanted"),
        (Answer(status=400), "resting", "client_error"),
        (Answer(status=401), "resting", "unauthorised"),
        (Answer(status=403), "resting", "forbidden"),
        (Answer(status=404), "resting", "not_found"),
        (Answer(status=410), "gone", "gone"),
        (Answer(status=304), "resting", "client_error"),  # nobody asked for it
        (Answer(status=301), "resting", "client_error"),  # whereto?
    ],
)
def test_an_answer_that_stands_is_asked_for_once(
    worker: Worker, web: Web, answer: Answer, state: str, outcome: str
) -> None:
    site = web.site()
    site.pages |= {"/": html("/x"), "/x": endless(answer)}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/x"]
    found = url(worker.engine, site.url("/x"))
    assert (found["state"], found["outcome"], found["status"]) == (state, outcome, answer.status)
    assert (found["attempts"], found["retrying"], found["due_at"] is not None) == (0, False, True)


def test_media_types_that_are_offered_are_those_that_are_read(worker: Worker, web: Web) -> None:
    """promise I2. Each page says what it was offered, in one of the types; text/css is of the offered text/*."""
    site = web.site()
    others = ("application/xml", "application/json", "application/pdf", "image/png", "text/css")
    types = {f"/{number}": media_type for number, media_type in enumerate((*MEDIA_TYPES, *others))}
    for path, media_type in types.items():
        site.pages[path] = Answer(headers={"Content-Type": media_type}, body=b"<p>" + media_type.encode())
    site.pages["/"] = html(*types)
    start(worker, site.url())
    run(worker)
    offers = {hit.headers["Accept"] for hit in site.log if hit.path in types}
    assert len(offers) == 1
    offered = {each.partition(";")[0] for each in offers.pop().split(",")}
    read = {types[path] for path in types if url(worker.engine, site.url(path))["outcome"] == "page"}
    assert offered == set(MEDIA_TYPES)
    assert read == {*MEDIA_TYPES, "text/css"}


@pytest.mark.parametrize(
    "answer", [Answer(status=500), Answer(status=502), Answer(body=b"half", cut=True), Answer(drop=True)]
)
def test_a_url_that_fails_by_itself_is_quarantined_after_its_tries(worker: Worker, web: Web, answer: Answer) -> None:
    site = web.site()
    site.pages |= {"/": html("/x", "/y"), "/x": endless(answer), "/y": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked.count("/y") == 1, "its host goes on"
    found = url(worker.engine, site.url("/x"))
    assert (found["state"], found["attempts"]) == ("quarantined", 3)
    assert found["detail"].endswith("3 times")
    assert one(worker.engine, "SELECT failures FROM hosts") == 0
    tries = sql(worker.engine, "SELECT attempt, reason FROM fetches WHERE url LIKE '%/x' ORDER BY id")
    found_tries = [(row["attempt"], row["reason"]) for row in tries]
    if answer.drop:  # dropped on a connection that was kept alive: not counted, it may have been idle too long
        found_tries = list(dict.fromkeys(found_tries))
    assert found_tries == [(1, "new"), (2, "retry"), (3, "retry")]


def test_a_url_that_recovers_starts_counting_anew(worker: Worker, web: Web) -> None:
    site = web.site()
    answers = [Answer(status=500), Answer(status=500), html("/y")]
    site.pages |= {"/": html("/x"), "/x": lambda _: answers.pop(0), "/y": html()}
    start(worker, site.url())
    run(worker)
    assert url(worker.engine, site.url("/x"))["attempts"] == 0
    assert site.pages_asked[-1] == "/y"


def test_a_url_rests_before_its_retry(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = Answer(status=500)
    start(worker, site.url())
    go(worker)
    found = url(worker.engine, site.url())
    assert (found["state"], found["retrying"], found["attempts"]) == ("resting", True, 1)
    go(worker)
    assert site.pages_asked == ["/"]


def test_404_and_again_404_is_gone(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html("/x")
    crawl = start(worker, site.url())
    run(worker)
    assert url(worker.engine, site.url("/x"))["state"] == "resting"
    crawls.go_round(worker.engine, crawl.name)
    run(worker)
    found = url(worker.engine, site.url("/x"))
    assert (found["state"], found["due_at"] is not None) == ("gone", True)


def test_a_page_that_comes_back_after_a_404_is_not_gone(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html("/x")
    crawl = start(worker, site.url())
    run(worker)
    site.pages["/x"] = html()
    crawls.go_round(worker.engine, crawl.name)
    run(worker)
    del site.pages["/x"]
    crawls.go_round(worker.engine, crawl.name)
    run(worker)
    assert url(worker.engine, site.url("/x"))["state"] == "resting"


def test_a_long_body_is_cut_and_marked(make: Callable[..., Worker], web: Web) -> None:
    worker = make(max_body_bytes=2048)
    site = web.site()
    site.pages |= {"/": html("/first", text="x" * 5000), "/first": html()}
    start(worker, site.url())
    run(worker)
    assert one(worker.engine, "SELECT truncated FROM fetches WHERE kind = 'page' AND url = :u", u=site.url()) is True
    (page,) = sql(worker.engine, "SELECT truncated, body_bytes FROM pages WHERE url = :u", u=site.url())
    assert page == {"truncated": True, "body_bytes": 2048}


def test_links_of_what_was_read_are_followed_though_the_rest_was_cut(make: Callable[..., Worker], web: Web) -> None:
    worker = make(max_body_bytes=2048)
    site = web.site()
    body = b'<a href="/in">in</a>' + b"<p>x</p>" * 1000 + b'<a href="/out">out</a>'
    site.pages |= {"/": Answer(headers={"Content-Type": "text/html"}, body=body), "/in": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/in"]


# --- the host's -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "because", "attempts"),
    [
        (Answer(status=429, headers={"Retry-After": "600"}), "rate_limited", 0),
        (Answer(status=429), "rate_limited", 0),
        (Answer(status=503, headers={"Retry-After": "600"}), "unavailable", 0),
        (Answer(status=503), "unavailable", 1),  # who names no time may mean this URL
    ],
)
def test_a_host_that_asks_for_time_gets_it(
    make: Callable[..., Worker], web: Web, answer: Answer, because: str, attempts: int
) -> None:
    worker = make(backoff_base_s=300.0, backoff_max_s=300.0)
    site = web.site()
    site.pages |= {"/": answer, "/other": answer}
    start(worker, site.url(), site.url("/other"))
    for _ in range(3):
        go(worker)
    assert len(site.pages_asked) == 1, "nothing else of the host is tried meanwhile"
    (row,) = sql(
        worker.engine,
        """SELECT resting_because, failures, extract(epoch FROM blocked_until - last_contact_at) AS rests,
                  next_fetch_at > blocked_until - interval '1 ms' AS waits FROM hosts""",
    )
    asked = 600 if answer.headers else 300
    assert (row["resting_because"], row["failures"], row["waits"]) == (because, 1, True)
    assert asked - 1 <= float(row["rests"]) <= asked + 1
    found = url(worker.engine, site.url(site.pages_asked[0]))
    assert found["attempts"] == attempts
    assert found["state"] == ("queued" if attempts == 0 else "resting")


@pytest.mark.parametrize("raw", ["999999999", "Fri, 31 Dec 2199 23:59:59 GMT"])
def test_retry_after_is_capped_and_kept_as_sent(make: Callable[..., Worker], web: Web, raw: str) -> None:
    worker = make(retry_after_max_s=900.0)
    site = web.site()
    site.pages["/"] = Answer(status=429, headers={"Retry-After": raw})
    start(worker, site.url())
    go(worker)
    rests = "SELECT extract(epoch FROM blocked_until - last_contact_at) FROM hosts"
    assert 899 <= float(one(worker.engine, rests)) <= 901
    assert one(worker.engine, "SELECT retry_after FROM fetches WHERE kind = 'page'") == raw


def test_a_rest_doubles_with_each_failure_in_a_row(make: Callable[..., Worker], web: Web) -> None:
    worker = make(backoff_base_s=100.0, backoff_max_s=350.0)
    site = web.site()
    site.pages["/"] = Answer(status=429)
    start(worker, site.url())
    rests = []
    for _ in range(4):
        go(worker)
        query = "SELECT extract(epoch FROM blocked_until - last_contact_at) FROM hosts"
        rests.append(round(float(one(worker.engine, query)), -1))
        bring_forward(worker.engine)
    assert rests == [100, 200, 350, 350]


def test_a_host_that_recovers_is_at_ease_again(worker: Worker, web: Web) -> None:
    site = web.site()
    answers = [Answer(status=429), Answer(status=503, headers={"Retry-After": "0"}), html("/a")]
    site.pages |= {"/": lambda _: answers.pop(0), "/a": html()}
    start(worker, site.url())
    run(worker)
    (row,) = sql(worker.engine, "SELECT failures, resting_because, blocked_until FROM hosts")
    assert row == {"failures": 0, "resting_because": None, "blocked_until": None}
    assert site.pages_asked == ["/", "/", "/", "/a"]


def test_503_again_and_again_ends_the_url_and_not_the_host(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/x", "/y"), "/x": Answer(status=503), "/y": html()}
    start(worker, site.url())
    run(worker)
    assert url(worker.engine, site.url("/x"))["state"] == "quarantined"
    assert url(worker.engine, site.url("/y"))["state"] == "resting"


def test_a_host_that_refuses_connections_is_given_up(make: Callable[..., Worker], web: Web) -> None:
    worker = make(new_host_failures_max=3)
    site = web.site()
    start(worker, site.url(), site.url("/a"))
    site.close()
    run(worker)
    failures = sql(worker.engine, "SELECT kind, outcome, failure FROM fetches")
    assert failures == [{"kind": "robots", "outcome": "unreachable", "failure": "refused"}] * 3
    assert sql(worker.engine, "SELECT DISTINCT state FROM urls") == [{"state": "refused"}]


def test_a_host_that_goes_away_in_the_middle_keeps_its_urls(make: Callable[..., Worker], web: Web) -> None:
    worker = make(backoff_base_s=500.0, backoff_max_s=500.0, settle_urls=1)
    site = web.site()

    def last_word(_: Hit) -> Answer:
        site.close()  # nobody is let in any more
        return html("/a", "/b", headers={"Connection": "close"})

    site.pages["/"] = last_word
    start(worker, site.url())
    for _ in range(2):
        go(worker)
    found = {row["url"]: row for row in sql(worker.engine, "SELECT url, state, attempts FROM urls")}
    assert found[site.url()]["state"] == "resting"
    assert {(found[site.url(path)]["state"], found[site.url(path)]["attempts"]) for path in ("/a", "/b")} == {
        ("queued", 0)
    }
    assert one(worker.engine, "SELECT resting_because FROM hosts") == "unreachable"


def test_an_address_that_we_do_not_talk_to_ends_the_hosts_urls(make: Callable[..., Worker], web: Web) -> None:
    worker = make(allow_networks="127.200.0.0/16")
    site = web.site()
    start(worker, site.url())
    run(worker)
    assert site.paths == []
    found = url(worker.engine, site.url())
    assert found["state"] in {"quarantined", "refused"}
    assert found["cause"]


# Refresh header, body and type of the page, whether it is followed
REFRESHES = [
    ("0; url=/home", b"<p>on", "text/html", True),
    ("0;URL='/home'", b"", "text/html", True),
    ("5; /home", b"words", "text/plain", True),
    ("0; url=home", b"<base href=/><p>on", "text/html", True),
    ("5", b"<p>on", "text/html", False),
    ("0; url=javascript:go()", b"<p>on", "text/html", False),
    ("soon; url=/home", b"<p>on", "text/html", False),
]


@pytest.mark.parametrize(("field", "body", "kind", "is_followed"), REFRESHES)
def test_a_refresh_header_is_followed_as_a_meta_refresh(
    worker: Worker, web: Web, field: str, body: bytes, kind: str, is_followed: bool
) -> None:
    site = web.site()
    site.pages |= {"/a/": Answer(headers={"Content-Type": kind, "Refresh": field}, body=body), "/home": html()}
    start(worker, site.url("/a/"))
    run(worker)
    assert site.pages_asked == ["/a/"] + ["/home"] * is_followed


def test_octets_of_refresh_and_link_headers_are_asked_for_as_they_stand(worker: Worker, web: Web) -> None:
    site = web.site()
    field = "0; url=/ж?ж".encode().decode("latin-1")
    link = '</ф>; rel="canonical"'.encode().decode("latin-1")
    site.pages |= {"/": Answer(headers={"Content-Type": "text/html", "Refresh": field, "Link": link}, body=b"<p>on")}
    site.pages |= {"/%D0%B6?%D0%B6": html(), "/%D1%84": html()}
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/%D0%B6?%D0%B6", "/%D1%84"]
