"""page grants

The time until which grants of pages may be held, so that those lost in a crash are found beside other crawls' visits.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "pages_held_until",
            sa.TIMESTAMP(timezone=True),
            nullable=True,
            comment="visits taken up later hold no page granted so far",
        ),
    )
    op.execute("UPDATE crawls SET pages_held_until = clock_timestamp() WHERE max_pages IS NOT NULL")


def downgrade() -> None:
    op.drop_column("crawls", "pages_held_until")
