"""Answers to validators: only a 304 or a full 2xx is news; anything else is asked for once more, whole."""

from collections.abc import Callable

import pytest

from app.admin import crawls
from app.beat.promote import promote
from app.crawl.state.worker import Worker
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.store.rows import one, sql, url

HTML = {"Content-Type": "text/html"}
LATER = "UPDATE urls SET fetched_at = fetched_at - interval '9 days'"


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def validated(worse: Answer, **headers: str) -> Callable[[Hit], Answer]:
    """A page with validators that answers them so."""
    said = headers or {"ETag": '"1"'}

    def answer(hit: Hit) -> Answer:
        is_asked = hit.headers["If-None-Match"] or hit.headers["If-Modified-Since"]
        return worse if is_asked else html(text="Boats in the harbour.", headers=said)

    return answer


def again(worker: Worker) -> None:
    sql(worker.engine, LATER)
    crawls.go_round(worker.engine, "c")
    run(worker)


def asked(site: Site) -> list[tuple[str, bool]]:
    """Paths that were asked for, and whether with validators."""
    return [
        (hit.path, bool(hit.headers["If-None-Match"] or hit.headers["If-Modified-Since"]))
        for hit in site.log
        if hit.path != "/robots.txt"
    ]


NOT_NEWS = [
    Answer(headers=HTML),
    Answer(headers=HTML, body=b"\r\n \n"),
    Answer(status=204),
    Answer(status=400, headers=HTML, body=b"bad date"),
    Answer(status=412),
    Answer(status=416),
    Answer(status=428),
    Answer(status=303, headers=HTML),
    html(status=206),
    html(status=206, headers={"Content-Range": "bytes 0-9/100"}),
]


@pytest.mark.parametrize("worse", NOT_NEWS, ids=lambda each: f"{each.status}-{len(each.body)}")
def test_an_answer_to_validators_that_is_no_news_is_asked_for_whole(worker: Worker, site: Site, worse: Answer) -> None:
    site.pages["/"] = validated(worse, **{"Last-Modified": "yesterday"})
    start(worker, site.url())
    run(worker)
    again(worker)
    assert asked(site) == [("/", False), ("/", True), ("/", False)]
    row = url(worker.engine, site.url())
    assert (row["state"], row["outcome"], row["attempts"], row["server_failures"]) == ("resting", "page", 0, 0)
    assert row["changed_at"] < row["fetched_at"], "no change"
    assert one(worker.engine, "SELECT main_text FROM pages") == "Boats in the harbour."
    assert [
        row["attempt"] for row in sql(worker.engine, "SELECT attempt FROM fetches WHERE kind = 'page' ORDER BY id")
    ] == [1, 1, 2]


# status of an answer to validators, what comes of the URL
NEWS = [(404, "not_found"), (410, "gone"), (403, "forbidden"), (401, "unauthorised")]


@pytest.mark.parametrize(("status", "outcome"), NEWS)
def test_what_tells_of_the_document_is_news(worker: Worker, site: Site, status: int, outcome: str) -> None:
    site.pages["/"] = validated(Answer(status=status))
    start(worker, site.url())
    run(worker)
    again(worker)
    assert asked(site) == [("/", False), ("/", True)]
    assert url(worker.engine, site.url())["outcome"] == outcome


def test_a_refusal_without_validators_is_one(worker: Worker, site: Site) -> None:
    site.pages["/"] = Answer(status=412)
    start(worker, site.url())
    run(worker)
    assert asked(site) == [("/", False)]
    assert url(worker.engine, site.url())["outcome"] == "client_error"


def test_an_empty_200_is_no_page(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html("/blank", text="Home."), "/blank": Answer(headers={"Content-Type": "text/html"})}
    start(worker, site.url())
    run(worker)
    row = url(worker.engine, site.url("/blank"))
    assert (row["state"], row["outcome"], row["detail"]) == ("resting", "unwanted", "it has no body")
    assert one(worker.engine, "SELECT count(*) FROM pages") == 1


@pytest.mark.parametrize("empty", [Answer(headers=HTML, body=b""), Answer(status=204), Answer(headers={"ETag": '"2"'})])
def test_a_text_goes_where_it_was_empty_twice_in_two_rounds(worker: Worker, site: Site, empty: Answer) -> None:
    site.pages["/"] = html(text="Boats in the harbour.", headers={"ETag": '"1"'})
    start(worker, site.url())
    run(worker)
    site.pages["/"] = empty
    again(worker)
    assert asked(site)[1:] == [("/", True), ("/", False)]
    row = url(worker.engine, site.url())
    assert (row["outcome"], row["cause"]) == ("unwanted", None)
    assert row["detail"] == "it has no body; the text that it had is kept until it has none in another round"
    assert one(worker.engine, "SELECT main_text FROM pages") == "Boats in the harbour."
    assert row["changed_at"] < row["fetched_at"]
    again(worker)
    assert asked(site)[3:] == [("/", False)], "whole: nothing is left to validate"
    row = url(worker.engine, site.url())
    assert (row["state"], row["cause"]) == ("resting", "kept out of pages: it has no body")
    assert sql(worker.engine, "SELECT url FROM pages") == []
    again(worker)
    assert [path for path, _ in asked(site)[4:]] == ["/"]


def test_a_text_that_comes_back_is_no_change_and_one_that_went_is(worker: Worker, site: Site) -> None:
    page = html(text="Boats in the harbour.", headers={"ETag": '"1"'})
    site.pages["/"] = page
    start(worker, site.url())
    run(worker)
    first = url(worker.engine, site.url())["changed_at"]
    for answer, changes, rounds in ((Answer(), False, 1), (page, False, 1), (Answer(), True, 2), (page, True, 1)):
        site.pages["/"] = answer
        for _ in range(rounds):
            again(worker)
        row = url(worker.engine, site.url())
        assert (row["changed_at"] > first) is changes
        first = row["changed_at"]
    assert one(worker.engine, "SELECT main_text FROM pages") == "Boats in the harbour."


@pytest.mark.parametrize("status", [500, 501, 502])
def test_the_last_try_after_errors_is_whole(worker: Worker, site: Site, status: int) -> None:
    """Some servers fail on validators alone; to others a try with them costs less."""
    site.pages["/"] = validated(Answer(status=status))
    start(worker, site.url())
    run(worker)
    site.log.clear()
    again(worker)
    assert asked(site) == [("/", True), ("/", True), ("/", False)]
    row = url(worker.engine, site.url())
    assert (row["state"], row["outcome"], row["etag"]) == ("resting", "page", '"1"')


@pytest.mark.parametrize("status", [408, 421, 425])
def test_a_transient_refusal_is_asked_once_more_in_the_round_over_a_new_connection(
    worker: Worker, site: Site, status: int
) -> None:
    answers: list[Answer] = [Answer(status=status), html(text="Late.")]
    site.pages |= {"/": html("/late", text="Home."), "/late": lambda _: answers.pop(0)}
    start(worker, site.url())
    run(worker)
    assert [path for path, _ in asked(site)] == ["/", "/late", "/late"]
    assert url(worker.engine, site.url("/late"))["outcome"] == "page"
    (last,) = sql(worker.engine, "SELECT connect_ms, attempt FROM fetches ORDER BY id DESC LIMIT 1")
    assert last["connect_ms"] is not None
    assert last["attempt"] == 2


@pytest.mark.parametrize("status", [408, 421, 425])
def test_a_transient_refusal_that_stays_is_asked_twice(worker: Worker, site: Site, status: int) -> None:
    site.pages["/"] = Answer(status=status)
    start(worker, site.url())
    run(worker)
    assert [path for path, _ in asked(site)] == ["/", "/"]
    row = url(worker.engine, site.url())
    assert (row["state"], row["outcome"], row["attempts"]) == ("resting", "client_error", 0)


@pytest.mark.parametrize("worse", [Answer(status=412), Answer(status=400), Answer(body=b"")])
def test_robots_txt_that_does_not_understand_its_validators_is_asked_for_whole(
    worker: Worker, site: Site, worse: Answer
) -> None:
    """Its rules would be lost: a 4xx means that there are none."""

    def robots(hit: Hit) -> Answer:
        if hit.headers["If-None-Match"]:
            return worse
        return Answer(headers={"ETag": '"1"', "Content-Type": "text/plain"}, body=b"User-agent: *\nDisallow: /no")

    site.robots = robots
    site.pages |= {"/": html("/no", "/a"), "/a": html(), "/no": html()}
    start(worker, site.url())
    run(worker)
    sql(worker.engine, "UPDATE robots SET expires_at = clock_timestamp() - interval '1 day'")
    crawls.go_round(worker.engine, "c")
    run(worker)
    assert [hit.headers["If-None-Match"] for hit in site.log if hit.path == "/robots.txt"] == [None, '"1"', None]
    assert "/no" not in site.paths


@pytest.mark.parametrize("status", [408, 421, 425])
def test_robots_txt_that_is_refused_for_a_moment_is_asked_for_once_more(
    worker: Worker, site: Site, status: int
) -> None:
    answers = [Answer(status=status), Answer(body=b"User-agent: *\nDisallow: /no")]
    site.robots = lambda _: answers.pop(0)
    site.pages |= {"/": html("/no", "/a"), "/a": html(), "/no": html()}
    start(worker, site.url())
    run(worker)
    assert site.paths == ["/robots.txt", "/robots.txt", "/", "/a"]


def test_a_wrong_canonical_is_looked_at_again_when_it_is_due(worker: Worker, site: Site) -> None:
    wrong = html(text="Boats.", head=f'<link rel=canonical href="{site.url("/")}">')
    site.pages |= {"/": html("/boats", text="Home."), "/boats": wrong}
    start(worker, site.url(), keep_fresh=True)
    go(worker)
    row = url(worker.engine, site.url("/boats"))
    assert (row["state"], row["alias_of"]) == ("alias", site.url("/"))
    site.pages["/boats"] = html(text="Boats.")
    sql(worker.engine, "UPDATE urls SET due_at = due_at - interval '100 days'")
    promote(worker.engine)
    assert url(worker.engine, site.url("/boats"))["state"] == "queued"
    go(worker)
    row = url(worker.engine, site.url("/boats"))
    assert (row["state"], row["alias_of"]) == ("resting", None)
