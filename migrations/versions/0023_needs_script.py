"""needs script

Pages that are empty without JavaScript have the evidence for it. Older rows get theirs when they are fetched again.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    comment = "evidence that it is empty without JavaScript; NULL: it is not"
    op.add_column("pages", sa.Column("needs_script", postgresql.JSONB(), nullable=True, comment=comment))
    where = sa.text("needs_script IS NOT NULL")
    op.create_index(op.f("pages_needs_script"), "pages", ["crawl_id", "host_id"], postgresql_where=where)


def downgrade() -> None:
    op.drop_index(op.f("pages_needs_script"), table_name="pages")
    op.drop_column("pages", "needs_script")
