"""Declares the tables of this feature: likenesses of pages."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Identity,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
)

from app.store.tables import NOW, Time, metadata

duplicates = Table(
    "duplicates",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("url", Text, nullable=False),
    Column(
        "kind",
        Text,
        nullable=False,
        comment="body: the same bytes; text: the same main text; near: nearly the same; review: alike",
    ),
    Column("of_url", Text, nullable=False),
    Column("found_at", Time, nullable=False, server_default=NOW),
    Column("of_host_id", BigInteger, comment="host of of_url; NULL: noted by a release that did not keep it"),
    Column("of_key", LargeBinary, comment="key of of_url"),
    Column("bits", SmallInteger, comment="near and review: in how many bits of 64 their fingerprints differ"),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    CheckConstraint("kind IN ('body', 'text', 'near', 'review')", name="kind_known"),
    Index("duplicates_of", "of_host_id", "crawl_id", "of_key"),
    Index("duplicates_found", "crawl_id", "found_at"),
    comment="Pages that say what another page of the crawl says.",
)

near_queue = Table(
    "near_queue",
    metadata,
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    PrimaryKeyConstraint("crawl_id", "id"),
    comment="Pages whose text is new, to be compared with others, the oldest first; a page may be there twice.",
)

fingerprints = Table(
    "fingerprints",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("id", BigInteger, Identity(always=True), nullable=False, comment="the oldest is an original"),
    Column("simhash", BigInteger, nullable=False, comment="64 bits"),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    Index("fingerprints_id", "crawl_id", "id", unique=True),
    Index("fingerprints_host", "host_id", "crawl_id", postgresql_include=["id", "simhash"]),
    comment="Fingerprints of main texts. Written by beat, after the page.",
)

fingerprint_keys = Table(
    "fingerprint_keys",
    metadata,
    Column("key", BigInteger, nullable=False, comment="crawl, which two of seven blocks, and their bits"),
    Column("fingerprint_id", BigInteger, nullable=False),
    Column("simhash", BigInteger, nullable=False),
    Index("fingerprint_keys_key", "key", postgresql_include=["fingerprint_id", "simhash"]),
    comment="21 keys of each fingerprint: two that differ in 5 bits at most have one in common.",
)

fingerprints_keyed = Table(
    "fingerprints_keyed",
    metadata,
    Column("crawl_id", BigInteger, primary_key=True, autoincrement=False),
    Column("up_to", BigInteger, nullable=False, comment="the last fingerprint that has keys, if others look for it"),
    Column("compared_by", BigInteger, nullable=False, comment="the last transaction that compared its pages"),
    comment="By crawl, up to which fingerprint keys are written: younger ones are in the memory of the process that "
    "compares.",
)
