"""urls.linked: the link as it was found, where what is sent lacks its tracking parameters.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "urls",
        sa.Column(
            "linked",
            sa.Text(),
            nullable=True,
            comment="path and query as linked, where tracking or session parameters are not sent",
        ),
    )
    op.alter_column(
        "urls", "url", existing_type=sa.Text(), existing_nullable=False, comment="as sent", existing_comment="canonical"
    )


def downgrade() -> None:
    op.alter_column(
        "urls", "url", existing_type=sa.Text(), existing_nullable=False, comment="canonical", existing_comment="as sent"
    )
    op.drop_column("urls", "linked")
