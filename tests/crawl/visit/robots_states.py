"""What is known of a robots.txt, and the end of its time."""

from app.crawl.state.worker import Worker
from tests.store.rows import one, sql


def expire(worker: Worker) -> None:
    """Every robots.txt is to be fetched anew, as if its time had passed."""
    sql(worker.engine, "UPDATE robots SET expires_at = now() - interval '1 second'")


def known(worker: Worker) -> str:
    return str(one(worker.engine, "SELECT availability FROM robots ORDER BY host_id LIMIT 1"))
