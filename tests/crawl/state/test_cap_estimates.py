"""What a process remembers of hosts that links from elsewhere fill."""

from app.crawl.state.cap_estimates import FullHosts, Verdict


def test_a_host_is_told_when_there_is_much_to_tell() -> None:
    full = FullHosts(cap=640)
    assert full.quantum == 10
    assert full.due([(1, 4), (2, 9)]) == {}
    assert full.due([(1, 5), (2, 1)]) == {2: 10}
    assert full.due([(1, 1), (2, 1)]) == {1: 10}, "counted on from nothing once it was told"
    assert full.due([(3, 25)]) == {3: 25}


def test_without_a_cap_nobody_is_told() -> None:
    assert FullHosts().due([(1, 10_000_000)]) == {}


def test_the_least_cap_tells_each() -> None:
    assert FullHosts(cap=1).due([(1, 1)]) == {1: 1}


def test_a_verdict_holds_until_it_was_looked_at_anew() -> None:
    full = FullHosts(cap=640)
    assert full.is_empty
    assert full.floor(1, 0.0) is None
    full.judge(1, Verdict(floor=0.5, until=10.0))
    assert not full.is_empty
    full.due([(1, 3)])
    assert full.floor(1, 9.0) == 0.5
    assert full.due([]) == {}
    assert full.floor(1, 10.0) == 0.5, "out of date, but the best we know"
    assert full.due([(2, 1)]) == {1: 3}, "told what there was, and looked at"
    assert full.due([]) == {}
    full.judge(1, None)
    assert full.is_empty
    assert full.floor(1, 11.0) is None
