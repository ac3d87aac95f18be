"""`tiptoe url retry` says whether a request can come of it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.cli.conftest import Tiptoe
from tests.store.rows import clean, sql


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


def test_url_retry_says_what_keeps_it_from_a_request(tiptoe: Tiptoe, engine: Engine) -> None:
    docs, url = "docs", "http://127.0.0.1/a"
    assert tiptoe("seed", "add", docs, url).code == 0
    sql(engine, "UPDATE urls SET state = 'refused', cause = 'trap'")
    ran = tiptoe("url", "retry", url)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"tiptoe: {url}: crawl docs takes it for a trap; to fetch it all the same, add --force\n"
    tiptoe("crawl", "pause", docs)
    ran = tiptoe("url", "retry", url, "--force")
    assert (ran.code, ran.out) == (0, "queued in docs\n")
    assert ran.err == "crawl docs is paused; to resume: tiptoe crawl resume docs\n"
    assert tiptoe("url", "retry", url, "--json").json["hindrances"] == [ran.err.strip()]
