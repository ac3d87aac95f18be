"""The list of processes for Prometheus."""

import pytest

from app.metrics.fleet import listed, role_of
from app.store.fleet import Serving, session_name

# role, listens at, port; address that Postgres sees, whether that is the asker's; as it is listed, None: it is not
PLACES = [
    ("worker", "127.0.0.1", 9190, None, True, "127.0.0.1:9190"),
    ("worker", "127.0.0.1", 9190, "10.0.0.7", True, "127.0.0.1:9190"),
    ("worker", "127.0.0.1", 9190, "10.0.0.7", False, None),  # the loopback of another machine
    ("beat", "*", 9190, "10.0.0.7", False, "10.0.0.7:9190"),
    ("beat", "*", 9190, None, True, "127.0.0.1:9190"),
    ("beat", "10.0.0.9", 9190, "10.0.0.7", False, "10.0.0.9:9190"),
    ("beat", "*", 9190, "fd00::7", False, "[fd00::7]:9190"),
    ("worker", "::1", 9190, "::1", True, "[::1]:9190"),
]


@pytest.mark.parametrize(("role", "listens", "port", "address", "is_near", "expected"), PLACES)
def test_a_process_is_listed_where_it_can_be_reached(
    role: str, listens: str, port: int, address: str | None, is_near: bool, expected: str | None
) -> None:
    name = session_name(role, listens, port)
    found = listed([Serving(name, address, is_near)])
    assert found == ([] if expected is None else [{"targets": [expected], "labels": {"role": role}}])
    assert role_of(name) == role
    assert len(name) <= 63  # NAMEDATALEN: Postgres would cut it


def test_roles_are_lists_of_their_own() -> None:
    names = [session_name("worker", "*", 2), session_name("beat", "*", 3), session_name("worker", "*", 1)]
    assert listed([Serving(name, None, True) for name in names]) == [
        {"targets": ["127.0.0.1:3"], "labels": {"role": "beat"}},
        {"targets": ["127.0.0.1:1", "127.0.0.1:2"], "labels": {"role": "worker"}},
    ]
