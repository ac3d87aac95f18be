"""changes

A row for each event of a page: new, changed, gone, withdrawn, returned. What is there before gets a row, too, so that a
reader that begins at the start has all pages. Webhooks, and the round that a crawl begins by itself.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


NOW = sa.text("clock_timestamp()")
TIME = postgresql.TIMESTAMP(timezone=True)


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column(
            "xid",
            sa.BigInteger(),
            server_default=sa.text("CAST(CAST(pg_current_xact_id() AS text) AS bigint)"),
            nullable=False,
            comment="the transaction that wrote it, never a subtransaction",
        ),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False, comment="new, changed, gone, withdrawn, returned"),
        sa.Column("at", TIME, nullable=False, comment="of the page's row: changed_at, gone_at"),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("text_sha256", sa.LargeBinary(), nullable=True, comment="NULL: the page is not there any more"),
        sa.Column("why", sa.Text(), nullable=True, comment="of one that is gone or withdrawn: cause, and the words"),
        sa.PrimaryKeyConstraint("xid", "id", name=op.f("changes_pkey")),
        comment="Events of pages, in the order of commits: rows whose xid is below the oldest open transaction are final.",
    )
    op.create_index("changes_crawl", "changes", ["crawl_id", "xid", "id"])
    op.create_table(
        "changes_kept",
        sa.Column("is_only", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column(
            "lineage", sa.Text(), nullable=False, comment="tiptoe_lineage() of the database whose xids these are"
        ),
        sa.Column(
            "deleted_xid",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="events up to here may have been deleted",
        ),
        sa.Column("deleted_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "looked_xid", sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment="the janitor's place"
        ),
        sa.Column("looked_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "top_xid",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="the newest event of a crawl that was deleted",
        ),
        sa.Column("top_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("is_only", name=op.f("changes_kept_one_row")),
        sa.PrimaryKeyConstraint("is_only", name=op.f("changes_kept_pkey")),
        comment="How far back the events go, and of which database their transaction ids are.",
    )
    op.execute("INSERT INTO changes_kept (lineage) VALUES (tiptoe_lineage())")
    op.execute(
        """
        INSERT INTO changes (crawl_id, host_id, key, kind, at, url, text_sha256)
        SELECT p.crawl_id, p.host_id, p.key, CASE WHEN p.changed_at > p.first_fetched_at THEN 'changed' ELSE 'new' END,
               p.changed_at, p.url, p.text_sha256
        FROM pages AS p
        ORDER BY p.changed_at
        """
    )
    op.execute(
        """
        INSERT INTO changes (crawl_id, host_id, key, kind, at, url)
        SELECT p.crawl_id, p.host_id, p.key, 'gone', u.gone_at, p.url
        FROM urls AS u JOIN pages AS p ON p.host_id = u.host_id AND p.crawl_id = u.crawl_id AND p.key = u.key
        WHERE u.gone_at IS NOT NULL
        ORDER BY u.gone_at
        """
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False, comment="its key of HMAC-SHA256; shown once"),
        sa.Column("kinds", postgresql.ARRAY(sa.Text()), nullable=True, comment="NULL: events of all kinds"),
        sa.Column("pattern", sa.Text(), nullable=True, comment="of URLs, with * ; NULL: all"),
        sa.Column("xid", sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment="the last event it has"),
        sa.Column("at_id", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("lineage", sa.Text(), nullable=False, comment="of the database that the last event is of"),
        sa.Column("added_at", TIME, server_default=NOW, nullable=False),
        sa.Column("next_try_at", TIME, server_default=NOW, nullable=False),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="in a row"),
        sa.Column("failing_since", TIME, nullable=True),
        sa.Column("why", sa.Text(), nullable=True, comment="of the last failure"),
        sa.Column("sent", sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment="events"),
        sa.PrimaryKeyConstraint("id", name=op.f("webhooks_pkey")),
        sa.UniqueConstraint("crawl_id", "url", name=op.f("webhooks_crawl_id_key")),
        comment="Subscribers that get a crawl's events by POST, each at its own place.",
    )
    op.create_index("webhooks_due", "webhooks", ["next_try_at"])
    op.add_column(
        "crawls",
        sa.Column(
            "every_s",
            sa.Double(),
            server_default=sa.text("0"),
            nullable=False,
            comment="from the beginning of a round to the next; 0: by hand",
        ),
    )
    op.add_column("crawls", sa.Column("round_at", TIME, nullable=True, comment="when the next round begins by itself"))


def downgrade() -> None:
    op.drop_column("crawls", "round_at")
    op.drop_column("crawls", "every_s")
    for table in ("webhooks", "changes_kept", "changes"):
        op.drop_table(table)
