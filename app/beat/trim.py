"""Trim: keeps each crawl, and all of them together, at their caps (promise F7), by a sample of the frontier.

It sets the score that a link must exceed to be admitted to each crawl, and evicts the worst URLs beyond the cap at
hosts without a visit; visits do so at theirs. A settle counts nothing, so between two samples a crawl exceeds its cap
by the fleet's finds.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import structlog
from sqlalchemy import Engine

from app.config import Settings
from app.crawl.frontier import caps
from app.policy.candidate import floor, higher
from app.store import caps as store
from app.store import db, suppressions

_log = structlog.get_logger()


def trim(engine: Engine, settings: Settings) -> int:
    """Trim all crawls. Returns how many URLs were evicted. It does nothing where no crawl has a cap."""
    if not settings.caps_crawls:
        return 0
    with db.transaction(engine) as tx:
        percent = store.sample_percent(tx, blocks=1_024)  # some 20,000 URLs
        waiting = store.unfetched(tx, percent)
        asked = store.floors(tx)
    together = sum((Counter(here) for here in waiting.values()), Counter[float]())
    of_all = floor(together, settings.frontier_max)
    gone = 0
    for crawl_id, before in asked.items():
        here = waiting.get(crawl_id, {})
        now = higher(floor(here, settings.frontier_max_per_crawl), of_all)
        if now != before:
            with db.transaction(engine) as tx:
                store.admit_above(tx, crawl_id, now)
            _log.info("trim.floor", crawl=crawl_id, above=now)
        gone += db.repeat(
            partial(_thin, engine, settings, [crawl_id], sum(here.values()), settings.frontier_max_per_crawl, percent)
        )
    return gone + db.repeat(
        partial(_thin, engine, settings, list(asked), together.total() - gone, settings.frontier_max, percent)
    )


def _thin(
    engine: Engine, settings: Settings, crawl_ids: Sequence[int], waiting: int, cap: int | None, percent: float
) -> int:
    """Evict the worst URLs of these crawls beyond the cap. Returns how many."""
    if cap is None or waiting <= cap:
        return 0
    with db.transaction(engine) as tx:
        weakest = store.weakest_of(tx, crawl_ids, n=min(waiting - cap, 5_000), percent=percent)  # evictions a sample
        free = store.lock_unvisited(tx, {weak.host_id for weak in weakest})
        weakest = [weak for weak in weakest if weak.host_id in free]
        gone = caps.make_room(settings, tx, weakest)
        suppressions.note(tx, [caps.refusal(settings, weak, caps.OF_CRAWL) for weak in weakest if weak.where in gone])
        for host_id, n in Counter(host_id for host_id, _, _ in gone).items():
            store.swell(tx, host_id=host_id, n=-n)
    return len(gone)
