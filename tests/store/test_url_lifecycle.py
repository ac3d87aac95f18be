"""SQL moves a URL as the transition table says."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from app.features.near import rows as near
from app.features.near.rows import Orphan
from app.model import Cause
from app.policy.lifecycle import URL_TRANSITIONS, UrlEvent, UrlState
from app.store import caps, db, urls
from app.store.url_rows import Admission
from tests.store.rows import (
    admission,
    admit,
    make_crawl,
    make_host,
    result,
    sql,
    weak,
)
from tests.store.url_states import STATES, stand


def state_of(engine: Engine, row: Admission) -> str | None:
    """None: it is not in the frontier."""
    query = "SELECT state FROM urls WHERE key = :key AND crawl_id = :crawl_id"
    found = sql(engine, query, key=row["key"], crawl_id=row["crawl_id"])
    return str(found[0]["state"]) if found else None


def _retry(tx: Connection, row: Admission) -> None:
    urls.retry(tx, host_id=row["host_id"], key=row["key"], crawl_id=None)


def _reopen(tx: Connection, row: Admission) -> None:
    urls.reopen(tx, host_id=row["host_id"], rows=[{"crawl_id": row["crawl_id"], "key": row["key"]}])


def _part(tx: Connection, row: Admission) -> None:
    of_url = str(STATES[UrlState.ALIAS]["alias_of"])
    near.part(tx, [Orphan(row["host_id"], row["crawl_id"], row["key"], row["url"], "body", of_url)])


def _give_up(state: UrlState) -> Callable[[Connection, Admission], None]:
    return lambda tx, row: (
        urls.give_up(tx, host_id=row["host_id"], state=state.value, cause=Cause.OTHER, detail="why"),
        None,
    )[1]


def go_round(tx: Connection, crawl_id: int) -> dict[int, int]:
    new: Counter[int] = Counter()
    for lot in urls.lots_of_round(tx, crawl_id):
        new.update(urls.go_round(tx, crawl_id, lot))
    return dict(new)


def _record(state: UrlState) -> Callable[[Connection, Admission], None]:
    def act(tx: Connection, row: Admission) -> None:
        more: dict[str, Any] = {"due_s": 60} if state in {UrlState.RESTING, UrlState.GONE} else {}
        more |= {"cause": Cause.OTHER, "detail": "why"} if state in {UrlState.REFUSED, UrlState.QUARANTINED} else {}
        more |= {"alias_of": "u"} if state is UrlState.ALIAS else {}
        urls.record(tx, [result(row, state.value, **more)])

    return act


SQL_EVENTS: list[tuple[str, UrlEvent, Callable[[Connection, Admission], None]]] = [
    ("promote", UrlEvent.DUE, lambda tx, row: (urls.promote(tx, 10), None)[1]),
    ("reopen", UrlEvent.REOPENED, _reopen),
    ("part", UrlEvent.PARTED, _part),
    ("retry", UrlEvent.RETRIED, _retry),
    ("go_round", UrlEvent.RETRIED, lambda tx, row: (go_round(tx, row["crawl_id"]), None)[1]),
    ("defer", UrlEvent.DEFERRED, lambda tx, row: (caps.defer(tx, [weak(row)], due_s=60), None)[1]),
    ("evict", UrlEvent.EVICTED, lambda tx, row: (caps.evict(tx, [weak(row)]), None)[1]),
    ("give_up: refused", UrlEvent.DISALLOWED, _give_up(UrlState.REFUSED)),
    ("give_up: quarantined", UrlEvent.EXHAUSTED, _give_up(UrlState.QUARANTINED)),
    *(
        (f"record: {event}", event, _record(target))
        for (state, event), target in URL_TRANSITIONS.items()
        if state is UrlState.QUEUED and target is not None and event is not UrlEvent.DEFERRED
    ),
]


@pytest.mark.parametrize(("name", "event", "act"), SQL_EVENTS)
def test_sql_moves_a_url_as_the_table_says(
    engine: Engine, name: str, event: UrlEvent, act: Callable[[Connection, Admission], None]
) -> None:
    """And leaves it where it is when the table has no such row. Each state has a host and a crawl of its own."""
    for state in UrlState:
        row = admission(make_host(engine), make_crawl(engine, state.value, keep_fresh=True))
        stand(engine, row, state)
        with db.transaction(engine) as tx:
            act(tx, row)
        assert state_of(engine, row) == URL_TRANSITIONS.get((state, event), state), state


@pytest.mark.parametrize(
    ("state", "event", "columns"),
    [
        (UrlState.QUEUED, UrlEvent.ADMITTED, {}),
        (UrlState.REFUSED, UrlEvent.DISALLOWED, {"cause": "robots.txt"}),
        (UrlState.REFUSED, UrlEvent.TRAPPED, {"cause": "trap", "detail": "/w"}),
        (UrlState.QUEUED, UrlEvent.FORCED, {"cause": "forced"}),
        (UrlState.RESTING, UrlEvent.DEFERRED, {"due_s": 60.0}),
    ],
)
def test_a_row_is_admitted_as_the_table_says(
    engine: Engine, state: UrlState, event: UrlEvent, columns: dict[str, Any]
) -> None:
    row = admission(make_host(engine), make_crawl(engine), state=state.value, **columns)
    admit(engine, row)
    assert state_of(engine, row) == URL_TRANSITIONS[None, event]


def test_every_event_is_one_that_sql_performs() -> None:
    performed = {event for _, event, _ in SQL_EVENTS} | {UrlEvent.ADMITTED, UrlEvent.FORCED}
    assert performed == set(UrlEvent)


def test_what_an_admission_finds_it_leaves_as_it_is(engine: Engine) -> None:
    host_id, crawl_id = make_host(engine), make_crawl(engine)
    for number, state in enumerate(UrlState):
        stand(engine, admission(host_id, crawl_id, f"/{number}"), state)
    before = sql(engine, "SELECT * FROM urls ORDER BY id")
    admit(engine, *(admission(host_id, crawl_id, f"/{number}") for number in range(len(UrlState))))
    assert sql(engine, "SELECT * FROM urls ORDER BY id") == before


def test_record_writes_what_is_queued_once(engine: Engine) -> None:
    host_id, crawl_id = make_host(engine), make_crawl(engine)
    rows = [admission(host_id, crawl_id, path) for path in ("/a", "/b", "/c")]
    admit(engine, *rows)
    sql(engine, "UPDATE urls SET state = 'gone' WHERE url LIKE '%/b'")
    with db.transaction(engine) as tx:
        urls.record(tx, [result(row, "resting", host_id=host_id + 1, due_s=60, etag='"w"') for row in rows])
        urls.record(tx, [result(row, "resting", due_s=60, etag='"x"') for row in rows])
        urls.record(tx, [result(row, "resting", due_s=60, etag='"y"') for row in rows])
    etags = sql(engine, "SELECT etag FROM urls WHERE etag IS NOT NULL")
    assert [row["etag"] for row in etags] == ['"x"', '"x"'], "a doubled settle finds nothing queued"


def test_an_attempt_is_counted_on_queued_urls_only(engine: Engine) -> None:
    row = admission(make_host(engine), make_crawl(engine))
    where: dict[str, Any] = {name: row[name] for name in ("host_id", "crawl_id", "key")}
    admit(engine, row)
    with db.transaction(engine) as tx:
        assert urls.count_attempt(tx, **where) == 1
        assert urls.count_attempt(tx, **where) == 2
    stand(engine, row, UrlState.GONE)
    with db.transaction(engine) as tx:
        assert urls.count_attempt(tx, **where) is None


@pytest.mark.parametrize("state", list(UrlState))
def test_going_round_forgets_why_and_keeps_the_validators(engine: Engine, state: UrlState) -> None:
    row = admission(make_host(engine), make_crawl(engine))
    stand(engine, row, state, retrying=state is UrlState.RESTING)
    sql(engine, "UPDATE urls SET etag = 'e', interval_s = 5")
    with db.transaction(engine) as tx:
        assert go_round(tx, row["crawl_id"]) == ({} if state is UrlState.QUEUED else {row["host_id"]: 1})
    columns = "state, etag, interval_s, retrying" + ("" if state is UrlState.QUEUED else ", attempts, cause, due_at")
    (found,) = sql(engine, f"SELECT {columns} FROM urls")
    kept = {"state": "queued", "etag": "e", "interval_s": 5.0, "retrying": False}
    assert found == kept | ({} if state is UrlState.QUEUED else {"attempts": 0, "cause": None, "due_at": None})
