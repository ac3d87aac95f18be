"""What `bench fleet --machines` makes of the origin's log."""

import pytest

from bench.fleet_machines import judge
from bench.web import Line


def line(host: str, t: float, dt: float = 0.0) -> Line:
    return Line(t=t, dt=dt, host=host, addr=host, uri="/", status=200, conn=1)


def served(**requests: int) -> list[Line]:
    """So many requests to each host, two seconds apart."""
    return [line(host, 2.0 * number) for host, n in requests.items() for number in range(n)]


# requests to a, b and c → requests/s, the least host's share of the median's
@pytest.mark.parametrize(
    ("lines", "rate", "share"),
    [
        (served(a=10, b=10, c=10), 3.0, 1.0),
        (served(a=10, b=10, c=4), 2.4, 0.4),
        (served(a=10, b=20, c=10), 4.0, 1.0),
        (served(a=10, b=10), 2.0, 0.0),  # a host that the log does not name got nothing
        ([], 0.0, 0.0),
    ],
)
def test_a_host_gets_its_share(lines: list[Line], rate: float, share: float) -> None:
    found = judge(lines, ["a", "b", "c"], 10.0)
    assert (found["requests/s"], found["least/median"], found["violations"]) == (rate, share, 0)


# the second request's end and duration → violations, the least gap: from an end to the start that follows
@pytest.mark.parametrize(
    ("t", "dt", "violations", "gap"), [(1.5, 0.0, 0, 1.5), (1.5, 0.6, 1, 0.9), (0.999, 0.0, 0, 0.999)]
)
def test_a_gap_is_from_an_end_to_the_next_start(t: float, dt: float, violations: int, gap: float) -> None:
    found = judge([line("a", 0.0), line("a", t, dt), line("b", 0.5)], ["a", "b"], 10.0)
    assert (found["violations"], found["least gap"]) == (violations, gap)
