"""rendered captures

What a browser made of a page is in the archive, as a capture of its own beside the answer that it was made from.
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

BEFORE = "kind IN ('page', 'robots', 'sitemap', 'redirect', 'error')"
NOW = "kind IN ('page', 'rendered', 'robots', 'sitemap', 'redirect', 'error')"


def upgrade() -> None:
    op.add_column(
        "captures",
        sa.Column("record_id", sa.UUID(), nullable=True, comment="WARC-Record-ID; NULL: captured before it was noted"),
    )
    op.add_column(
        "captures",
        sa.Column(
            "rendered_from",
            sa.BigInteger(),
            nullable=True,
            comment="of a rendered document: the capture of the answer that a browser opened",
        ),
    )
    op.add_column(
        "captures",
        sa.Column(
            "to_render",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="a browser is to open it: the rendered document from before stands until then",
        ),
    )
    op.drop_constraint(op.f("captures_kind_known"), "captures")
    op.create_check_constraint(op.f("captures_kind_known"), "captures", NOW)
    rendered = "(kind = 'rendered') = (rendered_from IS NOT NULL)"
    op.create_check_constraint(op.f("captures_rendered_has_source"), "captures", rendered)
    op.create_index(
        op.f("captures_rendered_from"),
        "captures",
        ["crawl_id", "rendered_from"],
        postgresql_where=sa.text("rendered_from IS NOT NULL"),
    )


def downgrade() -> None:
    op.execute("DELETE FROM captures WHERE kind = 'rendered'")
    op.drop_index(op.f("captures_rendered_from"), table_name="captures")
    op.drop_constraint(op.f("captures_rendered_has_source"), "captures")
    op.drop_constraint(op.f("captures_kind_known"), "captures")
    op.create_check_constraint(op.f("captures_kind_known"), "captures", BEFORE)
    op.drop_column("captures", "to_render")
    op.drop_column("captures", "rendered_from")
    op.drop_column("captures", "record_id")
