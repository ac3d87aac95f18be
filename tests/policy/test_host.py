from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.policy.host import queue_for, registrable_domain


@pytest.mark.parametrize(
    ("host", "queues", "queue"),
    [
        # frozen: a release that maps hosts anew would scatter every warm connection
        ("123456789", 32, "host-06"),  # CRC-32's check value: 0xCBF43926
        ("123456789", 250, "host-12"),
        ("example.org", 32, "host-31"),
        ("example.org", 250, "host-37"),
        ("www.example.org", 32, "host-29"),
        ("[::1]", 32, "host-31"),
        ("example.org", 1, "host-00"),
    ],
)
def test_ours_queue_is_stable(host: str, queues: int, queue: str) -> None:
    assert queue_for(host, queues) == queue


def test_ours_queues_are_shared_out_evenly() -> None:
    counts = Counter(queue_for(f"site-{number}.example.org", 32) for number in range(3_200))
    assert sorted(counts) == [f"host-{number:02d}" for number in range(32)]
    assert max(counts.values()) < 2 * min(counts.values())


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.org", "example.org"),
        ("a.b.example.org", "example.org"),
        ("www.example.co.uk", "example.co.uk"),
        ("xn--e1afmkfd.xn--p1ai", "xn--e1afmkfd.xn--p1ai"),
        ("me.github.io", "me.github.io"),  # the private section: each has an owner of its own
        ("a.me.github.io", "me.github.io"),
        ("github.io", None),
        ("a.b.blogspot.com", "b.blogspot.com"),
        ("x.s3.amazonaws.com", "x.s3.amazonaws.com"),
        ("a.test", "a.test"),  # no such suffix in the list: its rule "*"
        ("b.a.test", "a.test"),
        ("co.uk", None),
        ("com", None),
        ("localhost", None),
        ("127.0.0.1", None),
        ("[2001:db8::1]", None),
        ("a..test", None),
        ("", None),
    ],
)
def test_ours_registrable_domain(host: str, domain: str | None) -> None:
    assert registrable_domain(host) == domain


@settings(deadline=None)  # the first call loads the list
@given(st.lists(st.sampled_from(["a", "www", "com", "co", "uk", "test", "ck", "1", ""]), min_size=1, max_size=5))
def test_ours_domain_is_its_own_domain(labels: list[str]) -> None:
    host = ".".join(labels).rstrip(".")
    domain = registrable_domain(host)
    if domain is not None:
        assert host == domain or host.endswith(f".{domain}")
        assert registrable_domain(domain) == domain
