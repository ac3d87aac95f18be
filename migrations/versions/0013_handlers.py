"""handlers: the pages that they are to handle, and the items that they extract

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

Time = postgresql.TIMESTAMP(timezone=True)
NOW = sa.text("clock_timestamp()")
NOUGHT = sa.text("0")


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "handlers",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            server_default=sa.text("'{}'"),
            comment="names of the handlers that get its pages; none: every handler that is loaded and fits",
        ),
    )
    _make_extractions()
    _make_items()


def _make_extractions() -> None:
    op.create_table(
        "extractions",
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False, comment="SHA-256 of the canonical URL"),
        sa.Column("handler", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False, comment="as sent"),
        sa.Column("capture_id", sa.BigInteger(), nullable=False, comment="the capture that is, or was, handled"),
        sa.Column("body_sha256", sa.LargeBinary(), comment="of its body: the same body is not handled again"),
        sa.Column("version", sa.Integer(), nullable=False, comment="of the handler that is wanted, or that handled it"),
        sa.Column("state", sa.Text(), nullable=False, server_default=sa.text("'due'")),
        sa.Column("due_at", Time, nullable=False, server_default=NOW, comment="not handled before"),
        sa.Column("taken_until", Time, comment="a worker has it until then; after that it is lost, and due again"),
        sa.Column("node", sa.Text(), comment="machine on whose disk its capture was last found to be"),
        sa.Column(
            "admits",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("true"),
            comment="the links it yields are admitted",
        ),
        sa.Column(
            "takes",
            sa.SmallInteger(),
            nullable=False,
            server_default=NOUGHT,
            comment="times in a row that it was taken",
        ),
        sa.Column("attempts", sa.SmallInteger(), nullable=False, server_default=NOUGHT, comment="failures in a row"),
        sa.Column("cause", sa.Text(), comment="of the last failure, in a line"),
        sa.Column("traceback", sa.Text()),
        sa.Column("items", sa.Integer(), nullable=False, server_default=NOUGHT),
        sa.Column(
            "links", sa.Integer(), nullable=False, server_default=NOUGHT, comment="that it yielded, admitted or not"
        ),
        sa.Column("would_follow", postgresql.JSONB(), comment="the links of a run that admits none"),
        sa.Column("took_ms", sa.REAL(), comment="milliseconds of the handler, by the clock"),
        sa.Column("ended_at", Time),
        sa.CheckConstraint("state IN ('due', 'done', 'failed')", name=op.f("extractions_state_known")),
        sa.CheckConstraint("state = 'due' OR ended_at IS NOT NULL", name=op.f("extractions_ended_has_time")),
        sa.CheckConstraint("state <> 'failed' OR cause IS NOT NULL", name=op.f("extractions_failed_has_cause")),
        sa.PrimaryKeyConstraint("host_id", "crawl_id", "key", "handler", name=op.f("extractions_pkey")),
        comment="Pages that a handler is to handle, has handled, or failed on: one row per (page, handler).",
    )
    due, near = sa.text("state = 'due'"), sa.text("state = 'due' AND node IS NOT NULL")
    op.create_index("extractions_due", "extractions", ["handler", "due_at"], postgresql_where=due)
    op.create_index("extractions_near", "extractions", ["node"], postgresql_where=near)
    op.create_index("extractions_crawl", "extractions", ["crawl_id", "handler"], postgresql_where=due)


def _make_items() -> None:
    op.create_table(
        "items",
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False, comment="SHA-256 of the canonical URL"),
        sa.Column("handler", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False, comment="its place among the items of the page, from 0"),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("capture_id", sa.BigInteger(), nullable=False, comment="the capture it was extracted from"),
        sa.Column("version", sa.Integer(), nullable=False, comment="of the handler"),
        sa.Column(
            "stale",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("false"),
            comment="the handler has another version since, or failed on a later capture",
        ),
        sa.Column("item", postgresql.JSONB(), nullable=False),
        sa.Column("extracted_at", Time, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("host_id", "crawl_id", "key", "handler", "n", name=op.f("items_pkey")),
        comment="Items that handlers extracted. Those of a page and handler are replaced together.",
    )
    op.create_index("items_handler", "items", ["handler", "crawl_id"])
    op.create_index("items_fresh", "items", ["handler", "version"], postgresql_where=sa.text("NOT stale"))


def downgrade() -> None:
    op.drop_table("items")
    op.drop_table("extractions")
    op.drop_column("crawls", "handlers")
