"""Declares the tables of this feature: what owners state, and what was withdrawn."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from app.store.tables import NOW, Time, metadata

licences = Table(
    "licences",
    metadata,
    Column("url", Text, primary_key=True, comment="as a page, its answer or a robots.txt names it"),
    Column("contents", JSONB, comment="what it states, as it was read; NULL: that is not known"),
    Column("problem", Text, comment="why not, of the last attempt"),
    Column("status", SmallInteger, comment="of the last attempt"),
    Column("asked_at", Time, nullable=False, comment="last attempt"),
    Column("read_at", Time, comment="of the last good one"),
    comment="RSL licence files: one copy for the fleet.",
)

statements = Table(
    "statements",
    metadata,
    Column("sha256", LargeBinary, primary_key=True),
    Column("said", JSONB, nullable=False, comment="statements of owners: source, name, value, reserved"),
    Column("archive", Text, nullable=False, comment="verdict: allowed, refused, unknown; and so for the next three"),
    Column("search", Text, nullable=False),
    Column("ai_input", Text, nullable=False),
    Column("ai_train", Text, nullable=False),
    Column("decided", JSONB, nullable=False, comment="by purpose: the statement that decided"),
    Column("unread", ARRAY(Text), nullable=False, server_default=text("'{}'"), comment="licences that were not read"),
    CheckConstraint(
        "archive IN ('allowed', 'refused', 'unknown') AND search IN ('allowed', 'refused', 'unknown')"
        " AND ai_input IN ('allowed', 'refused', 'unknown') AND ai_train IN ('allowed', 'refused', 'unknown')",
        name="verdicts_known",
    ),
    Index("statements_unread", "unread", postgresql_using="gin", postgresql_where=text("unread <> '{}'")),
    comment="Sets of statements, each once, and the verdicts by purpose.",
)

rights = Table(
    "rights",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False, comment="SHA-256 of the canonical URL"),
    Column("since", Time, nullable=False, server_default=NOW, comment="of the first answer that came with it"),
    Column("url", Text, nullable=False),
    Column("said", LargeBinary, nullable=False, comment="its set of `statements`"),
    PrimaryKeyConstraint("host_id", "crawl_id", "key", "since"),
    Index("rights_said", "said"),
    comment="What the owner of a page states, a row for each change; a page that never had a statement has none.",
)

withdrawals = Table(
    "withdrawals",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False, comment="SHA-256 of the canonical URL"),
    Column("url", Text, nullable=False),
    Column("words", Text, nullable=False, comment="the statement by which it is withdrawn"),
    Column("withdrawn_at", Time, nullable=False, server_default=NOW),
    Column("confirmed_at", Time, comment="when another answer said so, too; NULL: none has yet"),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    Index("withdrawals_crawl", "crawl_id", "withdrawn_at"),
    comment="Pages that their owners keep out: nothing of them is shown. A page that returns has none.",
)
