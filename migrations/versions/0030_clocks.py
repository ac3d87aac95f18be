"""clocks: the database's time beside that of each machine which dispatches

A step of the database's clock shows as a difference between the two, also to a process that has just started.
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "clocks",
        sa.Column("machine", sa.Text(), nullable=False, comment="a machine's clock, until it boots again"),
        sa.Column(
            "at", sa.TIMESTAMP(timezone=True), nullable=False, comment="the database's time when it was last compared"
        ),
        sa.Column("boot_s", sa.Double(), nullable=False, comment="that machine's seconds then"),
        sa.PrimaryKeyConstraint("machine", name=op.f("clocks_pkey")),
        comment="The database's clock beside those of the machines that dispatch: a step shows as a difference.",
    )


def downgrade() -> None:
    op.drop_table("clocks")
