"""The pages of a crawl twice: as its events tell them, and as they are."""

from sqlalchemy import Engine

from app.features.changes.feed import Feed
from app.features.changes.rows import PageChangeKind, PageEvent
from tests.store.rows import one, sql

LOOKS = 20_000
Pages = dict[str, bytes]  # digest of the text, by URL


def apply(pages: Pages, event: PageEvent) -> None:
    """Take an event in, as a reader does."""
    if event.kind in {PageChangeKind.GONE, PageChangeKind.WITHDRAWN}:
        pages.pop(event.url, None)
    else:
        assert event.text_sha256 is not None
        pages[event.url] = bytes(event.text_sha256)


def final(engine: Engine) -> None:
    """Return when all that was committed so far is final: another transaction of the server may hold it back."""
    mine = one(engine, "SELECT CAST(pg_current_xact_id() AS text)")
    for _ in range(LOOKS):
        if int(one(engine, "SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text)")) > int(mine):
            return
    raise AssertionError("a transaction does not end")


def rebuilt(engine: Engine, crawl_id: int) -> Pages:
    final(engine)
    pages: Pages = {}
    for event in Feed(engine, crawl_id).ready():
        apply(pages, event)
    return pages


def stored(engine: Engine, crawl_id: int) -> Pages:
    found = sql(
        engine,
        """SELECT p.url, p.text_sha256 FROM pages AS p JOIN urls AS u USING (host_id, crawl_id, key)
           WHERE p.crawl_id = :crawl_id AND u.gone_at IS NULL""",
        crawl_id=crawl_id,
    )
    return {row["url"]: bytes(row["text_sha256"]) for row in found}
