"""renders

Pages that a browser is to open, or has opened; and the workers that have one.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "crawls",
        sa.Column(
            "render",
            sa.Text(),
            server_default=sa.text("'auto'"),
            nullable=False,
            comment="pages that a browser opens: auto (those that are empty without JavaScript), never, always",
        ),
    )
    op.create_check_constraint(op.f("crawls_render_known"), "crawls", "render IN ('auto', 'never', 'always')")
    time = sa.DateTime(timezone=True)
    comment = "when a browser made the document that this row says; NULL: it is the plain answer"
    op.add_column("pages", sa.Column("rendered_at", time, nullable=True, comment=comment))
    op.create_table(
        "renders",
        sa.Column("host_id", sa.BigInteger(), nullable=False),
        sa.Column("crawl_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False, comment="SHA-256 of the canonical URL"),
        sa.Column("url", sa.Text(), nullable=False, comment="as sent"),
        sa.Column(
            "pattern",
            sa.Text(),
            nullable=False,
            comment="shape of the URL, by which it is learned what rendering brings",
        ),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column(
            "due_at", time, server_default=sa.text("clock_timestamp()"), nullable=False, comment="not rendered before"
        ),
        sa.Column(
            "takes",
            sa.SmallInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="times in a row that it was taken, and not ended",
        ),
        sa.Column(
            "attempts", sa.SmallInteger(), server_default=sa.text("0"), nullable=False, comment="failures in a row"
        ),
        sa.Column("cause", sa.Text(), nullable=True, comment="of the last failure, in a line"),
        sa.Column(
            "evidence",
            postgresql.JSONB(),
            nullable=True,
            comment="that it is empty without JavaScript; NULL: its crawl renders all",
        ),
        sa.Column("status", sa.SmallInteger(), nullable=False, comment="of the plain answer, as the next three"),
        sa.Column("headers", postgresql.JSONB(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True, comment="deflated; NULL once it is rendered"),
        sa.Column(
            "body_sha256",
            sa.LargeBinary(),
            nullable=False,
            comment="the same body is not rendered again within its time",
        ),
        sa.Column("ending", sa.Text(), nullable=True, comment="why the rendering ended: app.model.render.RenderEnding"),
        sa.Column(
            "brought",
            sa.BigInteger(),
            nullable=True,
            comment="characters of text, and links, more than without a browser",
        ),
        sa.Column("wall_ms", sa.REAL(), nullable=True),
        sa.Column("cpu_ms", sa.REAL(), nullable=True, comment="of the browser"),
        sa.Column("asked", sa.Integer(), nullable=True, comment="requests of the page that were judged"),
        sa.Column(
            "refused", postgresql.JSONB(), nullable=True, comment="requests by the reason why they were not sent"
        ),
        sa.Column(
            "text_sha256", sa.LargeBinary(), nullable=True, comment="of the last rendering: change is judged on it"
        ),
        sa.Column("ended_at", time, nullable=True),
        sa.CheckConstraint("state IN ('due', 'done', 'failed', 'vain')", name=op.f("renders_state_known")),
        sa.CheckConstraint("(state = 'due') = (body IS NOT NULL)", name=op.f("renders_due_has_body")),
        sa.CheckConstraint("state = 'due' OR ended_at IS NOT NULL", name=op.f("renders_ended_has_time")),
        sa.CheckConstraint("state <> 'failed' OR cause IS NOT NULL", name=op.f("renders_failed_has_cause")),
        sa.PrimaryKeyConstraint("host_id", "crawl_id", "key", name=op.f("renders_pkey")),
        comment="Pages that a browser is to open, or has opened: one row per page. Changed under their host's lease.",
    )
    due = sa.text("state = 'due'")
    op.create_index(op.f("renders_due"), "renders", ["due_at"], postgresql_where=due)
    op.create_index(op.f("renders_crawl"), "renders", ["crawl_id"], postgresql_where=due)
    op.create_index(op.f("renders_pattern"), "renders", ["host_id", "crawl_id", "pattern", "ended_at"])
    op.create_table(
        "render_workers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seen_at", time, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("browser", sa.Text(), nullable=True, comment="its version; NULL: it has none"),
        sa.Column("problem", sa.Text(), nullable=True, comment="why it can render nothing, and the remedy"),
        sa.PrimaryKeyConstraint("name", name=op.f("render_workers_pkey")),
        comment="Workers of queue render, and whether they have a browser.",
    )


def downgrade() -> None:
    op.drop_table("render_workers")
    op.drop_table("renders")
    op.drop_column("pages", "rendered_at")
    op.drop_constraint(op.f("crawls_render_known"), "crawls")
    op.drop_column("crawls", "render")
