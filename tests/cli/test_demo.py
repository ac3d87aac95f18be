"""`tiptoe demo` makes a crawl of its own each time."""

import pytest
from sqlalchemy import Engine

from app.cli.demo import free_name
from tests.store.rows import clean, make_crawl


# crawls that are there → the name of the next
@pytest.mark.parametrize(
    ("there", "name"),
    [
        ([], "demo"),
        (["demo"], "demo-2"),
        (["demo", "demo-2"], "demo-3"),
        (["demo-2"], "demo"),
        (["demo", "demo-3"], "demo-2"),
    ],
)
def test_a_name_that_no_crawl_has(database_url: str, there: list[str], name: str) -> None:
    with clean(database_url) as engine:
        assert _next(engine, database_url, there) == name


def _next(engine: Engine, database_url: str, there: list[str]) -> str:
    for each in there:
        make_crawl(engine, each)
    return free_name(engine, database_url)
