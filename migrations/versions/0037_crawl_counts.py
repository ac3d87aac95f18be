"""crawl counts

Sums of crawl_hosts: whether a crawl is at a budget was read from a row for each of its hosts, every second.
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


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
    op.execute("LOCK TABLE crawl_hosts IN SHARE MODE")  # whoever writes it now has ended before it is summed
    op.execute(
        "INSERT INTO crawl_counts (crawl_id, part, pages, bytes)"
        " SELECT crawl_id, 0, sum(pages), sum(bytes) FROM crawl_hosts GROUP BY crawl_id"
    )

    op.alter_column(
        "fingerprints", "simhash", existing_type=sa.BigInteger(), existing_nullable=False, comment="64 bits"
    )


def downgrade() -> None:
    op.alter_column(
        "fingerprints",
        "simhash",
        existing_type=sa.BigInteger(),
        existing_nullable=False,
        comment="64 bits: app.policy.focus.simhash",
    )
    op.drop_table("crawl_counts")
