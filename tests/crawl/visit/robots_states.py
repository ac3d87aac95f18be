"""What is known of a robots.txt, and the end of its time."""

from app.crawl.state.worker import Kit
from tests.store.rows import one, sql


def expire(kit: Kit) -> None:
    """Every robots.txt is to be fetched anew, as if its time had passed."""
    sql(kit.engine, "UPDATE robots SET expires_at = now() - interval '1 second'")


def known(kit: Kit) -> str:
    return str(one(kit.engine, "SELECT availability FROM robots ORDER BY host_id LIMIT 1"))
