"""A clean log of two hosts."""

import pytest
from sqlalchemy import Engine

from tests.admin.planted.planted_rows import PRIVATE
from tests.crawl.planted import Log
from tests.store.rows import one


@pytest.fixture
def log(engine: Engine) -> Log:
    """Two hosts that were visited politely."""
    log = Log(engine)
    for name in ("a.test", "b.test"):
        host_id = log.host(name, robots=PRIVATE)
        for start in (2.0, 4.0):
            log.page(host_id, start)
    return log


@pytest.fixture
def a(log: Log) -> int:
    return int(one(log.engine, "SELECT id FROM hosts WHERE name = 'a.test'"))


@pytest.fixture
def b(log: Log) -> int:
    return int(one(log.engine, "SELECT id FROM hosts WHERE name = 'b.test'"))
