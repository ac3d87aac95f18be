"""Hosts that share an address, at a distance: the scenes of `bench shared`, shorter, as a user's crawl at default
settings.

The quick form asks for what no load of the machine can take away: every host is served, no gap is short, and at most
one connection a host brings nothing. The long form has the bench's scenes and its bars.
"""

import pytest

from bench import shared_address
from bench.shared_address import Scene
from tests.faults.pace import IS_LONG, quick_or_long

pytestmark = pytest.mark.faults
SECONDS = quick_or_long(15.0, shared_address.SECONDS)
UNUSED_MOST = 1


# names on one address, seconds of a handshake, whether its servers close after each answer
@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(shared_address.shared(5, 0.06, seconds=SECONDS), id="kept"),
        pytest.param(shared_address.shared(5, 0.06, closes="told", seconds=SECONDS), id="closed"),
        pytest.param(shared_address.shared(5, 0.06, closes="untold", seconds=SECONDS), id="closed untold"),
        pytest.param(
            shared_address.front(quick_or_long(100, 500), seconds=quick_or_long(15.0, shared_address.FRONT_SECONDS)),
            id="front",
        ),
    ],
)
def test_hosts_that_share_a_budget_are_all_served(scene: Scene) -> None:
    seen = shared_address.play(scene)
    assert set(seen.requests) == {site.name for site in scene.sites}, seen.row
    assert (seen.short, seen.host_violations, seen.at_once) == (0, 0, 1), seen.row
    assert max(seen.unused.values(), default=0) <= UNUSED_MOST, seen.row
    assert not IS_LONG or seen.used >= scene.bar, seen.row
