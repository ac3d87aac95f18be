"""A broker that answers, that is not there, and that is connected to and says nothing, as one that is stopped."""

import socket
import time
from contextlib import closing

from app.runtime.broker import BrokerProbe

BOUND_S = 0.3
SLACK_S = 20.0  # of a busy machine; who is not bounded takes 30 s or never ends


def test_a_broker_that_answers(broker_url: str) -> None:
    assert BrokerProbe(broker_url, within_s=10.0).why_not() is None


def test_a_broker_that_is_not_there_is_told_at_once() -> None:
    began = time.monotonic()
    assert "refused" in str(BrokerProbe("redis://127.0.0.1:1/0", within_s=30.0).why_not())
    assert time.monotonic() - began < SLACK_S


def test_a_broker_that_hangs_takes_no_longer_than_the_bound() -> None:
    """Its client would try ten times, with a wait between: a probe would never end, and neither would a page."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        probe = BrokerProbe(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", within_s=BOUND_S)
        began = time.monotonic()
        for _ in range(3):
            assert isinstance(probe.why_not(), TimeoutError)
        assert time.monotonic() - began < SLACK_S
