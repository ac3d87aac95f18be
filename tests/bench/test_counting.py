"""What `python -m bench` counts with: a benchmark that counts wrong is worse than none."""

import itertools
import re
import subprocess
import sys
import time
from collections import Counter
from operator import attrgetter
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from app.store import db, hosts, migrate
from bench import counts, cpu, tiptoe
from bench.counts import SETTLE, VISIT, Meter, Reading
from bench.report import BenchError
from bench.web import Line


def test_a_line_of_stat_is_read_whatever_the_process_is_called() -> None:
    line = "7 (a) b (c) S 3 7 7 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 5 6 7"
    assert cpu.read_stat(line) == (3, (100 + 20 + 3 + 4) / cpu.TICKS)


BURNS = """
import sys, time
end = time.process_time() + 0.3
while time.process_time() < end: pass
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("words", "role"),
    [
        (["celery", "worker"], "workers"),
        (["-W", "ignore:You're running the worker with superuser privileges", "celery", "beat"], "beat"),
    ],
)
def test_cpu_of_children_is_told_by_role(words: list[str], role: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BURNS, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert cpu.seconds()[role] >= 0.25
        child.communicate()


@pytest.mark.parametrize(
    ("last", "used"),
    [
        ({"workers": 15.0, "beat": 4.5, "command": 1.0}, {"workers": 5.0, "beat": 0.5, "command": 0.0}),
        # beat has ended with 4.6: what it used since counts, and nothing twice
        ({"workers": 15.0, "command": 1.0 + 4.6}, {"workers": 5.0, "beat": 0.0, "command": pytest.approx(0.6)}),
    ],
)
def test_a_process_that_has_ended_counts_with_who_waited_for_it_and_once(
    last: dict[str, float], used: dict[str, float]
) -> None:
    assert cpu.used_by_role({"workers": 10.0, "beat": 4.0, "command": 1.0}, last) == used


def _as_shown(query: str) -> str:
    """Comments stay, values get numbers."""
    numbers = itertools.count(1)
    return re.sub(r"--[^\n]*|'[^']*'|(?<!:):\w+", lambda m: m[0] if m[0][:2] == "--" else f"${next(numbers)}", query)


@pytest.mark.parametrize("file", counts.query_files(), ids=attrgetter("stem"))
def test_a_query_is_known_by_its_name_when_postgres_has_numbered_its_values(file: Path) -> None:
    queries = db.queries(file.stem, str(file))
    assert {name: counts.name_of(_as_shown(str(query))) for name, query in queries.items()} == {
        name: f"{file.stem}.{name}" for name in queries
    }


def test_what_is_no_query_of_ours_is_shown_by_its_first_words() -> None:
    assert counts.name_of("SELECT pg_sleep($1) FROM nowhere AS x WHERE true") == "SELECT pg_sleep($1) FROM nowhere AS x"


def test_postgres_and_the_broker_count() -> None:
    with tiptoe.fresh_home() as home, counts.metered(home) as meter:
        migrate.upgrade(meter.database_url)
        engine = db.connect(meter.database_url)
        before = meter.read()
        for _ in range(3):
            with db.transaction(engine) as tx:
                assert hosts.take_up(tx, host_id=1, token=uuid4(), worker="w", lease_s=1.0) is None
                assert hosts.lock_leased(tx, host_id=1, token=uuid4()) is None
        engine.dispose()
        with redis.Redis.from_url(meter.broker_url) as broker:
            broker.lpush("queue", "a")
            broker.lpush("queue", "b")
        after = meter.read()
    made = after.statements - before.statements
    assert (made[VISIT], made[SETTLE]) == (3, 3)
    assert after.messages - before.messages == 2
    assert after.transactions - before.transactions >= 3
    assert after.cpu["postgres"] > 0
    assert after.cpu["broker"] >= 0


def _reading(at: float, n: int) -> Reading:
    return Reading(
        at=at,
        statements=Counter({VISIT: n, SETTLE: 2 * n, "BEGIN": n, "COMMIT": n, "urls.pick": n}),
        sql_ms=Counter({"urls.pick": float(n)}),
        rows=Counter({"urls.pick": 50 * n}),
        transactions=3 * n,
        messages=n,
        cpu={"workers": n / 100, "postgres": n / 200, cpu.ORIGIN: n / 10},
    )


def _line(t: float, uri: str = "/a", status: int = 200) -> Line:
    return {"t": t, "dt": 0.0, "host": "h", "addr": "h", "uri": uri, "status": status, "conn": 1}


def _meter(*readings: Reading) -> Meter:
    return Meter(database_url="", broker_url="", database=None, broker=None, readings=list(readings))  # type: ignore[arg-type]


def test_a_cost_is_of_the_pages_between_two_readings() -> None:
    meter = _meter(_reading(0.0, 1), _reading(10.0, 10), _reading(20.0, 30), _reading(30.0, 99))
    lines = [_line(9.0), _line(12.0), _line(13.0), _line(14.0, uri="/robots.txt"), _line(15.0, status=404), _line(21.0)]
    cost = meter.cost(lines, begin=5.0, end=25.0)
    assert (cost.pages, cost.begin, cost.seconds, cost.rows["urls.pick"]) == (2, 10.0, 10.0, 1_000)
    assert cost.per_page() == {
        "messages": 10.0,
        "visits": 10.0,
        "settles": 20.0,
        "transactions": 30.0,
        "statements": 40.0,
        "cpu ms": 150.0,
    }
    assert [row["process"] for row in cost.cpu_rows()] == [cpu.ORIGIN, "workers", "postgres"]


@pytest.mark.parametrize("end", [15.0, 25.0])
def test_too_short_a_run_tells_nothing(end: float) -> None:
    meter = _meter(_reading(10.0, 1), _reading(20.0, 2))
    with pytest.raises(BenchError):
        meter.cost([_line(9.0), _line(21.0)], begin=5.0, end=end)


# moment, the value by then
@pytest.mark.parametrize(("moment", "value"), [(5.0, 2.0), (10.0, 2.0), (15.0, 3.0), (25.0, 7.0), (40.0, 10.0)])
def test_between_two_marks_a_value_grows_evenly(moment: float, value: float) -> None:
    assert cpu.between([(10.0, 1.0), (10.0, 2.0), (20.0, 4.0), (30.0, 10.0)], moment) == value


def test_cpu_of_a_child_that_has_ended_stays_counted() -> None:
    with cpu.Watch() as watch:
        begin = time.time()
        subprocess.run([sys.executable, "-c", BURNS], input=b"", stdout=subprocess.DEVNULL, check=True)
        end = time.time()
    assert watch.used(begin, end) >= 0.15
    assert sum(watch.by_role(begin, end).values()) == pytest.approx(watch.used(begin, end))
