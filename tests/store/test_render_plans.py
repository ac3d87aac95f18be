"""Pages wait for a browser by the ten thousand, as it is slower than plain fetches: no query walks through them.

5,000 pages of one host and pattern that wait, three of it that were rendered, and one that waits on each of 20 hosts.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from app.store import db
from tests.store.frontier import filled
from tests.store.test_plans import explained, looked_at

BIG, TOKEN = 21, UUID(int=21)
FILL = [
    """INSERT INTO hosts (name, queue, delay_s, next_fetch_at)
       SELECT 'h' || n || '.test', 'host-00', 1, now() FROM generate_series(1, 21) AS n""",
    """INSERT INTO renders (host_id, crawl_id, key, url, pattern, state, due_at, status, headers, body, body_sha256)
       SELECT least(n, 21), 1, sha256(convert_to('due' || n, 'UTF8')),
              'http://h.test/', '/#', 'due', now() - n * interval '1 ms', 200, '{}', 'x', 'x'
       FROM generate_series(1, 5020) AS n""",
    """INSERT INTO renders (host_id, crawl_id, key, url, pattern, state, status, headers, body_sha256, brought,
                            ended_at)
       SELECT 21, 1, sha256(convert_to('done' || n, 'UTF8')), 'http://h.test/', '/#', 'done', 200, '{}', 'x', 5, now()
       FROM generate_series(1, 3) AS n""",
    """UPDATE hosts SET state = 'taken', lease_token = '00000000-0000-0000-0000-000000000015', taken_at = now(),
                        lease_until = now() + interval '1 hour'
       WHERE id = 21""",
]
LOT = [
    {"host_id": BIG, "crawl_id": 1, "key": f"{n:064x}", "url": "http://h.test/", "pattern": "/#", "status": 200}
    | {"headers": {}, "body": "00", "body_sha256": "00"}
    for n in range(50)
]
# query, values, rows of `renders` that may be looked at
QUERIES: list[tuple[str, dict[str, Any], int]] = [
    ("claim", {"ahead_s": 1, "offer_s": 10, "isolate": 0}, 21 + 1),  # one of each host, and the first once more
    ("take", {"host_id": BIG, "token": TOKEN}, 3),  # it is found, locked and written
    ("waiting", {}, 1),
    ("queue", {"rows": json.dumps(LOT), "ttl_s": 60}, 3 * 50),  # the last three of the pattern, for each page
]


@pytest.fixture(scope="module", params=["with statistics", "without"])
def engine(request: pytest.FixtureRequest, make_database: Callable[[], str]) -> Iterator[Engine]:
    yield from filled(make_database(), FILL, statistics=request.param)


@pytest.mark.parametrize(("name", "values", "most"), QUERIES)
def test_it_looks_at_no_more_than_it_needs(engine: Engine, name: str, values: dict[str, Any], most: int) -> None:
    plan = explained(engine, db.queries("renders")[name].text, values)
    assert 0 < sum(looked_at(plan, "renders")) <= most, json.dumps(plan, indent=1)
