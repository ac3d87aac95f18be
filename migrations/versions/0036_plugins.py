"""plugins

A plugin whose rows cannot be written several times is switched off for the whole fleet, until a person puts it on again.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "plugins",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "failures", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="settles in a row, lately"
        ),
        sa.Column("off_at", postgresql.TIMESTAMP(timezone=True), nullable=True, comment="NULL: it is on"),
        sa.Column("why", sa.Text(), nullable=True, comment="of the last failure"),
        sa.PrimaryKeyConstraint("name", name=op.f("plugins_pkey")),
        comment="Plugins that have tables of their own here, and whether their rows are written.",
    )


def downgrade() -> None:
    op.drop_table("plugins")
