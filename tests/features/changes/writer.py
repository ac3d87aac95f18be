"""Processes that are killed with -9: one claims hosts and visits them, one does what beat does between them."""

import os
import random
import time

from app.admin import crawls
from app.beat import claim
from app.beat.finish import finish
from app.beat.promote import promote
from app.beat.sweep import sweep
from app.crawl.state.setup import make_engine, make_sender, make_worker
from app.crawl.visit.visit import visit
from app.errors import ServiceError
from app.store.host_rows import Offer
from tests.crawl.loop import make_settings


def main(database_url: str, name: str) -> None:
    _be_quiet()
    settings = make_settings(database_url, settle_urls=3)
    sender = make_sender(settings)
    worker = make_worker(settings, engine=make_engine(settings), send=sender.send, where=sender.where, name=name)
    while True:
        offers: list[Offer] = []
        try:
            claim.dispatch(worker.engine, settings, offers.extend, random.Random())
            for offer in offers:
                visit(worker, offer.host_id, offer.token)
            promote(worker.engine)
        except ServiceError:  # Postgres is away
            time.sleep(0.1)
        if not offers:
            time.sleep(0.02)


def beat(database_url: str, crawl: str) -> None:
    """End the crawl's rounds and begin new ones, and free the hosts of those that were killed, for ever."""
    _be_quiet()
    settings = make_settings(database_url)
    engine = make_engine(settings)
    while True:
        try:
            sweep(engine)
            finish(engine)
            crawls.go_round(engine, crawl, settings)
        except ServiceError:  # Postgres is away
            time.sleep(0.1)
        time.sleep(0.05)


def _be_quiet() -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
