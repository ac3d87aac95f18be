"""A host that comes when a shared budget told it to has a ticket: the reason on its row says so, whatever the
detail."""

import pytest

from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up
from app.model import RestReason
from tests.crawl.loop import start
from tests.crawl.web import Web
from tests.store.rows import claim, sql

R = RestReason


@pytest.mark.parametrize(
    # why the host rested, more of it → it has a ticket
    ("reason", "detail", "has_ticket"),
    [
        (R.ADDRESS_BUDGET, "127.0.0.5", True),
        (R.DOMAIN_BUDGET, "example.test", True),
        (R.ALL_BUDGET, None, True),
        (R.NETWORK_RESTS, "127.0.0.0/8, refused", True),
        (R.PAGE_BUDGET, None, False),
        (R.QUIET_HOURS, None, False),
        (R.NOT_SENT, "an address budget", False),
        (R.OTHER, "address rests: refused", False),
        (None, None, False),
    ],
)
def test_a_ticket(worker: Worker, web: Web, reason: RestReason | None, detail: str | None, has_ticket: bool) -> None:
    start(worker, web.site().url())
    sql(
        worker.engine,
        """UPDATE hosts SET queue = 'host-00', next_fetch_at = now() - interval '1 minute',
                  resting_because = :reason, resting_detail = :detail""",
        reason=reason,
        detail=detail,
    )
    (offer,) = claim(worker.engine)
    visit = take_up(worker, offer.host_id, offer.token)
    assert visit is not None
    assert visit.start.has_ticket(visit.turn.requests) is has_ticket
    visit.turn.requests = 1
    assert visit.start.has_ticket(visit.turn.requests) is False, "a ticket is for one start"
