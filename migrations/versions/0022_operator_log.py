"""operator log

Who ordered what, when, and what became of it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    time = postgresql.TIMESTAMP(timezone=True)
    op.create_table(
        "operator_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", time, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("who", sa.Text(), nullable=False, comment="user, or local: somebody on the web's own machine"),
        sa.Column("face", sa.Text(), nullable=False, comment="where the order was given: web"),
        sa.Column("act", sa.Text(), nullable=False, comment="such as host.pause"),
        sa.Column("subject", sa.Text(), nullable=False, comment="name of the crawl or host, or a URL"),
        sa.Column("detail", sa.Text(), nullable=True, comment="what else was asked for"),
        sa.Column("ended_at", time, nullable=True, comment="NULL: it runs, or its process ended without a word"),
        sa.Column("failed", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True, comment="what it came to, for a person"),
        sa.PrimaryKeyConstraint("id", name=op.f("operator_log_pkey")),
        comment="Orders that people gave: who, when, what, and what became of it.",
    )
    op.create_index(op.f("operator_log_subject_idx"), "operator_log", ["subject", "id"])


def downgrade() -> None:
    op.drop_table("operator_log")
