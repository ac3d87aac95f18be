"""How many hosts a queue may be offered."""

from datetime import UTC, datetime, timedelta

import pytest

from app.policy.offers import QueueOffers, is_unserved, most, plan

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
OFFER = timedelta(seconds=10)
NAMES = [f"host-{number:02d}" for number in range(32)]
SERVED = QueueOffers(served_at=NOW)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


# missed and taken up so many seconds ago, unserved?
ROWS = [
    (None, None, False),
    (None, 5, False),
    (5, None, True),
    (5, 20, True),  # taken up before the missed offer was made
    (5, 14, False),  # taken up while it stood
    (5, 1, False),
]


@pytest.mark.parametrize(("missed_s", "served_s", "unserved"), ROWS)
def test_a_queue_is_unserved_when_nothing_was_taken_up_since_its_missed_offer(
    missed_s: float | None, served_s: float | None, unserved: bool
) -> None:
    line = QueueOffers(
        missed_at=None if missed_s is None else ago(missed_s), served_at=None if served_s is None else ago(served_s)
    )
    assert is_unserved(line, OFFER) is unserved


# the line, unread messages; room, missed hosts to offer again
ROOMS = [
    (QueueOffers(), 0, 4, []),  # nothing known: an even share of 128
    (QueueOffers(standing=3), 0, 1, []),
    (SERVED, 0, 32, []),
    (QueueOffers(standing=30, served_at=NOW), 0, 2, []),
    (QueueOffers(standing=32, served_at=NOW), 0, None, []),
    (SERVED, 31, 1, []),  # messages that nobody read
    (SERVED, 32, None, []),
    (QueueOffers(missed_at=ago(1)), 0, 1, []),  # the missed host is not due: another one
    (QueueOffers(missed_at=ago(1), missed=((1, 7),)), 0, None, [7]),
    (QueueOffers(missed_at=ago(1), missed=((1, 7),)), 31, None, [7]),
    (QueueOffers(missed_at=ago(1), missed=((1, 7),)), 32, None, []),  # full of messages that nobody read
    (QueueOffers(served_at=NOW, missed=((2, 7), (1, 8))), 0, 30, [7, 8]),  # short of time: these before others
    (QueueOffers(served_at=NOW, missed=((2, 7), (1, 8))), 31, None, [7]),
    (QueueOffers(missed_at=ago(1), standing=1, missed=((1, 7),)), 0, None, []),
]


@pytest.mark.parametrize(("line", "unread", "room", "again"), ROOMS)
def test_what_a_queue_is_offered(line: QueueOffers, unread: int, room: int | None, again: list[int]) -> None:
    found = plan(NAMES, {"host-05": line}, {"host-05": unread}, offers_max=128, offer=OFFER)
    assert (found.capacity.get("host-05"), found.again) == (room, again)
    assert found.capacity["host-06"] == 4


@pytest.mark.parametrize(("standing", "n"), [(0, 128), (1, 127), (127, 1), (128, 0), (500, 0)])
def test_offers_that_stand_count_for_all_queues(standing: int, n: int) -> None:
    found = plan(["a", "b"], {"a": QueueOffers(standing=standing, served_at=NOW)}, {}, offers_max=128, offer=OFFER)
    assert found.n == n
    assert bool(found.capacity) is (n > 0)


def test_what_missed_most_offers_is_offered_first_whatever_its_queue() -> None:
    lines = {
        "a": QueueOffers(standing=62, served_at=NOW),
        "b": QueueOffers(standing=31, served_at=NOW, missed=((9, 1), (8, 2))),  # room for one
        "c": QueueOffers(standing=31 + 1, served_at=NOW, missed=((7, 3),)),  # no room
        "d": QueueOffers(served_at=NOW, missed=((5, 4), (1, 5))),
        "e": QueueOffers(served_at=NOW, missed=((3, 6),)),
    }
    found = plan(list(lines), lines, {}, offers_max=128, offer=OFFER)
    assert (found.again, found.n, found.capacity) == ([1, 4, 6], 0, {})


def test_offers_of_an_unserved_queue_count_for_nobody() -> None:
    lines = {name: QueueOffers(standing=32, missed_at=ago(1)) for name in NAMES[:16]}
    found = plan(NAMES, lines, {}, offers_max=128, offer=OFFER)
    assert (found.n, set(found.capacity)) == (128, set(NAMES[16:]))


def test_an_unserved_queue_is_probed_while_the_others_are_full() -> None:
    lines = {"a": QueueOffers(standing=128, served_at=NOW), "b": QueueOffers(missed_at=ago(1)), "c": SERVED}
    found = plan(["a", "b", "c"], lines, {}, offers_max=128, offer=OFFER)
    assert (found.capacity, found.n) == ({"b": 1}, 1)


def test_the_order_of_the_queues_is_kept() -> None:
    assert list(plan(["c", "a", "b"], {}, {}, offers_max=128, offer=OFFER).capacity) == ["c", "a", "b"]


@pytest.mark.parametrize(("offers_max", "queues", "room"), [(1, 1, 1), (2, 32, 1), (128, 1, 32), (128, 250, 1)])
def test_every_queue_has_room_for_one(offers_max: int, queues: int, room: int) -> None:
    names = [f"q{number}" for number in range(queues)]
    assert set(plan(names, {}, {}, offers_max=offers_max, offer=OFFER).capacity.values()) == {room}
    assert most(offers_max) >= 1
