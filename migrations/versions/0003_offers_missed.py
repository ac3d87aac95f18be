"""offers missed"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "hosts",
        sa.Column(
            "offers_missed",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="offers in a row that no worker took up",
        ),
    )


def downgrade() -> None:
    op.drop_column("hosts", "offers_missed")
