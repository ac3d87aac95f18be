"""A crawl's phase in a word: what is happening, and whether somebody has to do something."""

import pytest

from app.admin.board.pulse import Progress, phase_of

NOW = Progress(
    state="active",
    active_s=600,
    pages=500,
    requests=20,
    failed=2,
    running=2,
    is_served=True,
    queued=100,
    waits_for="delay",
)
UNSERVED = {"running": 0, "is_served": False}


def progress(**changes: object) -> Progress:
    fields = {name: getattr(NOW, name) for name in NOW.__slots__}
    return Progress(**{**fields, **changes})


# what differs from a crawl in full swing, its phase, whether it is trouble
@pytest.mark.parametrize(
    ("changes", "word", "is_trouble"),
    [
        ({}, "crawling", False),
        ({"pages": 0, "requests": 0, **UNSERVED, "active_s": 2, "waits_for": "due"}, "starting", False),
        ({"pages": 0, "requests": 0, **UNSERVED, "active_s": 90, "waits_for": "due"}, "no worker", True),
        ({"pages": 0, "requests": 0, "running": 0, "active_s": 90, "waits_for": "resting: x"}, "resting", False),
        ({"pages": 0, "requests": 0, "running": 1, "active_s": 2}, "first contact", False),
        ({"pages": 3, "active_s": 5}, "first pages", False),
        ({"pages": 3, "active_s": 500}, "crawling", False),
        ({"failed": 20}, "failing", True),
        ({"requests": 0, "waits_for": "delay"}, "waiting", False),
        ({"requests": 0, "running": 0, "waits_for": "resting: rate_limited"}, "resting", False),
        ({"requests": 0, "running": 1, "waits_for": "resting: rate_limited"}, "waiting", False),
        ({"requests": 0, "running": 0, "waits_for": "paused"}, "resting", False),
        ({"requests": 0, **UNSERVED, "waits_for": "offered"}, "no worker", True),
        ({"requests": 0, "running": 0, "waits_for": "offered"}, "waiting", False),
        ({"requests": 0, "running": 1, "waits_for": "due"}, "waiting", False),
        ({"requests": 0, "running": 0, "waits_for": None}, "quiet", False),
        ({"requests": 0, "queued": 0}, "ending", False),
        ({"requests": 0, "queued": 0, "keeps_fresh": True}, "up to date", False),
        ({"requests": 0, "stopped": "the disk is full"}, "stopped", True),
        ({"stopped": "another machine's disk is full"}, "crawling", False),
    ],
)
def test_a_phase_is_what_an_operator_would_say(changes: dict[str, object], word: str, is_trouble: bool) -> None:
    found = phase_of(progress(**changes))
    assert (found.word, found.is_trouble) == (word, is_trouble)
    assert found.means


def test_a_crawl_that_rests_says_why_and_until_when() -> None:
    changes = {"requests": 0, "running": 0, "waits_for": "resting: rate_limited", "next_s": 42.0}
    assert phase_of(progress(**changes)).means == (
        "most of its next hosts are resting: rate_limited; the first contact is in 42 s"
    )
