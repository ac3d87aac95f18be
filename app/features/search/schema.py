"""Declares the tables of this feature: words of pages, and those to index."""

from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Index, LargeBinary, PrimaryKeyConstraint, Table, Text
from sqlalchemy.dialects.postgresql import TSVECTOR

from app.store.tables import Time, identity, metadata

page_search = Table(
    "page_search",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("config", Text, nullable=False, comment="text search configuration that stemmed it: simple, english, …"),
    Column("changed_at", Time, nullable=False, comment="of the page: the newest matches are ranked"),
    Column("digest", BigInteger, nullable=False, comment="of the text that was indexed: equal ones are left alone"),
    Column("words", TSVECTOR, nullable=False, comment="title (A), description (B), main text (D)"),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    ForeignKeyConstraint(
        ["host_id", "crawl_id", "key"],
        ["pages.host_id", "pages.crawl_id", "pages.key"],
        ondelete="CASCADE",
    ),
    Index("page_search_words", "words", postgresql_using="gin"),
    Index("page_search_newest", "crawl_id", "changed_at"),
    comment="Words of pages, for tiptoe search: of crawls that ask for it. Written by beat, after the page.",
)

search_queue = Table(
    "search_queue",
    metadata,
    identity(),
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    comment="Pages to be indexed for tiptoe search, the oldest first; a page may be there twice.",
)
