"""The estimate of what a page takes, its bounds, and what is left out."""

import pytest

from app.browser.values import ResourceKind
from app.features.render import turn as limits

PAGE = (
    b"<script src=a.js></script><script>inline()</script><SCRIPT async src='b.js'></SCRIPT><link rel=stylesheet href=c>"
)


@pytest.mark.parametrize(
    # delay, wall, lease; seconds that the page gets, and whether styles are left out
    ("delay_s", "wall_s", "lease_s", "gets_s", "leaves_out"),
    [
        (0.0, 30, 60, 30, False),
        (1.0, 30, 60, 30, False),
        (8.0, 30, 60, 37, False),
        (20.0, 30, 60, 45, True),
        (60.0, 30, 20, 5, True),
    ],
)
def test_a_slow_host_gets_longer_as_far_as_its_lease(
    delay_s: float, wall_s: float, lease_s: float, gets_s: float, leaves_out: bool
) -> None:
    expected = limits.estimate(PAGE, delay_s=delay_s)
    assert (expected.scripts, expected.styles) == (2, 1)
    found = limits.bounds_for(expected, wall_s=wall_s, requests=7, lease_s=lease_s)
    assert (found.wall_s, found.requests) == (gets_s, 7)
    assert (ResourceKind.STYLESHEET in limits.unwanted_by(expected, found)) is leaves_out
