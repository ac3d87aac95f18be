"""Whatever text a site sends, in whichever column: Postgres takes it. A property of every column that the network can
fill."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import ARRAY, Connection, Engine, Text, text

from app.model import Cause, Origin, Rest, RestReason, VisitEnding
from app.store import budgets, fetches, hosts, pages, robots, sitemaps, suppressions, urls, visits
from app.store.border import clean
from app.store.budgets import Budget, BudgetKind
from app.store.robots import Fetched
from app.store.tables import metadata
from tests.store.rows import admission, admit, make_crawl, make_host, result

NOW = datetime(2026, 11, 23, tzinfo=UTC)

# Column → why no site's words stand in it.
OURS = {
    **dict.fromkeys(
        """crawls.name crawls.state crawls.scope crawls.scope_hosts crawls.scope_domains crawls.scope_prefixes
        crawls.include
        crawls.exclude crawls.sitemaps crawls.ended_because hosts.queue hosts.quiet_hours domains.name
        domains.quiet_hours
        host_events.event host_events.detail visits.queue visits.worker""".split(),  # noqa: SIM905 (a list literal takes a line per word)
        "an operator's, or of his settings",
    ),
    **dict.fromkeys(
        """hosts.state urls.state urls.kind urls.outcome robots.scheme robots.availability robots_copies.scheme
        robots_copies.availability duplicates.kind budgets.kind suppressions.reason fetches.kind fetches.reason
        fetches.outcome
        fetches.failure sitemaps.format lineage.seen hosts.resting_because urls.cause visits.ending""".split(),  # noqa: SIM905
        "a closed list of our words",
    ),
    "fetches.address_budget": "an address, or a network of an operator's",
    "pages.charset": "the name of a codec",
    "crawls.scope_redirects": "hosts and folders of canonical URLs: ASCII",
    "crawls.profile": "an operator's: a file in UTF-8",
    "url_patterns.pattern": "made of canonical URLs: ASCII",
}


def columns() -> Iterator[str]:
    for table in metadata.tables.values():
        for column in table.columns:
            if isinstance(column.type, Text) or (
                isinstance(column.type, ARRAY) and isinstance(column.type.item_type, Text)
            ):
                yield f"{table.name}.{column.name}"


def fetched(word: str, **changes: Any) -> Fetched:
    values: dict[str, Any] = {
        "at": NOW,
        "availability": "available",
        "revalidated": False,
        "status": 200,
        "detail": word,
        "body": b"",
        "etag": word,
        "last_modified": word,
        "fresh_s": 1.0,
        "failures": 0,
        "crawl_delay_raw": word,
        "crawl_delay_s": None,
        "sitemaps": (word, "http://h/s.xml"),
    }
    return Fetched(**values | changes)


def write(tx: Connection, word: str, host_id: int, crawl_id: int) -> None:
    """Each column that the network can fill, by the function that fills it. `word` stands in all of them."""
    hosts.ensure(tx, rows=[{"name": f"h{word}", "domain": word, "queue": "host-00"}], delay_s=1.0)
    hosts.block(tx, host_id=host_id, rest_s=1.0, why=Rest(RestReason.OTHER, word))
    page = admission(
        host_id,
        crawl_id,
        "/border",
        cause=Cause.ROBOTS,
        found_on=word,
        url=f"http://h/{word}",
        linked=word,
        state="refused",
    )
    urls.admit(tx, [page])
    known = admission(host_id, crawl_id)
    told = dict.fromkeys(("etag", "last_modified", "detail", "directives", "opt_out", "alias_of"), word)
    urls.record(tx, [result(known, "resting", due_s=1.0, **told)])
    urls.give_up(tx, host_id=host_id, state="quarantined", cause=Cause.OTHER, detail=word, prefix=word)
    robots.store(tx, host_id=host_id, fetched=[(Origin("http", "h", 80), fetched(word))])
    robots.store(tx, host_id=host_id, fetched=[(Origin("http", "h", 80), fetched(word, revalidated=True))])
    robots.store(tx, host_id=host_id, fetched=[(Origin("http", "h", 80), fetched(word))])
    suppressions.note(
        tx,
        [{"crawl_id": crawl_id, "key": b"k", "reason": "scope", "url": word, "detail": word, "found_on": word}],
    )
    sitemaps.note(tx, sitemaps.ReadSitemap(host_id, crawl_id, b"k", word, "urlset", 1, word))
    row: dict[str, Any] = dict.fromkeys(pages.PageRow.__annotations__, word)
    row |= {"host_id": host_id, "crawl_id": crawl_id, "key": b"k", "status": 200, "body_sha256": b"b"}
    row |= {"published_at": None, "modified_at": None}
    row |= {"charset": "utf-8", "text_sha256": b"t", "body_bytes": 1, "truncated": False, "links": 0, "depth": 0}
    pages.keep(tx, [row])  # type: ignore[list-item]
    pages.revise(
        tx,
        [
            {
                "host_id": host_id,
                "crawl_id": crawl_id,
                "key": b"k",
                "directives": word,
                "opt_out": word,
                "noarchive": False,
            }
        ],
    )
    note = {"host_id": host_id, "crawl_id": crawl_id, "key": b"k", "url": word, "kind": "body", "of_url": word}
    pages.note_duplicates(tx, [note])
    request: dict[str, Any] = dict.fromkeys(fetches.Fetch.__annotations__)
    request |= dict.fromkeys(
        ("url", "detail", "location", "retry_after", "content_type", "etag", "last_modified"), word
    )
    request |= {"host_id": host_id, "visit_id": 1, "anchor": NOW, "url_key": b"k", "kind": "page", "reason": "new"}
    request |= {"start_s": 0.0, "end_s": 1.0, "delay_s": 1.0, "outcome": "page", "wire_bytes": 0, "body_bytes": 0}
    request |= {"truncated": False, "total_ms": 1.0, "conditional": False, "attempt": 1}
    fetches.log(tx, [request])  # type: ignore[list-item]
    budget = Budget(BudgetKind.DOMAIN, word, 1.0)
    budgets.reserve(tx, [budget], budgets.StartTerms(host_id, 0.0, 1.0))
    budgets.refused(tx, budget, because=word, base_s=1.0, max_s=1.0)
    visit_id = tx.execute(
        text("INSERT INTO visits (host_id, token, queue, worker, taken_at) VALUES (1, :t, 'q', 'w', :at) RETURNING id"),
        {"t": UUID(int=1), "at": NOW},
    ).scalar_one()
    visits.close(tx, [{"id": visit_id, "taken_at": NOW, "ending": VisitEnding.RESTS, "detail": word, "fetches": 0}])


def holding(tx: Connection, word: str) -> set[str]:
    """The columns in which some row holds the word."""
    found = set()
    for name in columns():
        table, column = name.split(".")
        is_list = isinstance(metadata.tables[table].c[column].type, ARRAY)
        match = f":word = ANY({column})" if is_list else f"strpos({column}, :word) > 0"
        if tx.execute(text(f"SELECT EXISTS (SELECT FROM {table} WHERE {match})"), {"word": word}).scalar_one():
            found.add(name)
    return found


WORDS = st.text(st.characters(exclude_categories=()), max_size=30) | st.text("\x00\ud800\udfff\\u0a\"'", max_size=8)


@pytest.fixture
def place(engine: Engine) -> tuple[Engine, int, int]:
    crawl_id, host_id = make_crawl(engine), make_host(engine, "h")
    admit(engine, admission(host_id, crawl_id))
    return engine, host_id, crawl_id


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(WORDS)
@example("\x00")
@example("http://h/\x00s.xml")
@example("\ud800")
@example("\\\x00")
@example("😀" * 3_000)
def test_any_text_reaches_every_column_that_the_network_can_fill(place: tuple[Engine, int, int], word: str) -> None:
    """Also in a column that is new tomorrow: it is among those written here, or is ours with the reason."""
    engine, host_id, crawl_id = place
    marked = f"{word}mark"
    with engine.connect() as tx:
        write(tx, marked, host_id, crawl_id)
        assert holding(tx, clean(marked)) == set(columns()) - OURS.keys()
        tx.rollback()
