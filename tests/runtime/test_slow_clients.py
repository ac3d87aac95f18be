"""Who loses a place: the late, and of the busiest address the oldest."""

import socket
from contextlib import closing

import pytest

from app.runtime.slow_clients import CROWD_TIMES, HEAD_S, YOUNG_S, SlowClients, WaitsFor, has_unread

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
        clients.wait(each, peer, 0.0)
    assert clients.due(0.0) == [], "what they have sent may not be read yet"
    assert clients.due(YOUNG_S) == closed
    assert clients.due(YOUNG_S) == []


def test_the_young_stay_while_others_go_and_in_a_crowd_they_do_not() -> None:
    clients: SlowClients[str] = SlowClients(most=1)
    clients.wait("old", "a", 0.0)
    clients.wait("young", "a", 1.0)
    clients.wait("younger", "a", 1.0)
    assert clients.due(1.0) == ["old"]
    for n in range(CROWD_TIMES):
        clients.wait(f"{n}", "a", 1.0)
    assert clients.due(1.0) == ["young", "younger", "0"]


def test_in_a_crowd_those_go_first_of_whom_half_a_request_was_read() -> None:
    clients: SlowClients[str] = SlowClients(most=1)
    for each in ("new", "half", "other half", "other new", "third half", "third new"):
        clients.wait(each, "a", 0.0)
    for each in ("half", "other half", "third half", "gone"):
        clients.begin(each)
    assert clients.due(0.0) == ["half", "other half", "third half"]


@pytest.mark.parametrize("now", [0.0, YOUNG_S, HEAD_S - 1])
def test_a_request_that_has_arrived_is_read_before_its_connection_is_chosen(now: float) -> None:
    clients: SlowClients[int] = SlowClients(most=1)
    for n in range(10):
        clients.wait(n, "a", 0.0)
    assert not {0, 3, 9} & set(clients.due(now, lambda each: each in {0, 3, 9}))
    clients.begin(3)
    assert 3 in clients.due(now + YOUNG_S, lambda each: each in {0, 3, 9}), "what was read of it is no request"


def test_kinds_of_waits_take_no_place_from_one_another() -> None:
    """Half heads close no connection that is kept alive, no form and no download; each of those has a number too."""
    clients: SlowClients[str] = SlowClients(most=2)
    for kind in WaitsFor:
        clients.wait(f"{kind}", "a", 0.0, kind)
    for n in range(100):
        clients.wait(f"half {n}", "a", 0.1)
        clients.begin(f"half {n}")
    closed = clients.due(HEAD_S - 1)
    assert closed == ["head", *(f"half {n}" for n in range(98))]
    for n in range(100):
        clients.wait(f"kept {n}", "a", 0.1, WaitsFor.NEXT)
    assert clients.due(HEAD_S - 1) == ["next", *(f"kept {n}" for n in range(100 - 2 * CROWD_TIMES))]


def test_a_crowd_is_told() -> None:
    clients: SlowClients[int] = SlowClients(most=3)
    for n in range(13):
        assert not clients.is_crowded
        clients.wait(n, "a", 0.0)
    assert clients.is_crowded


def test_the_late_are_named_once_and_those_whose_request_came_are_not() -> None:
    clients: SlowClients[str] = SlowClients(head_s=10.0, body_s=12.0)
    for each, kind in (("slow", WaitsFor.HEAD), ("whole", WaitsFor.HEAD), ("form", WaitsFor.BODY)):
        clients.wait(each, "a", 0.0, kind)
    assert clients.forget("whole")
    assert not clients.forget("whole")
    assert clients.due(9.9) == []
    assert clients.due(10.0) == ["slow"]
    assert clients.due(10.0) == []
    assert clients.due(12.0) == ["form"]


def test_octets_that_nobody_read_are_seen() -> None:
    ours, theirs = socket.socketpair()
    with closing(theirs):
        with closing(ours):
            assert not has_unread(ours.fileno())
            theirs.sendall(b"G")
            assert has_unread(ours.fileno())
            ours.recv(1)
            assert not has_unread(ours.fileno())
        assert not has_unread(ours.fileno()), "it is closed"
