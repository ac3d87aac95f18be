"""gone since

Exports leave out what is gone, and say since when. Of URLs that are gone already the last look is what is known.
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

COMMENT = "since when it is gone; it stays until a fetch brings the page again"


def upgrade() -> None:
    op.add_column("urls", sa.Column("gone_at", sa.TIMESTAMP(timezone=True), nullable=True, comment=COMMENT))
    op.execute("UPDATE urls SET gone_at = coalesce(fetched_at, clock_timestamp()) WHERE state = 'gone'")


def downgrade() -> None:
    op.drop_column("urls", "gone_at")
