"""A crawl's phase in a word: what is happening, and whether somebody has to do something."""

import pytest

from app.admin.board.phase import Progress, phase_of

NOW = Progress(state="active", active_s=600, pages=500, requests=20, running=2, queued=100, waits_for="delay")


def progress(**changes: object) -> Progress:
    fields = {name: getattr(NOW, name) for name in NOW.__slots__}
    return Progress(**{**fields, **changes})


# what differs from a crawl in full swing, its phase, whether it is trouble
@pytest.mark.parametrize(
    ("changes", "word", "is_trouble"),
    [
        ({}, "crawling", False),
        ({"pages": 0, "requests": 0, "running": 0, "active_s": 2, "waits_for": "due"}, "starting", False),
        ({"pages": 0, "requests": 0, "running": 0, "active_s": 90, "waits_for": "due"}, "no worker", True),
        ({"pages": 0, "requests": 0, "running": 1, "active_s": 2}, "first contact", False),
        ({"pages": 3, "active_s": 5}, "first pages", False),
        ({"pages": 3, "active_s": 500}, "crawling", False),
        ({"requests": 0, "waits_for": "delay"}, "waiting", False),
        ({"requests": 0, "running": 0, "waits_for": "resting: rate_limited"}, "resting", False),
        ({"requests": 0, "running": 0, "waits_for": "paused"}, "resting", False),
        ({"requests": 0, "running": 0, "waits_for": "offered"}, "no worker", True),
        ({"requests": 0, "running": 1, "waits_for": "due"}, "waiting", False),
        ({"requests": 0, "running": 0, "waits_for": None}, "quiet", False),
        ({"requests": 0, "queued": 0}, "ending", False),
        ({"stopped": "the disk is full"}, "stopped", True),
    ],
)
def test_a_phase_is_what_an_operator_would_say(changes: dict[str, object], word: str, is_trouble: bool) -> None:
    found = phase_of(progress(**changes))
    assert (found.word, found.is_trouble) == (word, is_trouble)
    assert found.means
