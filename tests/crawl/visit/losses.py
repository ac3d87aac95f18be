"""Ways in which a visit loses its lease or its worker."""

from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from app.beat import claim
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import visit
from app.model import Reply, Request, Unsent
from app.store.host_rows import Offer
from tests.store.rows import sql


class Killed(BaseException):
    """Stands for kill -9: nothing of ours runs any more."""


def offers(worker: Worker) -> list[Offer]:
    found: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, found.extend, worker.rng)
    return found


def run_out(engine: Engine) -> None:
    """Every lease ended a minute ago, and the delay after it is over."""
    sql(
        engine,
        """UPDATE hosts SET lease_until = now() - interval '1 minute', next_fetch_at = now() - interval '59 s'
           WHERE lease_token IS NOT NULL""",
    )


def steal(engine: Engine) -> None:
    """The lease ran out under a visit that hangs, and somebody else claimed the host."""
    sql(
        engine,
        "UPDATE hosts SET lease_token = :token, taken_at = NULL, state = 'offered' WHERE state = 'taken'",
        token=str(uuid4()),
    )


def crash_at(worker: Worker, path: str) -> Worker:
    """A worker that dies when it is about to send this."""

    def send(request: Request) -> Reply | Unsent:
        if request.url.endswith(path):
            raise Killed
        return worker.send(request)

    return replace(worker, send=send)


def crash(worker: Worker, path: str) -> None:
    """Claim, visit, die, and let the lease run out."""
    for offer in offers(worker):
        with pytest.raises(Killed):
            visit(crash_at(worker, path), offer.host_id, offer.token)
    run_out(worker.engine)
