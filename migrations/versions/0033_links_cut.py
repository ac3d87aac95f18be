"""links cut

A page with more links than are read says so.
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "pages",
        sa.Column(
            "links_cut",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="it has more links than are read of a page, or written at a settle",
        ),
    )


def downgrade() -> None:
    op.drop_column("pages", "links_cut")
