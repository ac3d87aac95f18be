"""A request that waits for its start between connecting and sending: what becomes of its connection, and what is told
of it."""

from collections.abc import Iterator

import pytest

from app.clock import monotonic
from app.model import Reply, Request, Unsent
from app.net.adapter import GuardedAdapter
from app.net.http import Sender
from tests.net.hostile import IDENTITY, HostileServer, page
from tests.net.senders import dialler_to


@pytest.fixture
def sender() -> Iterator[Sender]:
    """One that may leave a request unsent."""
    sender = Sender(GuardedAdapter(dialler_to()), IDENTITY)
    yield sender
    sender.close()


class Gate:
    """Opens as told, in order; the last word counts on. before: what happens while a request waits here."""

    def __init__(self, *opens: bool, before: object = None) -> None:
        self._opens = list(opens)
        self._before = before
        self.asked = 0
        self.late: list[bool] = []
        self.sent_s: list[float] = []

    def open(self) -> bool:
        self.asked += 1
        if callable(self._before):
            self._before(self.asked)
        return self._opens.pop(0) if len(self._opens) > 1 else self._opens[0]

    def is_late(self) -> bool:
        return bool(self.late and self.late.pop(0))

    def sent(self, at_s: float) -> None:
        self.sent_s.append(at_s)


def test_the_connection_is_made_before_the_start_and_the_request_begins_with_it(
    site: HostileServer, sender: Sender
) -> None:
    site.answers["/"] = page()
    opened: list[float] = []

    def waits(_: int) -> None:
        assert site.accepted.acquire(timeout=30), "connected while it waits"
        assert site.heads == [], "and nothing was sent"
        opened.append(monotonic())

    gate = Gate(True, before=waits)
    reply = sender.send(Request(url=site.url("/"), gate=gate))
    assert isinstance(reply, Reply)
    assert (reply.status, gate.asked, site.connections) == (200, 1, 1)
    assert reply.contacted_s is not None
    assert reply.connect_ms is not None
    assert reply.contacted_s < opened[0] <= reply.started_s <= gate.sent_s[0]
    assert reply.sent_s == gate.sent_s[0]


def test_at_a_gate_that_does_not_open_nothing_is_sent_and_no_connection_is_left(
    site: HostileServer, sender: Sender
) -> None:
    site.answers["/"] = page()
    unsent = sender.send(Request(url=site.url("/"), gate=Gate(False)))
    assert isinstance(unsent, Unsent)
    assert unsent.contacted_s is not None
    assert (unsent.address, unsent.connect_ms is None) == (site.address, False)
    assert site.hung_up.acquire(timeout=30)
    assert site.heads == []


def test_a_connection_that_has_served_is_kept_though_the_gate_does_not_open(
    site: HostileServer, sender: Sender
) -> None:
    site.answers["/"] = page()
    sender.send(Request(url=site.url("/")))
    unsent = sender.send(Request(url=site.url("/"), gate=Gate(False)))
    assert isinstance(unsent, Unsent)
    assert unsent.contacted_s is None, "it was reported with the request that it served"
    sender.send(Request(url=site.url("/"), gate=Gate(True)))
    assert (site.connections, len(site.heads)) == (1, 2)


def test_a_request_that_is_late_keeps_its_connection_for_the_next_start(site: HostileServer, sender: Sender) -> None:
    """Late between connecting and sending, as on a slow road: the start is lost, not the handshake."""
    site.answers["/"] = page()
    passed = monotonic() + 0.05

    class Slow(Gate):
        def open(self) -> bool:
            while monotonic() <= passed:
                pass
            return super().open()

    sender.send(Request(url=site.url("/"), gate=Slow(True), not_after=passed))
    assert len(site.heads) == 1, "not_after is for coming to the gate"
    late = sender.send(Request(url=site.url("/"), not_after=monotonic() - 1))
    assert isinstance(late, Unsent)
    reply = sender.send(Request(url=site.url("/")))
    assert isinstance(reply, Reply)
    assert reply.status == 200
    assert site.connections == 1


def test_a_server_that_closes_while_the_start_is_waited_for_is_connected_anew_and_waited_for_anew(
    site: HostileServer, sender: Sender
) -> None:
    site.answers["/"] = page()

    def hangs_up(times: int) -> None:
        if times == 1:
            site.hang_up_all()

    gate = Gate(True, before=hangs_up)
    reply = sender.send(Request(url=site.url("/"), gate=gate))
    assert isinstance(reply, Reply)
    assert (reply.status, gate.asked, site.connections, len(site.heads)) == (200, 2, 2, 1)


def test_a_thread_that_was_held_up_after_its_start_waits_for_another(site: HostileServer, sender: Sender) -> None:
    site.answers["/"] = page()
    gate = Gate(True)
    gate.late = [True, False]
    reply = sender.send(Request(url=site.url("/"), gate=gate))
    assert isinstance(reply, Reply)
    assert (reply.status, gate.asked, site.connections, len(gate.sent_s)) == (200, 2, 1, 2)


def test_a_server_that_closes_each_time_is_given_up(site: HostileServer, sender: Sender) -> None:
    gate = Gate(True, before=lambda _: site.hang_up_all())
    unsent = sender.send(Request(url=site.url("/"), gate=gate))
    assert isinstance(unsent, Unsent)
    assert (gate.asked, site.heads) == (3, [])


def test_the_wait_at_the_gate_is_no_part_of_the_deadline(site: HostileServer, sender: Sender) -> None:
    site.answers["/"] = page()
    until = monotonic() + 1.2

    class Slow(Gate):
        def open(self) -> bool:
            while monotonic() < until:
                pass
            return super().open()

    reply = sender.send(Request(url=site.url("/"), gate=Slow(True), deadline_s=1.0))
    assert isinstance(reply, Reply)
    assert reply.status == 200, reply.detail
