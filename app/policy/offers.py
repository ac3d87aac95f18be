"""Decides how many hosts each queue may be offered now: back-pressure, missed hosts before others, and a probe for a
queue that nobody serves.

A queue is *unserved* when its latest offer was missed and no offer of it was taken up since that one was made. It gets
one offer at a time, of the same host, and its offers do not count against the other queues. A queue without a history
gets an even share, so that queues without workers cannot use up the whole allowance before they are known to be
unserved.

Every moment is Postgres'. `unread` is the number of messages in the broker's queue: a queue full of unread messages
gets no further one, whatever the rows say.

While workers are short of time, offers are missed. A missed host is due anew, and would line up behind all others that
are due: at seven times the load that a fleet can serve, some hosts got a tenth of what the median host got. So missed
hosts are offered again first, those with the most misses in a row before the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOffers:
    """A queue's offers.

    standing   offers that are not taken up and not over
    missed_at  end of the latest offer that was missed, None: none lately
    served_at  when an offer was last taken up, None: not lately
    missed     missed hosts that are due: (offers missed in a row, id), the most first
    """

    standing: int = 0
    missed_at: datetime | None = None
    served_at: datetime | None = None
    missed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The hosts to claim now.

    capacity  hosts for each queue, in the order of the queues
    n         hosts in all
    again     missed hosts to offer again, by id"""

    capacity: dict[str, int]
    n: int
    again: list[int]


_UNKNOWN = QueueOffers()


def most(offers_max: int) -> int:
    """Offers that one queue may have standing, and messages that it may hold: a quarter of all offers."""
    return max(offers_max // 4, 1)


def is_unserved(line: QueueOffers, offer: timedelta) -> bool:
    """Whether no offer of this queue was taken up since the latest missed one was made."""
    if line.missed_at is None:
        return False
    return line.served_at is None or line.served_at < line.missed_at - offer


def plan(
    queues: Sequence[str],
    lines: Mapping[str, QueueOffers],
    unread: Mapping[str, int],
    *,
    offers_max: int,
    offer: timedelta,
) -> Plan:
    """Make the plan of one claim.

    queues  in the order in which they are served
    unread  messages in them, where the broker reports it
    offer   its length"""
    share = max(offers_max // len(queues), 1)
    capacity: dict[str, int] = {}
    again: list[int] = []
    n = offers_max
    for queue in queues:
        line = lines.get(queue, _UNKNOWN)
        free = most(offers_max) - unread.get(queue, 0)
        if not is_unserved(line, offer):
            n -= line.standing
            wanted = most(offers_max) if line.served_at is not None else min(share, most(offers_max))
            capacity[queue] = min(wanted - line.standing, free)
        elif line.standing == 0 and free > 0 and line.missed:
            again.append(line.missed[0][1])
        elif line.standing == 0 and free > 0:
            capacity[queue] = 1
    unserved = {queue for queue in capacity if is_unserved(lines.get(queue, _UNKNOWN), offer)}
    missed = [(*each, queue) for queue in capacity.keys() - unserved for each in lines.get(queue, _UNKNOWN).missed]
    for _, host_id, queue in sorted(missed, reverse=True):
        if n > 0 and capacity[queue] > 0:
            again.append(host_id)
            capacity[queue] -= 1
            n -= 1
    capacity = {queue: free for queue, free in capacity.items() if free > 0 and (n > 0 or queue in unserved)}
    return Plan(capacity=capacity, n=max(n, 0) + len(unserved), again=again)
