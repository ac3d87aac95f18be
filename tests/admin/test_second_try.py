"""A URL is queued once more only where that can bring a request, or it is said what is missing."""

import pytest

from app.admin import crawls, second_try
from app.crawl.state.worker import Worker
from app.errors import InputError
from tests.crawl.loop import start
from tests.store.rows import one, sql

URL = "http://a.test/"
REFUSED_LINK = """
    INSERT INTO suppressions (crawl_id, key, reason, url)
    SELECT crawl_id, sha256(convert_to(:url, 'UTF8')), :reason, :url FROM urls LIMIT 1"""


def retried(worker: Worker, url: str = URL, crawl: str | None = None, *, force: bool = False) -> list[str]:
    return second_try.retry(worker.engine, worker.settings, url, crawl, force=force)


def test_a_trap_is_queued_by_force_alone(worker: Worker) -> None:
    start(worker, URL, name="one")
    start(worker, URL, name="two")
    sql(worker.engine, "UPDATE urls SET state = 'refused', cause = 'trap' WHERE crawl_id = 2")
    with pytest.raises(InputError, match="crawl two takes it for a trap; to fetch it all the same, add --force"):
        retried(worker)
    assert one(worker.engine, "SELECT state FROM urls WHERE crawl_id = 2") == "refused", "nothing was queued"
    assert retried(worker, crawl="one") == ["one"]
    assert retried(worker, force=True) == ["one", "two"]
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued' AND cause = 'forced'") == 2


# reason of the refused link → what is said
@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("trap_depth", "crawl c refused it as a link (trap_depth); to fetch it all the same, add --force"),
        ("nofollow", "crawl c refused it as a link (nofollow); to fetch it all the same, add --force"),
        ("scope", "no crawl knows it"),  # no force lifts that
    ],
)
def test_a_refused_link_names_what_lets_it_through(worker: Worker, reason: str, says: str) -> None:
    start(worker, URL, name="c")
    sql(worker.engine, REFUSED_LINK, url="http://a.test/x", reason=reason)
    with pytest.raises(InputError) as caught:
        retried(worker, "http://a.test/x")
    assert str(caught.value) == f"http://a.test/x: {says}"


def test_what_robots_refused_is_asked_for_once_more(worker: Worker) -> None:
    start(worker, URL, name="c")
    sql(worker.engine, "UPDATE urls SET state = 'refused', cause = 'robots.txt'")
    assert retried(worker) == ["c"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("state = 'active'", []),
        ("state = 'paused'", ["crawl c is paused; to resume: tiptoe crawl resume c"]),
        (
            "state = 'finished', ended_because = 'done', finished_at = now()",
            ["crawl c is finished; to resume: tiptoe crawl start c"],
        ),
        (
            "state = 'finished', ended_because = 'max_pages', finished_at = now()",
            ["crawl c is finished; to resume: tiptoe crawl edit c --max-pages N, then tiptoe crawl start c"],
        ),
    ],
)
def test_a_crawl_that_fetches_nothing_is_named(worker: Worker, row: str, says: list[str]) -> None:
    start(worker, URL, name="c")
    sql(worker.engine, f"UPDATE crawls SET {row}")
    assert second_try.hindrances(worker.engine, ["c"]) == says


def test_what_is_said_brings_it(worker: Worker) -> None:
    """The crawl starts, as the URL is queued."""
    start(worker, URL, name="c")
    sql(worker.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    sql(worker.engine, "UPDATE crawls SET state = 'finished', ended_because = 'done', finished_at = now()")
    retried(worker)
    assert crawls.start(worker.engine, "c").state == "active"
