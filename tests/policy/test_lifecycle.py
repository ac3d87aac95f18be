"""The tables are total over what the code does, and the diagrams in the docs are theirs."""

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

from app.features.schema import schema
from app.policy.lifecycle import (
    HOST_TRANSITIONS,
    URL_TRANSITIONS,
    HostEvent,
    HostState,
    UrlEvent,
    UrlState,
    diagram,
    said_state,
    url_after,
)

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    chain.from_iterable((ROOT / "app" / room).rglob("*.py") for room in ("admin", "beat", "crawl", "store"))
)


def test_every_event_and_state_is_in_a_row() -> None:
    assert {event for _, event in URL_TRANSITIONS} == set(UrlEvent)
    assert {event for _, event in HOST_TRANSITIONS} == set(HostEvent)
    assert {state for state, _ in URL_TRANSITIONS} == {None, *UrlState}, "no state is a trap: an operator can retry"
    assert {state for state, _ in HOST_TRANSITIONS} == set(HostState)


def test_every_state_can_be_reached() -> None:
    assert _reached(None, URL_TRANSITIONS) == {None, *UrlState}  # type: ignore[arg-type]
    assert _reached(HostState.IDLE, HOST_TRANSITIONS) == set(HostState)  # type: ignore[arg-type]


def test_every_state_leads_back_to_an_open_one() -> None:
    for state in UrlState:
        assert UrlState.QUEUED in _reached(state, URL_TRANSITIONS)  # type: ignore[arg-type]
    for host_state in HostState:
        assert HostState.IDLE in _reached(host_state, HOST_TRANSITIONS)  # type: ignore[arg-type]


def test_only_an_event_of_the_table_moves_a_url() -> None:
    """What the code concludes of a queued URL has a row, and every row from queued is concluded somewhere."""
    concluded = _events_named("conclude") | {UrlEvent.ALIASED, UrlEvent.SETTLED}
    concluded |= {UrlEvent.DEFERRED, UrlEvent.EVICTED}  # not of a fetch: app.crawl.frontier.caps
    rows = {event for state, event in URL_TRANSITIONS if state is UrlState.QUEUED}
    assert concluded <= rows
    assert rows == concluded


@pytest.mark.parametrize("event", list(UrlEvent))
def test_an_event_without_a_row_is_a_bug(event: UrlEvent) -> None:
    for state in (None, *UrlState):
        if URL_TRANSITIONS.get((state, event)) is not None:
            assert url_after(state, event) is URL_TRANSITIONS[state, event]
        else:
            with pytest.raises(KeyError):
                url_after(state, event)


@pytest.mark.parametrize(("table", "states"), [("urls", UrlState), ("hosts", HostState)])
def test_the_database_knows_the_same_states(table: str, states: type[UrlState] | type[HostState]) -> None:
    (check,) = (
        str(constraint.sqltext)  # type: ignore[attr-defined]
        for constraint in schema().tables[table].constraints
        if constraint.name == f"{table}_state_known" or str(constraint.name).endswith("state_known")
    )
    assert set(re.findall(r"'(\w+)'", check)) == {state.value for state in states}


def test_a_diagram_has_a_line_per_row() -> None:
    lines = diagram(URL_TRANSITIONS).splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert len(lines) == 1 + len(URL_TRANSITIONS)
    assert "    [*] --> queued: admitted" in lines
    assert "    taken --> idle: left" in diagram(HOST_TRANSITIONS).splitlines()


def _reached(start: object, transitions: dict[tuple[object, object], object]) -> set[object]:
    found, new = set(), {start}
    while new:
        found |= new
        new = {target for (state, _), target in transitions.items() if state in found} - found
    return found


def _events_named(function: str) -> set[UrlEvent]:
    """UrlEvent members that stand in calls of a function, anywhere in app.crawl."""
    found: set[UrlEvent] = set()
    for path in SOURCES:
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if function in source else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == function:
                for part in ast.walk(node):
                    if isinstance(part, ast.Attribute) and getattr(part.value, "id", "") == "UrlEvent":
                        found.add(UrlEvent[part.attr])
    return found


@pytest.mark.parametrize(
    ("state", "retrying", "is_fetched", "said"),
    [
        ("resting", False, True, "done"),
        ("resting", True, True, "retrying"),  # a page of an earlier round, whose recrawl failed
        ("resting", True, False, "retrying"),
        ("resting", False, False, "deferred"),
        ("gone", False, True, "gone"),
        ("queued", False, True, "queued"),
    ],
)
def test_a_page_that_was_fetched_is_said_to_be_done(state: str, retrying: bool, is_fetched: bool, said: str) -> None:
    assert said_state(state, retrying=retrying, is_fetched=is_fetched) == said
