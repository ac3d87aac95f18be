"""rights

What owners state about their pages, licence files included, and the verdict for each purpose.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

NOW = sa.text("clock_timestamp()")
_VERDICTS = " AND ".join(
    f"{name} IN ('allowed', 'refused', 'unknown')" for name in ("archive", "search", "ai_input", "ai_train")
)


def upgrade() -> None:
    time = postgresql.TIMESTAMP(timezone=True)
    op.create_table(
        "licences",
        sa.Column("url", sa.Text(), nullable=False, comment="as a page, its answer or a robots.txt names it"),
        sa.Column("contents", postgresql.JSONB(), comment="what it states, as it was read; NULL: that is not known"),
        sa.Column("problem", sa.Text(), comment="why not, of the last attempt"),
        sa.Column("status", sa.SmallInteger(), comment="of the last attempt"),
        sa.Column("asked_at", time, nullable=False, comment="last attempt"),
        sa.Column("read_at", time, comment="of the last good one"),
        sa.PrimaryKeyConstraint("url", name=op.f("licences_pkey")),
        comment="RSL licence files: one copy for the fleet.",
    )
    op.create_table(
        "statements",
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column(
            "said", postgresql.JSONB(), nullable=False, comment="statements of owners: source, name, value, reserved"
        ),
        sa.Column(
            "archive",
            sa.Text(),
            nullable=False,
            comment="verdict: allowed, refused, unknown; and so for the next three",
        ),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("ai_input", sa.Text(), nullable=False),
        sa.Column("ai_train", sa.Text(), nullable=False),
        sa.Column("decided", postgresql.JSONB(), nullable=False, comment="by purpose: the statement that decided"),
        sa.Column(
            "unread",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            server_default=sa.text("'{}'"),
            comment="licences that were not read",
        ),
        sa.CheckConstraint(_VERDICTS, name=op.f("statements_verdicts_known")),
        sa.PrimaryKeyConstraint("sha256", name=op.f("statements_pkey")),
        comment="Sets of statements, each once, and the verdicts by purpose.",
    )
    op.create_index(
        "statements_unread",
        "statements",
        ["unread"],
        postgresql_using="gin",
        postgresql_where=sa.text("unread <> '{}'"),
    )
    op.create_table(
        "rights",
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False, comment="SHA-256 of the canonical URL"),
        sa.Column("since", time, nullable=False, server_default=NOW, comment="of the first answer that came with it"),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("said", sa.LargeBinary(), nullable=False, comment="its set of `statements`"),
        sa.PrimaryKeyConstraint("host_id", "crawl_id", "key", "since", name=op.f("rights_pkey")),
        comment="What the owner of a page states, a row for each change; a page that never had a statement has none.",
    )
    op.create_index("rights_said", "rights", ["said"])
    op.create_table(
        "withdrawals",
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False, comment="SHA-256 of the canonical URL"),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False, comment="the statement by which it is withdrawn"),
        sa.Column("withdrawn_at", time, nullable=False, server_default=NOW),
        sa.Column("confirmed_at", time, comment="when another answer said so, too; NULL: none has yet"),
        sa.PrimaryKeyConstraint("host_id", "crawl_id", "key", name=op.f("withdrawals_pkey")),
        comment="Pages that their owners keep out: nothing of them is shown. A page that returns has none.",
    )
    op.create_index("withdrawals_crawl", "withdrawals", ["crawl_id", "withdrawn_at"])


def downgrade() -> None:
    op.drop_table("withdrawals")
    op.drop_table("rights")
    op.drop_table("statements")
    op.drop_table("licences")
