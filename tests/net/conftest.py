"""A hostile site and a sender that may talk to it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # pytest's import mode is importlib: nobody else does it

from app.net.address import make_guard
from app.net.dns import Resolver
from tests.net.hostile import IDENTITY, LOOPBACK, HostileServer
from tests.net.replying import Replying


@pytest.fixture
def site() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture
def sender() -> Iterator[Replying]:
    sender = Replying(headers=IDENTITY, guard=make_guard(LOOPBACK), resolver=Resolver(), require_contact=False)
    yield sender
    sender.close()
