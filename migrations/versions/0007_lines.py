"""starts drawn in line: connections made ahead of their starts, and names with connections that an address reset"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TIME = sa.TIMESTAMP(timezone=True)


def upgrade() -> None:
    op.add_column(
        "fetches",
        sa.Column("contacted_at", TIME, comment="when its connection was begun, where that was ahead of its start"),
    )
    op.add_column(
        "budgets", sa.Column("reset_host_id", sa.BigInteger(), comment="the host whose connections were reset last")
    )
    op.add_column("budgets", sa.Column("reset_at", TIME, comment="when that was"))


def downgrade() -> None:
    op.drop_column("budgets", "reset_at")
    op.drop_column("budgets", "reset_host_id")
    op.drop_column("fetches", "contacted_at")
