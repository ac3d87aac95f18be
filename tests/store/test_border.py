"""Whatever text a site sends, in whichever column: Postgres takes it. A property of every column that the network can
fill."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import ARRAY, JSON, Column, Connection, Engine, Text, text

from app.features.schema import schema
from tests.examples import examples
from tests.store.rows import admission, admit, make_crawl, make_host
from tests.store.site_words import write

# Column → why no site's words stand in it.
OURS = {
    **dict.fromkeys(
        """crawls.name crawls.state crawls.scope crawls.scope_hosts crawls.scope_domains crawls.scope_prefixes
        crawls.include
        crawls.exclude crawls.sitemaps crawls.handlers crawls.ended_because hosts.queue hosts.quiet_hours domains.name
        domains.quiet_hours hosts.dropped_parameters
        host_events.event host_events.detail visits.queue visits.worker extractions.handler items.handler
        archive_nodes.place webhooks.url webhooks.kinds webhooks.pattern webhooks.secret""".split(),  # noqa: SIM905  # a list literal takes a line per word
        "an operator's, or of his settings",
    ),
    **dict.fromkeys(
        """hosts.state urls.state urls.kind urls.outcome robots.scheme robots.availability robots_copies.scheme
        robots_copies.availability duplicates.kind budgets.kind suppressions.reason fetches.kind fetches.reason
        fetches.outcome
        fetches.failure sitemaps.format lineage.seen hosts.resting_because urls.cause visits.ending segments.state
        captures.kind extractions.state renders.state renders.ending crawls.render changes.kind
        changes_kept.lineage webhooks.lineage""".split(),  # noqa: SIM905  # a list literal takes a line per word
        "a closed list of our words",
    ),
    **dict.fromkeys(
        ("segments.node", "segments.worker", "archive_nodes.node", "extractions.node", "clocks.machine"),
        "a machine of an operator's, or a process there",
    ),
    **dict.fromkeys(
        ("segments.name", "segments.place"), "made of the crawl's name, the time, the machine and its settings"
    ),
    **dict.fromkeys(("plugins.name", "plugins.why"), "a plugin's, or what Postgres said of its rows"),
    **dict.fromkeys(("pages.charset", "captures.charset"), "the name of a codec"),
    **dict.fromkeys(
        ("renders.refused", "renders.pattern"), "a closed list of our words; made of canonical URLs: ASCII"
    ),
    **dict.fromkeys(
        ("render_workers.name", "render_workers.browser", "render_workers.problem"), "a process of an operator's"
    ),
    "crawls.ended_detail": "a number: the budget that is spent",
    "crawls.scope_redirects": "hosts and folders of canonical URLs: ASCII",
    "crawls.profile": "an operator's: a file in UTF-8",
    "statements.decided": "made of what `said` has",
    "statements.archive": "a verdict: one of three words",
    "statements.search": "a verdict: one of three words",
    "statements.ai_input": "a verdict: one of three words",
    "statements.ai_train": "a verdict: one of three words",
    "url_patterns.pattern": "made of canonical URLs: ASCII",
    "hosts.dropped_parameters": "an operator's choice of names in canonical URLs: ASCII",
    "fetches.address_budget": "an address, or a network of an operator's",
    "page_search.config": "a text search configuration of this Postgres",
}


def columns() -> Iterator[str]:
    """Columns that hold text: by itself, in a list, or within JSON."""
    for table in schema().tables.values():
        for column in table.columns:
            kind = column.type.item_type if isinstance(column.type, ARRAY) else column.type
            if isinstance(kind, Text | JSON):
                yield f"{table.name}.{column.name}"


def holding(tx: Connection, word: str) -> set[str]:
    """The columns in which some row holds the word."""
    found = set()
    for table, names in itertools.groupby(columns(), key=lambda name: name.partition(".")[0]):
        matches = {name: _match(schema().tables[table].c[name.partition(".")[2]]) for name in names}
        wanted = ", ".join(f'bool_or({match}) AS "{name}"' for name, match in matches.items())
        row = tx.execute(text(f"SELECT {wanted} FROM {table}"), {"word": word}).mappings().one()
        found |= {name for name, is_there in row.items() if is_there}
    return found


def _match(column: Column[object]) -> str:
    """A condition: the column holds :word."""
    if isinstance(column.type, ARRAY):
        return f":word = ANY({column.name})"
    if isinstance(column.type, JSON):  # JSONB too; wherever it stands
        return (
            f"jsonb_path_exists(CAST({column.name} AS jsonb), '$.** ? (@ == $word)', "
            "jsonb_build_object('word', CAST(:word AS text)))"
        )
    return f"strpos({column.name}, :word) > 0"


WORDS = st.text(st.characters(exclude_categories=()), max_size=30) | st.text("\x00\ud800\udfff\\u0a\"'", max_size=8)


@pytest.fixture
def place(engine: Engine) -> tuple[Engine, int, int]:
    crawl_id, host_id = make_crawl(engine, search=True), make_host(engine, "h")
    admit(engine, admission(host_id, crawl_id))
    return engine, host_id, crawl_id


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
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
        assert holding(tx, marked.replace("\0", "").encode("utf-8", "ignore").decode()) == set(columns()) - OURS.keys()
        tx.rollback()
