"""crawl metrics

What each crawl's minutes were like, a row each; parameters of a host that an operator drops; when duplicates were found.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

RATES = (
    ("density_ratio", sa.Double(), "of the requests: brought a text that no other page of the crawl has"),
    ("p1_coverage_rate", sa.Double(), "of the URLs in p0 and p1 that may be fetched: that were (a sample)"),
    ("avg_staleness_days", sa.Double(), "since a page was last looked at (a sample)"),
    ("discard_rate", sa.Double(), "of the links that were new: refused"),
    ("change_yield", sa.Double(), "of the recrawls: found a change"),
    ("fetch_success_rate", sa.Double(), "of the requests: a page, unchanged, or a redirect"),
    ("avg_response_time_ms", sa.Double(), None),
    ("frontier_depth", sa.BigInteger(), "URLs that wait (a sample)"),
    ("duplicate_discard_rate", sa.Double(), "of the new pages: repeat another"),
    ("robots_denials", sa.BigInteger(), "URLs that robots.txt refuses (a sample)"),
)


def upgrade() -> None:
    op.create_table(
        "crawl_metrics",
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.TIMESTAMP(timezone=True), nullable=False, comment="end of the time that the row is about"),
        sa.Column("seconds", sa.Double(), nullable=False, comment="its length"),
        sa.Column("requests", sa.BigInteger(), nullable=False, comment="for pages"),
        sa.Column("pages", sa.BigInteger(), nullable=False, comment="of these: brought a page for the first time"),
        sa.Column("recrawls", sa.BigInteger(), nullable=False, comment="of these: of pages that were fetched before"),
        *(sa.Column(name, kind, comment=comment) for name, kind, comment in RATES),
        sa.PrimaryKeyConstraint("crawl_id", "at", name="crawl_metrics_pkey"),
        comment="What each crawl's minutes were like, written by beat. NULL: there was nothing to measure it by.",
    )
    op.create_index("duplicates_found", "duplicates", ["crawl_id", "found_at"])
    op.add_column(
        "hosts",
        sa.Column(
            "dropped_parameters",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            server_default=sa.text("'{}'"),
            comment="query parameters that change nothing there, and are not sent: chosen by an operator",
        ),
    )


def downgrade() -> None:
    op.drop_column("hosts", "dropped_parameters")
    op.drop_index("duplicates_found", "duplicates")
    op.drop_table("crawl_metrics")
