"""frontier caps

The estimates start exact: every queued URL is read once.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "state_since",
            sa.TIMESTAMP(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
            comment="when its state last changed",
        ),
    )
    op.add_column(
        "crawls",
        sa.Column(
            "admits_above",
            sa.REAL(),
            nullable=True,
            comment="the frontier is full: only links with a higher score are admitted; NULL: all",
        ),
    )
    op.add_column(
        "hosts",
        sa.Column(
            "unfetched",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="queued URLs of active crawls that wait for their first fetch: an estimate, for the cap per host",
        ),
    )
    op.add_column(
        "hosts",
        sa.Column(
            "unfetched_at",
            sa.TIMESTAMP(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
            comment="when they were last counted",
        ),
    )
    op.execute(
        """
        UPDATE hosts SET unfetched = found.n
        FROM (SELECT u.host_id, count(*) AS n FROM urls AS u JOIN crawls AS c ON c.id = u.crawl_id
              WHERE u.state = 'queued' AND u.fetched_at IS NULL AND c.state = 'active' GROUP BY u.host_id) AS found
        WHERE hosts.id = found.host_id
        """
    )


def downgrade() -> None:
    op.drop_column("hosts", "unfetched_at")
    op.drop_column("hosts", "unfetched")
    op.drop_column("crawls", "admits_above")
    op.drop_column("crawls", "state_since")
