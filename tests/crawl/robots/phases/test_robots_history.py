"""The history of robots.txt that the audit judges by."""

from datetime import datetime, timedelta

from app.crawl.state.worker import Worker
from app.model import Origin
from app.store import db
from app.store import robots as robots_store
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.robots.phases.phases import ANSWERS, COPY, HOUR, SILENT, expire, later, learn, lose
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql


def history(worker: Worker) -> list[tuple[str, int | None, str | None, bool]]:
    """availability, status, the last good copy, out of reach?"""
    with db.transaction(worker.engine) as tx:
        ids = [row["id"] for row in sql(worker.engine, "SELECT id FROM hosts ORDER BY id")]
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


def test_every_change_of_what_may_be_in_force_is_a_line(worker: Worker, site: Site) -> None:
    learn(worker, site)
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
        expire(worker)
        start(worker, site.url(f"/{number}"), name=f"n{number}")
        later(worker, 2 * HOUR)
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
    assert history(worker) == [
        ("available", 200, COPY, False),
        ("available", 200, new, False),
        ("unreachable", 500, new, True),
        ("unreachable", None, new, True),
        ("available", 304, new, False),
        ("unavailable", 404, None, False),
        ("available", 200, COPY, False),
    ]
    assert one(worker.engine, "SELECT count(*) FROM robots_bodies") == 2


def test_a_line_holds_from_the_end_of_the_request_that_brought_it(worker: Worker, site: Site) -> None:
    site.robots = COPY
    site.pages["/a"] = Answer(status=403)
    start(worker, site.url("/a"), site.url("/b"), name="more")
    go(worker)
    expire(worker)
    site.robots = "User-agent: *"
    start(worker, site.url("/"), name="further")
    go(worker)
    asked = sql(worker.engine, "SELECT ended_at FROM fetches WHERE kind = 'robots' ORDER BY id")
    lines = sql(worker.engine, "SELECT since FROM robots_copies ORDER BY id")
    away = [abs((line["since"] - end["ended_at"]).total_seconds()) for line, end in zip(lines, asked, strict=True)]
    assert max(away) < 1e-5
    assert one(worker.engine, "SELECT fetched_at FROM robots") == lines[-1]["since"]
    first_page = one(worker.engine, "SELECT min(started_at) FROM fetches WHERE kind = 'page'")
    assert lines[0]["since"] <= first_page


def test_two_answers_of_one_batch_are_two_lines(worker: Worker, site: Site) -> None:
    learn(worker, site)
    with db.transaction(worker.engine) as tx:
        host_id = one(worker.engine, "SELECT id FROM hosts")
        found = robots_store.of_host(tx, host_id)[0]
        origin = Origin(found.scheme, site.host, found.port)
        fetched = [
            (host_id, origin, _fetched(found.now + timedelta(seconds=n), body))
            for n, body in enumerate((b"a", b"b", b"a"))
        ]
        robots_store.store(tx, fetched)
    assert [body for _, _, body, _ in history(worker)] == [COPY, "a", "b", "a"]


def test_a_body_is_kept_once_for_all_hosts(worker: Worker, web: Web) -> None:
    sites = [web.site() for _ in range(3)]
    for each in sites:
        each.robots = COPY
        each.pages["/"] = html()
    start(worker, *[each.url() for each in sites])
    run(worker, threads=3)
    assert history(worker) == [("available", 200, COPY, False)] * 3
    assert one(worker.engine, "SELECT count(*) FROM robots_bodies") == 1


def test_a_copy_that_is_older_than_the_history_gets_into_it(worker: Worker, site: Site) -> None:
    learn(worker, site, Answer(headers={"ETag": '"r1"'}, body=COPY.encode()))
    sql(worker.engine, "TRUNCATE robots_copies, robots_bodies")  # as before migration 0002
    expire(worker)
    start(worker, site.url("/a"), name="more")
    go(worker)
    assert history(worker) == [("available", 304, COPY, False)]


def test_a_visit_that_lost_its_lease_writes_no_history(worker: Worker, site: Site) -> None:
    def steal(_: object) -> str:
        sql(worker.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
        return COPY

    site.robots = steal
    start(worker, site.url("/a"))
    go(worker)
    assert (history(worker), sql(worker.engine, "SELECT FROM robots")) == ([], [])


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


def test_bring_forward_lets_an_hour_pass(worker: Worker, site: Site) -> None:
    lose(worker, site, ANSWERS, "/a")
    bring_forward(worker.engine)
    go(worker)
    assert site.paths == ["/robots.txt"] * 2
