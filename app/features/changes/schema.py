"""Declares the tables of this feature: events of pages, and who subscribes."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from app.store.tables import NOW, Time, identity, metadata

changes = Table(
    "changes",
    metadata,
    Column(
        "xid",
        BigInteger,
        nullable=False,
        server_default=text("CAST(CAST(pg_current_xact_id() AS text) AS bigint)"),
        comment="the transaction that wrote it, never a subtransaction",
    ),
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("host_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False, comment="new, changed, gone, withdrawn, returned"),
    Column("at", Time, nullable=False, comment="of the page's row: changed_at, gone_at"),
    Column("url", Text, nullable=False),
    Column("text_sha256", LargeBinary, comment="NULL: the page is not there any more"),
    Column("why", Text, comment="of one that is gone or withdrawn: cause, and the words"),
    PrimaryKeyConstraint("xid", "id"),
    Index("changes_crawl", "crawl_id", "xid", "id"),
    comment="Events of pages, in the order of commits: rows whose xid is below the oldest open transaction are final.",
)

changes_kept = Table(
    "changes_kept",
    metadata,
    Column("is_only", Boolean, primary_key=True, server_default=text("true")),
    Column("lineage", Text, nullable=False, comment="tiptoe_lineage() of the database whose xids these are"),
    Column(
        "deleted_xid",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="events up to here may have been deleted",
    ),
    Column("deleted_id", BigInteger, nullable=False, server_default=text("0")),
    Column("looked_xid", BigInteger, nullable=False, server_default=text("0"), comment="the janitor's place"),
    Column("looked_id", BigInteger, nullable=False, server_default=text("0")),
    Column(
        "top_xid",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="the newest event of a crawl that was deleted",
    ),
    Column("top_id", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("is_only", name="one_row"),
    comment="How far back the events go, and of which database their transaction ids are.",
)

webhooks = Table(
    "webhooks",
    metadata,
    identity(),
    Column("crawl_id", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False, comment="its key of HMAC-SHA256; shown once"),
    Column("kinds", ARRAY(Text), comment="NULL: events of all kinds"),
    Column("pattern", Text, comment="of URLs, with * ; NULL: all"),
    Column("xid", BigInteger, nullable=False, server_default=text("0"), comment="the last event it has"),
    Column("at_id", BigInteger, nullable=False, server_default=text("0")),
    Column("lineage", Text, nullable=False, comment="of the database that the last event is of"),
    Column("added_at", Time, nullable=False, server_default=NOW),
    Column("next_try_at", Time, nullable=False, server_default=NOW),
    Column("failures", Integer, nullable=False, server_default=text("0"), comment="in a row"),
    Column("failing_since", Time),
    Column("why", Text, comment="of the last failure"),
    Column("sent", BigInteger, nullable=False, server_default=text("0"), comment="events"),
    UniqueConstraint("crawl_id", "url"),
    Index("webhooks_due", "next_try_at"),
    comment="Subscribers that get a crawl's events by POST, each at its own place.",
)
