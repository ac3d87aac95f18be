"""Declares the tables of this feature: the links of pages, where a crawl keeps them."""

from sqlalchemy import BigInteger, Column, Identity, Index, LargeBinary, PrimaryKeyConstraint, Table, Text
from sqlalchemy.dialects.postgresql import JSON

from app.store.tables import NOW, Time, metadata

links = Table(
    "links",
    metadata,
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False, comment="of the page that has them"),
    Column("found_at", Time, nullable=False, server_default=NOW, comment="when the page was read"),
    Column("url", Text, nullable=False, comment="of the page"),
    Column("links", JSON, nullable=False, comment="in document order: to (as it would be sent), anchor, rel"),
    PrimaryKeyConstraint("found_at", "id"),
    Index("links_page", "host_id", "crawl_id", "found_at"),
    postgresql_partition_by="RANGE (found_at)",
    comment="Links of crawls that keep them, a row for each reading of a page. v_links has a row for each link.",
)
