"""Refusals go when they are old or too many."""

from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.beat import rotate_logs
from app.store import db, suppressions
from tests.beat.log_rows import settings
from tests.store.rows import make_crawl, make_host, one, sql


def refused(engine: Engine, crawl_id: int, *ages_days: float) -> None:
    for number, days in enumerate(ages_days):
        with db.transaction(engine) as tx:
            suppressions.note(
                tx,
                [
                    {
                        "crawl_id": crawl_id,
                        "key": f"{number}".encode(),
                        "reason": "host",
                        "url": f"http://x.test/{number}",
                        "detail": None,
                        "found_on": None,
                    }
                ],
            )
        sql(
            engine,
            "UPDATE suppressions SET last_at = now() - make_interval(secs => :s) WHERE crawl_id = :c AND key = :k",
            s=days * 86_400,
            c=crawl_id,
            k=f"{number}".encode(),
        )


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({}, 6),
        ({"suppressions_max": 4}, 4),
        ({"suppressions_max": 6}, 6),
        ({"suppressions_max": 0}, 6),
        ({"log_keep_days": 25}, 3),
        ({"log_keep_days": 25, "suppressions_max": 1}, 1),
        ({"log_keep_days": 25, "suppressions_max": 5}, 3),
    ],
)
def test_refusals_go_when_they_are_old_or_too_many(engine: Engine, values: dict[str, Any], kept: int) -> None:
    crowded, other = make_crawl(engine, "crowded"), make_crawl(engine, "other")
    refused(engine, crowded, 1, 60, 20, 50, 30, 10)
    refused(engine, other, 2)
    assert rotate_logs.retain(engine, settings(**values))["forgotten"] == 6 - kept
    ages = "SELECT round(extract(epoch FROM now() - last_at) / 86400) AS days FROM suppressions WHERE crawl_id = :c"
    left = sorted(int(row["days"]) for row in sql(engine, ages, c=crowded))
    assert left == sorted([1, 60, 20, 50, 30, 10])[:kept]
    assert one(engine, "SELECT count(*) FROM suppressions WHERE crawl_id = :c", c=other) == 1


def test_a_refusal_that_a_settle_is_at_is_left_alone(engine: Engine) -> None:
    crawl_id = make_crawl(engine)
    make_host(engine)
    refused(engine, crawl_id, 40, 50, 60)
    with engine.begin() as settle:
        settle.execute(text("UPDATE suppressions SET count = count + 1 WHERE key = '1'"))
        assert rotate_logs.retain(engine, settings(log_keep_days=30))["forgotten"] == 2
    assert rotate_logs.retain(engine, settings(log_keep_days=30))["forgotten"] == 1
