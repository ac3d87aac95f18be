"""Declares the tables of this feature: likenesses of pages."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    text,
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
    Column(
        "place",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="by (fetched_at, key), as of fingerprints: none behind it is compared before; 0: not known",
    ),
    PrimaryKeyConstraint("crawl_id", "id"),
    Index("near_queue_place", "crawl_id", "place", "id"),
    comment="Pages whose text is new, to get a fingerprint, the oldest first; a page may be there twice.",
)

fingerprints = Table(
    "fingerprints",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column(
        "place",
        BigInteger,
        nullable=False,
        comment="by (fetched_at, key): microseconds and 11 bits of the key; the earlier is the original",
    ),
    Column("simhash", BigInteger, nullable=False, comment="64 bits"),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    Index("fingerprints_id", "crawl_id", "id", unique=True),
    Index("fingerprints_host", "host_id", "crawl_id", postgresql_include=["id", "place", "simhash"]),
    comment="Fingerprints of main texts. Written beside the crawl, after the page.",
)

fingerprints_due = Table(
    "fingerprints_due",
    metadata,
    Column("crawl_id", BigInteger, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("id", BigInteger, nullable=False),
    Column("simhash", BigInteger, nullable=False),
    Column(
        "is_new",
        Boolean,
        nullable=False,
        comment="not compared before, or it repeated another: younger ones may repeat it",
    ),
    PrimaryKeyConstraint("crawl_id", "place", "id"),
    comment="Fingerprints to be compared, the earliest page's first.",
)

fingerprint_keys = Table(
    "fingerprint_keys",
    metadata,
    Column("key", BigInteger, nullable=False, comment="crawl, which of three blocks, and its bits"),
    Column("place", BigInteger, nullable=False, comment="of the fingerprint"),
    Column("fingerprint_id", BigInteger, nullable=False),
    Column("simhash", BigInteger, nullable=False),
    Index("fingerprint_keys_key", "key", "place", postgresql_include=["fingerprint_id", "simhash"]),
    comment="Three keys of each fingerprint that others look for: of originals that were compared.",
)
