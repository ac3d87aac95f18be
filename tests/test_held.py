"""What the house holds beside lines: fields of a record, locks, threads, caches. The lists may only shrink.

A row of a table has the columns that it has, and settings are as many as there are.
"""

from collections.abc import Mapping

import pytest

from tests import house

FIELDS_MOST = 20
ROWS = "app.store."  # its records are rows

# record → its fields today
WIDE = {
    "app.admin.robots_report:Ruling": 26,
    "app.model.fetch:Capture": 22,
    "app.model.fetch:Reply": 21,
    "app.net.exchange:Exchange": 22,
}

# what a process waits on, starts or keeps → module and how often
HELD = {
    "locks": """
        app.beat.reread_pages app.celery_redis app.crawl.state.line:2
        app.crawl.state.lots:2 app.crawl.state.setup app.features.archive.keeper:2
        app.features.archive.recording app.features.archive.segment:2 app.features.archive.writer
        app.features.render.requests app.local.background
        app.net.adapter:2 app.net.dns:2 app.runtime.clock_tie
        app.runtime.delay_queue:3 app.runtime.group_commit app.runtime.intake:2 app.runtime.lru
        app.runtime.memory_gate app.runtime.once app.runtime.seats app.sandbox.child:2 app.single
        app.web.board app.web.pages.capture app.web.pages.export_form app.web.users workers.extract workers.visit:2
    """,
    "threads": """
        app.admin.extract app.beat.reread_pages app.browser.connection app.browser.requests
        app.features.archive.keeper app.features.render.serve app.local.background app.local.demo
        app.metrics.serve app.net.dns app.runtime.delay_queue app.runtime.once app.sandbox.child
        workers.visit workers.watchdog:2
    """,
    "caches": """
        app.clock app.crawl.state.slot app.crawl.visit.write app.features.archive.record:2
        app.features.extract.child app.features.near.likeness app.features.tables.rows app.net.address
        app.net.head:2 app.net.http app.parse.charset app.parse.html.names app.parse.html.survey
        app.parse.language app.plugins:2 app.policy.focus.novelty:2 app.policy.focus.profile
        app.policy.focus.profile_text app.policy.focus.shape app.policy.host:2 app.policy.identity
        app.policy.media_type app.policy.recrawl app.policy.robots_match app.policy.scope app.policy.tdm
        app.policy.url:2 app.policy.words app.runtime.process_name app.store.db:2 app.store.suppressions
    """,
}


def known(kind: str) -> dict[str, int]:
    return {name: int(count or 1) for name, _, count in (word.partition(":") for word in HELD[kind].split())}


def above(found: Mapping[str, int], most: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in found.items() if count > most.get(name, 0)}


def below(found: Mapping[str, int], most: Mapping[str, int]) -> list[str]:
    """Names whose number has shrunk: write the new one, or take it off the list."""
    return [name for name, count in most.items() if found.get(name, 0) < count]


def test_a_record_has_at_most_20_fields() -> None:
    wide = {name: n for name, n in house.records().items() if n > FIELDS_MOST and not name.startswith(ROWS)}
    assert above(wide, WIDE) == {}, "divide the record: its parts are made, and needed, at different places"
    assert below(wide, WIDE) == []


@pytest.mark.parametrize("kind", HELD)
def test_nothing_more_is_waited_on_started_or_kept(kind: str) -> None:
    found = house.held()[kind]
    assert above(found, known(kind)) == {}, f"do without, or use one of the {kind} that there are"
    assert below(found, known(kind)) == []


def test_the_lists_are_of_what_there_is() -> None:
    """They see what a module holds: a list that finds nothing would pass for ever."""
    assert house.held()["locks"]["app.sandbox.child"] == 2
    assert above({"a": 2, "b": 1}, {"a": 1, "b": 1}) == {"a": 2}
    assert below({"a": 1}, {"a": 2, "b": 1}) == ["a", "b"]
