"""crawl counts

Pages of several crawls are compared by several processes. Sums of crawl_hosts: whether a crawl is at a budget was read from a row for each of its hosts, every second.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

UP_TO = "the last fingerprint that has keys, if others look for it"
KEYED = "to which fingerprint keys are written: younger ones are in the memory of the process that compares."


def upgrade() -> None:
    op.create_table(
        "crawl_counts",
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "part",
            sa.SmallInteger(),
            nullable=False,
            comment="each session adds to one, by the number of its process",
        ),
        sa.Column("pages", sa.BigInteger(), nullable=False, comment="may be negative: the parts' sum is what counts"),
        sa.Column("bytes", sa.BigInteger(), nullable=False, comment="the same"),
        sa.PrimaryKeyConstraint("crawl_id", "part", name=op.f("crawl_counts_pkey")),
        comment="Sums of crawl_hosts, by crawl, in parts; each writer of crawl_hosts keeps them in the same transaction.",
    )
    _near_by_crawl()
    op.execute("LOCK TABLE crawl_hosts IN SHARE MODE")  # whoever writes it now has ended before it is summed
    op.execute(
        "INSERT INTO crawl_counts (crawl_id, part, pages, bytes)"
        " SELECT crawl_id, 0, sum(pages), sum(bytes) FROM crawl_hosts GROUP BY crawl_id"
    )

    op.alter_column(
        "fingerprints", "simhash", existing_type=sa.BigInteger(), existing_nullable=False, comment="64 bits"
    )


def _near_by_crawl() -> None:
    """One process compares the pages of a crawl, and others those of other crawls."""
    op.execute("ALTER TABLE near_queue DROP CONSTRAINT near_queue_pkey, ADD PRIMARY KEY (crawl_id, id)")
    op.drop_index("fingerprints_id", table_name="fingerprints")
    op.create_index("fingerprints_id", "fingerprints", ["crawl_id", "id"], unique=True)
    op.execute("CREATE TEMPORARY TABLE keyed_before AS SELECT * FROM fingerprints_keyed")
    op.drop_table("fingerprints_keyed")
    op.create_table(
        "fingerprints_keyed",
        sa.Column("crawl_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("up_to", sa.BigInteger(), nullable=False, comment=UP_TO),
        sa.Column(
            "compared_by",
            sa.BigInteger(),
            nullable=False,
            comment="the last transaction that compared its pages",
        ),
        sa.PrimaryKeyConstraint("crawl_id", name=op.f("fingerprints_keyed_pkey")),
        comment=f"By crawl, up {KEYED}",
    )
    op.execute("INSERT INTO fingerprints_keyed SELECT unnest(crawl_ids), up_to, compared_by FROM keyed_before")
    op.execute("DROP TABLE keyed_before")


def _near_at_once() -> None:
    """Up to the least id that every crawl has keys for; keys beyond go, and are written anew."""
    op.execute("ALTER TABLE near_queue DROP CONSTRAINT near_queue_pkey, ADD PRIMARY KEY (id)")
    op.drop_index("fingerprints_id", table_name="fingerprints")
    op.create_index("fingerprints_id", "fingerprints", ["id"], unique=True)
    op.execute("CREATE TEMPORARY TABLE keyed_before AS SELECT * FROM fingerprints_keyed")
    op.drop_table("fingerprints_keyed")
    op.create_table(
        "fingerprints_keyed",
        sa.Column("is_only", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("up_to", sa.BigInteger(), nullable=False, comment=UP_TO),
        sa.Column("crawl_ids", postgresql.ARRAY(sa.BigInteger()), nullable=False, comment="crawls that have such"),
        sa.Column("compared_by", sa.BigInteger(), nullable=False, comment="the last transaction that compared pages"),
        sa.CheckConstraint("is_only", name=op.f("fingerprints_keyed_one_row")),
        sa.PrimaryKeyConstraint("is_only", name=op.f("fingerprints_keyed_pkey")),
        comment=f"Up {KEYED}",
    )
    op.execute(
        "INSERT INTO fingerprints_keyed (up_to, crawl_ids, compared_by)"
        " SELECT min(coalesce(k.up_to, 0)), array_remove(array_agg(k.crawl_id), NULL), 0"
        " FROM (SELECT crawl_id FROM fingerprints GROUP BY crawl_id) AS f"
        " LEFT JOIN keyed_before AS k ON k.crawl_id = f.crawl_id HAVING count(*) > 0"
    )
    op.execute("DELETE FROM fingerprint_keys AS k USING fingerprints_keyed AS f WHERE k.fingerprint_id > f.up_to")
    op.execute("DROP TABLE keyed_before")


def downgrade() -> None:
    _near_at_once()
    op.alter_column(
        "fingerprints",
        "simhash",
        existing_type=sa.BigInteger(),
        existing_nullable=False,
        comment="64 bits: app.policy.focus.simhash",
    )
    op.drop_table("crawl_counts")
