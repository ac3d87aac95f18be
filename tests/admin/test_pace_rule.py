"""Which rule holds a host's pace back: of its own delay and the budgets that it shares, the longer one."""

import pytest

from app.admin.waiting import pace_rule
from tests.web.served import settings_of

HOST = {
    "name": "www.example.org",
    "delay_s": 1.0,
    "delay_override_s": None,
    "robots_delay_s": None,
    "address": "127.0.0.9/32",
}
# what the host's row has, settings, an operator's delay for its domain, seconds, words of the rule
ROWS: list[tuple[dict[str, object], dict[str, object], float | None, float, str]] = [
    ({}, {}, None, 1.0, "the usual delay (TIPTOE_DEFAULT_DELAY_S, --delay)"),
    ({"delay_s": 0.1}, {"default_delay_s": 0.1}, None, 0.5, "the gap of its address (TIPTOE_ADDRESS_GAP_S)"),
    ({"delay_s": 0.1, "robots_delay_s": 0.1}, {}, None, 0.5, "the gap of its address (TIPTOE_ADDRESS_GAP_S)"),
    ({"delay_s": 0.1, "robots_delay_s": 0.1}, {"address_gap_s": 0}, None, 0.1, "the Crawl-delay of its robots.txt"),
    (
        {"delay_s": 0.1, "address": None},
        {"default_delay_s": 0.1},
        None,
        0.1,
        "the usual delay (TIPTOE_DEFAULT_DELAY_S, --delay)",
    ),
    ({"delay_s": 7.0, "robots_delay_s": 7.0}, {}, None, 7.0, "the Crawl-delay of its robots.txt"),
    (
        {"delay_s": 9.0, "robots_delay_s": 70.0},
        {"crawl_delay_max_s": 9},
        None,
        9.0,
        "the Crawl-delay of its robots.txt, capped at a day",
    ),
    ({"delay_s": 3.0, "delay_override_s": 3.0, "robots_delay_s": 7.0}, {}, None, 3.0, "an operator's delay for it"),
    ({"delay_s": 4.0, "robots_delay_s": 7.0}, {}, 4.0, 4.0, "an operator's delay for its domain"),
    (
        {"delay_s": 30.0},
        {"delay_override_s": 30},
        None,
        30.0,
        "the least delay of every host (TIPTOE_DELAY_OVERRIDE_S)",
    ),
    (
        {"delay_s": 64.0},
        {},
        None,
        64.0,
        "the usual delay (TIPTOE_DEFAULT_DELAY_S, --delay) of 1 s, made longer by how it answers",
    ),
    ({}, {"front_gaps_s": "127.0.0.0/24=2"}, None, 2.0, "the gap of the network 127.0.0.0/24 (TIPTOE_FRONT_GAPS_S)"),
    (
        {"delay_s": 0.1},
        {"front_gaps_s": "127.0.0.0/24=0.02", "default_delay_s": 0.1},
        None,
        0.1,
        "the usual delay (TIPTOE_DEFAULT_DELAY_S, --delay)",
    ),
    ({}, {"domain_gap_s": 3}, None, 3.0, "the gap of its domain (TIPTOE_DOMAIN_GAP_S)"),
    ({"name": "127.0.0.9"}, {"domain_gap_s": 3}, None, 1.0, "the usual delay (TIPTOE_DEFAULT_DELAY_S, --delay)"),
    (
        {},
        {"requests_per_s_max": 0.1},
        None,
        10.0,
        "the fleet's ceiling of 0.1 requests a second (TIPTOE_REQUESTS_PER_S_MAX)",
    ),
]


@pytest.mark.parametrize(("row", "settings", "domain_delay_s", "seconds", "rule"), ROWS)
def test_the_longer_one_rules_and_is_named(
    row: dict[str, object], settings: dict[str, object], domain_delay_s: float | None, seconds: float, rule: str
) -> None:
    found = pace_rule(HOST | row, settings_of("postgresql://localhost/none", **settings), domain_delay_s=domain_delay_s)
    assert found == (seconds, rule)
