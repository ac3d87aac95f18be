"""crawl ending

Why a crawl is finished is a closed value, with a detail beside it. Postgres refuses any other.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0017"
branch_labels = None
depends_on = None

KNOWN = "ended_because IN ('done', 'max_pages', 'max_bytes', 'max_seconds', 'operator', 'other')"


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column("ended_detail", sa.Text(), nullable=True, comment="more of ended_because, for a person"),
    )
    op.execute(f"UPDATE crawls SET ended_because = 'other', ended_detail = ended_because WHERE NOT ({KNOWN})")  # noqa: S608  # words of our own
    op.create_check_constraint(op.f("crawls_ending_known"), "crawls", KNOWN)


def downgrade() -> None:
    op.drop_constraint(op.f("crawls_ending_known"), "crawls")
    op.execute("UPDATE crawls SET ended_because = ended_detail WHERE ended_because = 'other'")
    op.drop_column("crawls", "ended_detail")
