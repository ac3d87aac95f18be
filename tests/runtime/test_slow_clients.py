"""Who loses a place: the late, and of the busiest address the oldest."""

import pytest

from app.runtime.slow_clients import CROWD_TIMES, YOUNG_S, SlowClients

# (connection, peer) in the order in which they come; those that are closed, where three may wait
ROWS = [
    ([("a1", "a"), ("a2", "a"), ("a3", "a")], []),
    ([("a1", "a"), ("a2", "a"), ("a3", "a"), ("a4", "a")], ["a1"]),
    ([("b1", "b"), ("a1", "a"), ("a2", "a"), ("a3", "a")], ["a1"]),
    ([("b1", "b"), ("a1", "a"), ("a2", "a"), ("a3", "a"), ("a4", "a"), ("c1", "c")], ["a1", "a2", "a3"]),
    ([("a1", "a"), ("b1", "b"), ("c1", "c"), ("d1", "d")], ["a1"]),
    ([("b1", "b"), ("a1", "a"), ("b2", "b"), ("a2", "a"), ("c1", "c"), ("d1", "d")], ["b1", "a1", "b2"]),
    ([("a1", "a"), ("a2", "a"), ("a1", "a"), ("a3", "a"), ("a4", "a")], ["a2"]),
]


@pytest.mark.parametrize(("come", "closed"), ROWS)
def test_the_busiest_address_loses_its_oldest(come: list[tuple[str, str]], closed: list[str]) -> None:
    clients: SlowClients[str] = SlowClients(most=3)
    for each, peer in come:
        clients.wait(each, peer, 0.0, 10.0)
    assert clients.due(0.0) == [], "what they have sent may not be read yet"
    assert clients.due(YOUNG_S) == closed
    assert clients.due(YOUNG_S) == []


def test_the_young_stay_while_others_go_and_in_a_crowd_they_do_not() -> None:
    clients: SlowClients[str] = SlowClients(most=1)
    clients.wait("old", "a", 0.0, 10.0)
    clients.wait("young", "a", 1.0, 10.0)
    clients.wait("younger", "a", 1.0, 10.0)
    assert clients.due(1.0) == ["old"]
    for n in range(CROWD_TIMES):
        clients.wait(f"{n}", "a", 1.0, 10.0)
    assert clients.due(1.0) == ["young", "younger", "0", "1", "2"]


def test_a_crowd_is_told() -> None:
    clients: SlowClients[int] = SlowClients(most=3)
    for n in range(13):
        assert not clients.is_crowded
        clients.wait(n, "a", 0.0, 10.0)
    assert clients.is_crowded


def test_the_late_are_named_once_and_those_whose_request_came_are_not() -> None:
    clients: SlowClients[str] = SlowClients()
    for each, until in (("slow", 10.0), ("whole", 10.0), ("new", 12.0)):
        clients.wait(each, "a", 0.0, until)
    assert clients.forget("whole")
    assert clients.due(9.9) == []
    assert clients.due(10.0) == ["slow"]
    assert clients.due(10.0) == []
    assert clients.due(12.0) == ["new"]
