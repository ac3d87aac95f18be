"""The tables of a visit and of its batch: every state is reached, ends are ends, and the code moves by them alone."""

import ast
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import pytest

from app.policy.lifecycle import (
    BATCH_TRANSITIONS,
    VISIT_TRANSITIONS,
    BatchEvent,
    BatchState,
    VisitEvent,
    VisitState,
    batch_after,
    visit_after,
)

APP = Path(__file__).parents[2] / "app"
Table = Mapping[tuple[StrEnum, StrEnum], StrEnum]
TABLES = [
    # table, states, events, where it begins, where it ends
    (
        VISIT_TRANSITIONS,
        VisitState,
        VisitEvent,
        VisitState.TAKEN,
        {VisitState.LEFT, VisitState.FENCED, VisitState.LOST},
    ),
    (BATCH_TRANSITIONS, BatchState, BatchEvent, BatchState.OPEN, {BatchState.SETTLED, BatchState.LOST}),
]


@pytest.mark.parametrize(("table", "states", "events", "first", "ends"), TABLES, ids=["visit", "batch"])
def test_a_table_is_whole(
    table: Table, states: type[StrEnum], events: type[StrEnum], first: StrEnum, ends: set[StrEnum]
) -> None:
    assert {event for _, event in table} == set(events)
    assert _reached(first, table) == set(states)
    for state in states:
        assert bool(_reached(state, table) & ends), "no state is a trap"
    assert {state for state in states if _reached(state, table) == {state}} == ends, "and from an end nothing leads on"


@pytest.mark.parametrize("event", list(VisitEvent))
@pytest.mark.parametrize("state", list(VisitState))
def test_a_visit_moves_by_its_table_alone(state: VisitState, event: VisitEvent) -> None:
    if (state, event) in VISIT_TRANSITIONS:
        assert visit_after(state, event) is VISIT_TRANSITIONS[state, event]
    else:
        with pytest.raises(KeyError):
            visit_after(state, event)


@pytest.mark.parametrize("event", list(BatchEvent))
@pytest.mark.parametrize("state", list(BatchState))
def test_a_batch_moves_by_its_table_alone(state: BatchState, event: BatchEvent) -> None:
    if (state, event) in BATCH_TRANSITIONS:
        assert batch_after(state, event) is BATCH_TRANSITIONS[state, event]
    else:
        with pytest.raises(KeyError):
            batch_after(state, event)


def test_the_code_says_every_event_and_sets_no_state() -> None:
    """States are set in the two `move` methods; each event of a table happens somewhere."""
    said, set_in = set(), set()
    for source, path in ((path.read_text(), path) for path in APP.rglob("*.py")):
        for node in ast.walk(ast.parse(source)) if "move(" in source or ".state" in source else ():
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "move":
                said |= {ast.unparse(argument) for argument in node.args}
            for target in node.targets if isinstance(node, ast.Assign) else []:
                if isinstance(target, ast.Attribute) and target.attr == "state":
                    set_in.add(str(path.relative_to(APP)))
    events = {f"{type(event).__name__}.{event.name}" for event in (*VisitEvent, *BatchEvent)}
    assert {each for each in said if each.startswith(("VisitEvent", "BatchEvent"))} == events
    assert {path for path in set_in if path.startswith("crawl/")} == {"crawl/state/visit.py", "crawl/state/batch.py"}


def _reached(start: StrEnum, table: Table) -> set[StrEnum]:
    found: set[StrEnum] = set()
    new = {start}
    while new:
        found |= new
        new = {target for (state, _), target in table.items() if state in found} - found
    return found
