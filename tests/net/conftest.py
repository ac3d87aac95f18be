"""A hostile site and a sender that may talk to it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # pytest's import mode is importlib: nobody else does it

from tests.authority import Authority
from tests.net.hostile import IDENTITY, HostileServer
from tests.net.senders import Replying, loopback_sender


@pytest.fixture
def site() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture
def sender() -> Iterator[Replying]:
    sender = loopback_sender(IDENTITY)
    yield sender
    sender.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))
